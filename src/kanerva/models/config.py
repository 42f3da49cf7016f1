"""What a model is made of. No torch here: the command line reads this for its help."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from kanerva.errors import KanervaError

Kind = Literal["kanerva", "vae", "dnc", "lrua", "dynamic"]
KINDS: tuple[Kind, ...] = get_args(Kind)
DISTRIBUTIONS: tuple[Kind, ...] = ("kanerva", "dynamic")
"""Models whose memory is a distribution, so that what it cost in nats is defined."""


@dataclass(frozen=True)
class ModelConfig:
    """Sizes and options of a model; the defaults are the paper's for Omniglot (section 4)."""

    kind: Kind = "kanerva"
    """The Kanerva Machine, a VAE with the same coder, or one with another memory: a DNC, LRUA,
    or that of the Dynamic Kanerva Machine."""
    image_shape: tuple[int, int, int] = (1, 28, 28)
    """Channels, height, width."""
    likelihood: Literal["bernoulli", "gaussian"] = "bernoulli"
    """Of pixels: Bernoulli for ink on paper, Gaussian for colour."""
    num_filters: int = 16
    """Filters of every convolution."""
    code_size: int = 100
    """C: entries of a code z."""
    num_rows: int = 64
    """K: rows of the memory."""
    key_size: int = 50
    """S: entries of a key b = f(y), and of each address."""
    address_size: int = 6
    """Entries of the addressing variable y. Few: each unused one is noise in the input of f."""
    hidden_size: int = 400
    """Hidden units of the 2-layer MLPs."""
    bottom_up: bool = True
    """Let q(z|x, y, M) correct what was read; without it, z comes from the memory alone."""
    input_noise: float = 0.2
    """Deviation of the noise on the input of q(y|x) while training (appendix C)."""
    noise_var: float = 1.0
    """sigma^2 of p(z|y, M)."""
    covariance: Literal["full", "diagonal"] = "full"
    """Covariance between the memory's rows."""
    chunk: int | None = None
    """Items written at a time; by default a whole episode. With a full covariance the posterior is
    the same; a diagonal one drops the rest after every chunk."""
    reading: Literal["mean", "sample", "distribution"] = "mean"
    """Read the memory's mean (the paper), a sample of it, or its distribution (appendix F)."""
    writing: Literal["sample", "distribution"] = "sample"
    """Write a sample of q(z|x) (the paper), or the whole distribution (appendix F)."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise KanervaError(
                "kind",
                expected=f"one of {', '.join(KINDS)}",
                got=f"'{self.kind}'",
                fix="A checkpoint of another version of kanerva has to be loaded there.",
            )
        for name in (
            "num_filters",
            "code_size",
            "num_rows",
            "key_size",
            "address_size",
            "hidden_size",
        ):
            _at_least(name, getattr(self, name), 1)
        _at_least("input_noise", self.input_noise, 0)
        _at_least("chunk", 1 if self.chunk is None else self.chunk, 1)
        if not 0 < self.noise_var < math.inf:
            raise KanervaError(
                "noise_var",
                expected="a positive number",
                got=str(self.noise_var),
                fix="The paper uses 1.",
            )
        if min(self.image_shape) < 1 or min(self.image_shape[1:]) < 8:
            raise KanervaError(
                "image_shape",
                expected="channels, height and width, at least 8 x 8 pixels",
                got=str(self.image_shape),
                fix="Three convolutions of stride 2 need that much: resize the images.",
            )


def _at_least(name: str, value: float, smallest: float) -> None:
    if not smallest <= value < math.inf:
        raise KanervaError(
            name, expected=f"at least {smallest}", got=str(value), fix="Raise it, or leave it out."
        )
