"""Training: configs and recipes, runs, and sweeps of many runs side by side.

Nothing is imported here, so that `kanerva.training.config` loads without torch.
"""
