"""From a config to a model."""

from collections.abc import Callable
from typing import TypeVar

from kanerva.models.addressing import LearnedAddressing
from kanerva.models.coder import Coder
from kanerva.models.config import (
    AnyModelConfig,
    DNCConfig,
    DynamicConfig,
    FewShotConfig,
    LadderVAEConfig,
    LRUAConfig,
    ModelConfig,
    VAEConfig,
)
from kanerva.models.dynamic_kanerva_machine import DynamicKanervaMachine
from kanerva.models.few_shot_machine import FewShotMachine
from kanerva.models.kanerva_machine import KanervaMachine
from kanerva.models.ladder_vae import LadderVAE
from kanerva.models.memories import DNC, LRUA
from kanerva.models.memories.controlled import ControlledMemory, MatrixState
from kanerva.models.memory_access import MemoryAccess, make_code_net
from kanerva.models.memory_model import MemoryModel
from kanerva.models.model import Model
from kanerva.models.vae import VAE

ControlledConfig = TypeVar("ControlledConfig", DNCConfig, LRUAConfig)


def build_model(config: AnyModelConfig) -> Model:
    """A new model with fresh parameters, drawn from torch's global generator."""
    if isinstance(config, VAEConfig):
        return VAE(config)
    if isinstance(config, LadderVAEConfig):
        return LadderVAE(config)
    if isinstance(config, FewShotConfig):
        return FewShotMachine(config)
    if isinstance(config, ModelConfig):
        return KanervaMachine(config)
    if isinstance(config, DynamicConfig):
        return DynamicKanervaMachine(config)
    if isinstance(config, DNCConfig):
        return _with_controller(config, DNC)
    return _with_controller(config, LRUA)


def _with_controller(
    config: ControlledConfig,
    make_memory: Callable[[ControlledConfig], ControlledMemory[MatrixState]],
) -> MemoryModel[MatrixState]:
    """A model around a memory with a controller, which takes address codes as they are."""
    coder = Coder(config)
    memory = make_memory(config)
    access = MemoryAccess(
        memory,
        LearnedAddressing.from_config(config),
        make_code_net(config),
        code_posterior=config.code_posterior,
    )
    return MemoryModel(config, coder=coder, access=access)
