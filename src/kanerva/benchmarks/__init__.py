"""Benchmarks: how fast the memory is, how exact, and how stable."""
