"""From a config to a model."""

from kanerva.models.coder import Coder
from kanerva.models.config import ModelConfig
from kanerva.models.dynamic_machine import DynamicMachine
from kanerva.models.kanerva_machine import KanervaMachine
from kanerva.models.vae import VAE


def build_model(config: ModelConfig) -> Coder:
    """A new model with fresh parameters; draws from torch's global generator."""
    if config.kind == "vae":
        return VAE(config)
    return DynamicMachine(config) if config.kind == "dynamic" else KanervaMachine(config)
