"""The Kanerva Machine: the model of the paper, put together from its parts."""

from torch import Tensor

from kanerva.distributions import gaussian
from kanerva.memory import Evidence, MemoryState
from kanerva.models.addressing import AddressTable, LearnedAddressing
from kanerva.models.coder import Coder
from kanerva.models.confidence import Calibration
from kanerva.models.config import ModelConfig, checked_config
from kanerva.models.fourier_keys import FourierKeys
from kanerva.models.memories.bayesian import BayesianMemory
from kanerva.models.memory_access import MemoryAccess, make_code_net
from kanerva.models.memory_model import MemoryModel
from kanerva.models.novel import NovelCodes
from kanerva.models.own_precision import inference
from kanerva.models.ranking import Ranking
from kanerva.models.search_reading import SearchReader

FOURIER_PRIOR_SCALE = 4.0
"""Standard deviation of the memory's rows before training. Fourier keys have length 1, so this is
also the standard deviation of the codes that the prior memory predicts."""


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
        >>> merged = (km.evidence(images[:3]) + km.evidence(images[3:])).posterior(
        ...     km.prior_memory()
        ... )
        >>> torch.allclose(merged.mean, memory.mean, atol=1e-4)
        True
        >>> weights, codes, code_var = km.address_images(images)
        >>> bound = km.elbo(images[None])
        >>> noise = km.draw_noise(images[None])
        >>> bound = km.forward(images[None], noise)
        >>> km.log_importance_weights(images[None], num_samples=2).shape
        torch.Size([2, 1, 5])

    """

    def __init__(self, config: ModelConfig) -> None:
        config = checked_config(config, ModelConfig)
        coder = Coder(config)
        memory = BayesianMemory(
            config,
            chunk=config.chunk,
            prior_std=config.prior_std,
            prior_scale=FOURIER_PRIOR_SCALE if config.keys == "fourier" else 1.0,
        )
        addressing = LearnedAddressing.from_config(config, _make_table(config))
        code_net = make_code_net(config)
        share = config.novel_share
        novel = NovelCodes(code_size=config.code_size, share=share) if share > 0 else None
        access = MemoryAccess(
            memory, addressing, code_net, code_posterior=config.code_posterior, novel=novel
        )
        super().__init__(config, coder=coder, access=access)
        self.calibration = Calibration() if config.keys == "fourier" else None
        self.ranking = Ranking() if config.keys == "fourier" else None

    @property
    def config(self) -> ModelConfig:
        """The sizes and options of this model."""
        assert isinstance(self._config, ModelConfig)
        return self._config

    def _search_reader(self) -> SearchReader:
        return SearchReader(
            self.coder,
            self.access,
            noise_var=self.config.noise_var,
            calibration=self.calibration,
            ranking=self.ranking,
        )

    @inference
    def evidence(self, images: Tensor) -> Evidence:
        """What images say about the memory, as statistics that can be added and subtracted.

        `km.evidence(images).posterior(km.prior_memory())` is `km.write(images)`, up to rounding.
        Use it to merge what several processes have written, and to forget images exactly.

        Args:
            images: (..., T, channels, H, W) between 0 and 1.

        Returns:
            The evidence of all T images, with a batch of the leading dimensions.

        """
        weights, codes, code_var = self.address_images(images)
        return Evidence.of(weights, codes, noise_var=self.config.noise_var, code_var=code_var)

    @inference
    def address_images(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """The weights and codes that `write` uses for images, from the means of q(y|x) and q(z|x).

        Args:
            images: (..., T, channels, H, W) between 0 and 1.

        Returns:
            The weights (..., T, K), the codes (..., T, C), and the variances of the codes
            (..., T, C) if the model writes distributions (appendix F), else None.

        """
        self.coder.check_images("images", images)
        embeddings = self.coder.encode(images)
        code = gaussian.from_parameters(embeddings)
        y = self.addressing.posterior(embeddings, self.prior_memory()).mean
        writes_distributions = self.memory_module.writes_distributions
        code_var = code.log_var.exp() if writes_distributions else None
        return self.addressing.address_for(y), code.mean, code_var


def _make_table(config: ModelConfig) -> AddressTable | FourierKeys:
    """What turns y into weights."""
    if config.keys == "fourier":
        return FourierKeys(
            num_rows=config.num_rows,
            address_code_size=config.address_code_size,
            width=config.key_width,
        )
    return AddressTable(
        num_rows=config.num_rows,
        key_size=config.key_size,
        address_code_size=config.address_code_size,
        hidden_size=config.hidden_size,
    )
