"""Training. Nothing is imported here: `kanerva.training.config` must load without torch."""
