"""Measurements of models: bounds, repair of damaged images, capacity."""
