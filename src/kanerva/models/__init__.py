"""Modules with parameters: the Kanerva Machine and its VAE twin.

Nothing is imported here: `kanerva.models.config` must load without torch.
"""
