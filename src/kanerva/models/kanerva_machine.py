"""The Kanerva Machine: the model of the paper, put together from its parts."""

from kanerva.memory import MemoryState
from kanerva.models.addressing import AddressTable, LearnedAddressing
from kanerva.models.coder import Coder
from kanerva.models.config import ModelConfig, checked_config
from kanerva.models.memories.bayesian import BayesianMemory
from kanerva.models.memory_access import MemoryAccess, make_code_net
from kanerva.models.memory_model import MemoryModel


class KanervaMachine(MemoryModel[MemoryState]):
    """The model of the paper: learned addresses around an exact Bayesian memory.

    `kanerva.load("omniglot")` returns a trained one.

    Args:
        config: its sizes and options; the defaults are the paper's for Omniglot.

    Example:
        >>> import torch
        >>> from kanerva import KanervaMachine, ModelConfig
        >>> km = KanervaMachine(ModelConfig(num_filters=4, code_size=8, num_rows=8)).eval()
        >>> images = (torch.rand(5, 1, 28, 28) < 0.1).float()
        >>> memory = km.write(images[:3], km.prior_memory())
        >>> memory = km.write(images[3:], memory)
        >>> km.read(images, memory).images.shape
        torch.Size([5, 1, 28, 28])
        >>> km.generate(memory, 3).shape
        torch.Size([3, 1, 28, 28])
        >>> km.interpolate(images[0], images[1], memory, steps=4).shape
        torch.Size([4, 1, 28, 28])
        >>> bound = km.elbo(images[None])
        >>> noise = km.draw_noise(images[None])
        >>> bound = km.forward(images[None], noise)
        >>> km.log_importance_weights(images[None], num_samples=2).shape
        torch.Size([2, 1, 5])

    """

    def __init__(self, config: ModelConfig) -> None:
        config = checked_config(config, ModelConfig)
        coder = Coder(config)
        memory = BayesianMemory(config, chunk=config.chunk, prior_std=config.prior_std)
        table = AddressTable(
            num_rows=config.num_rows,
            key_size=config.key_size,
            address_code_size=config.address_code_size,
            hidden_size=config.hidden_size,
        )
        addressing = LearnedAddressing.from_config(config, table)
        is_direct = config.code_posterior == "direct"
        access = MemoryAccess(memory, addressing, make_code_net(config), is_direct=is_direct)
        super().__init__(config, coder=coder, access=access)

    @property
    def config(self) -> ModelConfig:
        """The sizes and options of this model."""
        assert isinstance(self._config, ModelConfig)
        return self._config
