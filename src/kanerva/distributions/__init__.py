"""Closed forms of the distributions the models are made of."""
