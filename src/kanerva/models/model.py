"""What every model here has: a variational bound on episodes."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from kanerva.memory.tensor_checks import check_generator
from kanerva.models.bound import Bound
from kanerva.models.coder import Coder
from kanerva.models.config import AnyModelConfig
from kanerva.models.own_precision import own_precision

OnReading = Callable[[int, Tensor], None]
"""Called after each reading with its number and its images."""


class Noise(NamedTuple):
    """The random numbers of one bound: a set of standard normal numbers for each sample."""

    code: Tensor
    """(B, T, C), for z when reading (or for a VAE's z)."""
    written_code: Tensor | None = None
    """(B, T, C), for z when writing."""
    address: Tensor | None = None
    """(2, B, T, Y), for y when writing and, independently, when reading."""
    embedding: Tensor | None = None
    """On the input of q(y|x) while training: (2, B, T, 2C), or (2, B, T, channels, H, W) on the
    images themselves."""
    memory: Tensor | None = None
    """(B, K, C), for M where the memory is sampled."""
    forget: Tensor | None = None
    """(B, T), uniform: which items are read from an empty memory while training."""


class Model(nn.Module, ABC):
    """A generative model of episodes. `elbo` gives its negative variational bound.

    Example:
        >>> import torch
        >>> from kanerva import KanervaMachine, ModelConfig
        >>> km = KanervaMachine(ModelConfig(num_filters=4, code_size=8, num_rows=8)).eval()
        >>> episodes = torch.zeros(2, 5, 1, 28, 28)
        >>> km.elbo(episodes).total.shape
        torch.Size([2])
        >>> noise = km.draw_noise(episodes)
        >>> km.forward(episodes, noise, cues=episodes[:1]).total.shape
        torch.Size([2])
        >>> km.log_importance_weights(episodes, num_samples=3).shape
        torch.Size([3, 2, 5])

    """

    def __init__(self, coder: Coder) -> None:
        super().__init__()
        self.coder = coder

    @property
    @abstractmethod
    def config(self) -> AnyModelConfig:
        """The sizes and options of this model."""

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return next(self.parameters()).device

    @own_precision()
    def elbo(self, episodes: Tensor, *, generator: torch.Generator | None = None) -> Bound:
        """The negative variational bound (eq:vlb) of episodes, in nats per item.

        Args:
            episodes: images (..., T, channels, H, W) between 0 and 1. A model that predicts the
                next image wants (B, T, channels, H, W).
            generator: source of all samples; torch's global one by default.

        Returns:
            A `Bound` with the named terms, each (...). Lower is better.

        """
        self.coder.check_images("episodes", episodes)
        check_generator(generator, self.device)
        images = self.coder.prepare(episodes, generator)
        return self(images, self.draw_noise(episodes, generator=generator))

    @abstractmethod
    def draw_noise(self, images: Tensor, *, generator: torch.Generator | None = None) -> Noise:
        """Draw all that is random in the bound of some episodes.

        Args:
            images: (B, T, channels, H, W).
            generator: source of the numbers; torch's global one by default.

        Returns:
            One set of standard normal numbers for each sample. Noise on the input of q(y|x) only
            while training.

        """

    @abstractmethod
    def forward(self, images: Tensor, noise: Noise, cues: Tensor | None = None) -> Bound:
        """The bound (eq:vlb) as a function without randomness: what is compiled and trained.

        Args:
            images: episodes (B, T, channels, H, W), as `coder.prepare` returns them.
            noise: what `draw_noise` returned.
            cues: damaged images (n, T, channels, H, W) with which the first n episodes are read;
                by default every episode is read with its own images. A VAE refuses them.

        Returns:
            The named terms of the negative bound, each (B,).

        """

    @abstractmethod
    def log_importance_weights(
        self, episodes: Tensor, *, num_samples: int, generator: torch.Generator | None = None
    ) -> Tensor:
        """Log importance weights ln p - ln q of samples from q: they estimate a likelihood.

        These are ln p(x, z) - ln q(z | x) for a VAE, and ln p(x, y, z | M) - ln q(y, z | x, M)
        with a memory. It is written once; the reader draws y and z again for every weight.

        Args:
            episodes: images (B, T, channels, H, W) between 0 and 1.
            num_samples: how many weights for each image.
            generator: source of all samples; torch's global one by default.

        Returns:
            Weights (num_samples, B, T), in nats. Their mean is minus the bound.

        """

    def prepare_to_compile(self) -> None:
        """Get ready for torch.compile, if parts of the model need it; call it before compiling.

        A memory that writes item by item keeps that loop out of the compiled part. A VAE needs
        nothing.
        """
