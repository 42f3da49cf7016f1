"""What the Kanerva Machine and its VAE twin share: encoder, decoder, likelihood."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from kanerva.errors import KanervaError
from kanerva.models.bound import Bound
from kanerva.models.config import ModelConfig
from kanerva.models.likelihood import make_likelihood
from kanerva.models.nets import Decoder, Encoder
from kanerva.models.start import start_coder

Watch = Callable[[int, Tensor], None]
"""Called after each iteration with its number and the images of it."""


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
    """(B, K, C), for M where it is sampled."""
    queries: Tensor | None = None
    """(n, T, channels, H, W): damaged images by which the first n episodes are read in training."""


class Coder(nn.Module):
    """Images (..., channels, H, W) to embeddings, and codes to images."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        sizes = (config.image_shape, config.num_filters, config.code_size)
        self.encoder = Encoder(*sizes)
        self.decoder = Decoder(*sizes)
        self.likelihood = make_likelihood(config.likelihood)

    def elbo(self, episodes: Tensor, *, generator: torch.Generator | None = None) -> Bound:
        """Named terms of the negative bound, per item, for episodes (B, T, channels, H, W)."""
        self.check_images(episodes, "episodes")
        return self(self.prepare(episodes, generator), self.draw_noise(episodes, generator))

    def draw_noise(self, episodes: Tensor, generator: torch.Generator | None) -> Noise:
        """All that is random in a bound."""
        raise AssertionError("each model has its own noise")

    def forward(self, images: Tensor, noise: Noise) -> Bound:
        """The bound as a function without randomness: what is compiled, or trained in parallel."""
        raise AssertionError("each model has its own bound")

    def log_weights(
        self, episodes: Tensor, samples: int, *, generator: torch.Generator | None = None
    ) -> Tensor:
        """Importance weights ln p(x, y, z | M) - ln q(y, z | x, M), (samples, B, T)."""
        raise AssertionError("each model has its own weights")

    def encode(self, images: Tensor) -> Tensor:
        """e(x), (..., 2C)."""
        flat = images.reshape(-1, *self.config.image_shape)
        return self.encoder(flat).reshape(*images.shape[:-3], -1)

    def decode(self, codes: Tensor) -> Tensor:
        """Parameters of p(x|z), (..., channels, H, W)."""
        flat = self.decoder(codes.reshape(-1, codes.shape[-1]))
        return flat.reshape(*codes.shape[:-1], *self.config.image_shape)

    def compile_steps(self) -> None:
        """Compile what repeats within a forward pass, before the pass itself is compiled."""

    def use_half(self, half: bool) -> None:
        """Run the convolutions in bfloat16, or not: for training. Parameters stay as they are."""
        self.encoder.blocks.half = self.decoder.blocks.half = half

    def prepare(self, images: Tensor, generator: torch.Generator | None) -> Tensor:
        """Check an episode; while training, add what the likelihood needs (noise on colours)."""
        self.check_shape(images, "images")
        return self.likelihood.prepare(images, generator) if self.training else images

    def check_shape(self, images: Tensor, argument: str) -> None:
        """Items of the size this model was made for."""
        if images.dim() < 4 or tuple(images.shape[-3:]) != tuple(self.config.image_shape):
            raise KanervaError(
                argument,
                expected=f"shape (..., T, {', '.join(map(str, self.config.image_shape))})",
                got=str(tuple(images.shape)),
                fix="Resize the images, and keep the dimension of items: images[None] for one.",
            )

    def check_images(self, images: Tensor, argument: str) -> None:
        """Images (..., T, channels, H, W) of the right size, kind and range, at least one."""
        if not isinstance(images, Tensor):
            raise KanervaError(
                argument,
                expected="a tensor",
                got=type(images).__name__,
                fix="torch.from_numpy(array).float() makes one of an array.",
            )
        self.check_shape(images, argument)
        dtype = next(self.parameters()).dtype
        low, high = (images.min().item(), images.max().item()) if images.numel() else (-1, -1)
        if not (low >= 0 and high <= 1 and images.dtype == dtype):
            raise KanervaError(
                argument,
                expected=f"at least one image, {dtype} pixels between 0 (paper) and 1 (ink)",
                got=f"{images.dtype} from {low:g} to {high:g}" if images.numel() else "none",
                fix="Scale them: images.float() / 255; for dark ink on light paper, 1 minus that.",
            )

    def start_from(self, images: Tensor) -> None:
        """Begin well, given some training images (..., channels, H, W): see `kanerva.models.start`.

        Call it once, before training; without it training is several times slower.
        """
        raise AssertionError("each model has its own start")

    def start_coder(self, images: Tensor, *, scale: float, log_var: float) -> Tensor:
        """Encoder and decoder for `start_from`; returns the embeddings of images (N, ...)."""
        mean = images.mean().clamp(1e-3, 1 - 1e-3).item()
        bernoulli = self.config.likelihood == "bernoulli"
        pixel = math.log(mean / (1 - mean)) if bernoulli else mean
        coders = (self.encoder, self.decoder)
        return start_coder(*coders, images, scale=scale, log_var=log_var, pixel=pixel)


def check_iterations(iterations: int, *, at_least: int) -> None:
    check_whole(
        "iterations",
        iterations,
        at_least=at_least,
        fix="The paper reads up to 10 times; 6 is a good start.",
    )


def check_whole(argument: str, value: int, *, at_least: int, fix: str) -> None:
    if not isinstance(value, int) or value < at_least:
        raise KanervaError(
            argument, expected=f"a whole number of at least {at_least}", got=str(value), fix=fix
        )
