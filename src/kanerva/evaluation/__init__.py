"""Measurements of what the library does and how fast."""
