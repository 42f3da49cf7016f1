"""From a config to a model."""

from kanerva.models.coder import Coder
from kanerva.models.config import ModelConfig
from kanerva.models.kanerva_machine import KanervaMachine
from kanerva.models.vae import VAE


def build_model(config: ModelConfig) -> Coder:
    """A new model with fresh parameters; draws from torch's global generator."""
    return KanervaMachine(config) if config.kind == "kanerva" else VAE(config)
