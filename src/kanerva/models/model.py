"""What the Kanerva Machine, its rivals and the VAE have in common: a bound on episodes."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from kanerva.errors import KanervaError
from kanerva.models.bound import Bound
from kanerva.models.coder import Coder
from kanerva.models.config import AnyModelConfig

OnReading = Callable[[int, Tensor], None]
"""Called after each reading with its number and its images."""


class Noise(NamedTuple):
    """Standard normal numbers, one set for each sample that a bound needs."""

    code: Tensor
    """(B, T, C), for z when reading (or for a VAE's z)."""
    written_code: Tensor | None = None
    """(B, T, C), for z when writing."""
    address: Tensor | None = None
    """(2, B, T, Y), for y when writing and, independently, when reading."""
    embedding: Tensor | None = None
    """(2, B, T, 2C), on the input of q(y|x) while training."""
    memory: Tensor | None = None
    """(B, K, C), for M where the memory is sampled."""


class Model(nn.Module, ABC):
    """A generative model of episodes: `elbo` is its bound, `forward` the bound without chance."""

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

    def elbo(self, episodes: Tensor, *, generator: torch.Generator | None = None) -> Bound:
        """The negative variational bound (eq:vlb) of episodes, in nats per item.

        Args:
            episodes: images (B, T, channels, H, W) between 0 and 1.
            generator: source of all samples; torch's global one by default.

        Returns:
            A `Bound` with the named terms, each (B,). Lower is better.

        Example:
            >>> import torch
            >>> from kanerva import KanervaMachine, ModelConfig
            >>> km = KanervaMachine(ModelConfig(num_filters=4, code_size=8, num_rows=8)).eval()
            >>> km.elbo(torch.zeros(2, 5, 1, 28, 28)).total.shape
            torch.Size([2])

        """
        self.check_images(episodes, "episodes")
        return self(self.prepare(episodes, generator), self.draw_noise(episodes, generator))

    @abstractmethod
    def draw_noise(self, images: Tensor, generator: torch.Generator | None) -> Noise:
        """All that is random in the bound of images (B, T, channels, H, W)."""

    @abstractmethod
    def forward(self, images: Tensor, noise: Noise, cues: Tensor | None = None) -> Bound:
        """The bound as a function without randomness: what is compiled, or trained in parallel.

        `cues` (n, T, channels, H, W) are damaged images with which the first n episodes are read.
        """

    @abstractmethod
    def log_weights(
        self, episodes: Tensor, *, num_samples: int, generator: torch.Generator | None = None
    ) -> Tensor:
        """Importance weights ln p(x, y, z | M) - ln q(y, z | x, M), (num_samples, B, T)."""

    def prepare(self, images: Tensor, generator: torch.Generator | None) -> Tensor:
        """Images as the likelihood needs them: while training, colours get a little noise."""
        self.check_shape(images, "images")
        return self.coder.likelihood.prepare(images, generator) if self.training else images

    def prepare_to_compile(self) -> None:
        """Mark what torch.compile must leave alone. Call it before compiling the forward pass."""

    def check_shape(self, images: Tensor, argument: str) -> None:
        """Refuse images of another size than this model was made for."""
        shape = self.config.image_shape
        if images.dim() < 4 or tuple(images.shape[-3:]) != tuple(shape):
            raise KanervaError(
                argument,
                expected=f"shape (..., T, {', '.join(map(str, shape))})",
                got=str(tuple(images.shape)),
                fix="Resize the images, and keep the dimension of items: images[None] for one.",
            )

    def check_images(self, images: Tensor, argument: str) -> None:
        """Refuse what is not a tensor (..., T, channels, H, W) of pixels between 0 and 1."""
        if not isinstance(images, Tensor):
            raise KanervaError(
                argument,
                expected="a tensor",
                got=type(images).__name__,
                fix="torch.from_numpy(array).float() makes one from an array.",
            )
        self.check_shape(images, argument)
        dtype = next(self.parameters()).dtype
        low, high = (images.min().item(), images.max().item()) if images.numel() else (-1, -1)
        if not (low >= 0 and high <= 1 and images.dtype == dtype):
            raise KanervaError(
                argument,
                expected=f"at least one image, {dtype} pixels between 0 (background) and 1 (ink)",
                got=f"{images.dtype} from {low:g} to {high:g}" if images.numel() else "none",
                fix="Scale them: images.float() / 255; for dark ink on a light background, "
                "1 minus that.",
            )
