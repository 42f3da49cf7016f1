"""Options that several kinds of models share, as bases of their configs.

Nothing here needs torch: the command line reads these types for its help.
"""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from kanerva.checks import check_bool, check_integer, check_number, check_one_of
from kanerva.errors import KanervaError

LikelihoodName = Literal["bernoulli", "gaussian"]
Covariance = Literal["full", "diagonal"]
ReadingMode = Literal["mean", "sample", "distribution"]
WritingMode = Literal["sample", "distribution"]
CodePosteriorForm = Literal["correction", "direct", "product"]
NoisyInput = Literal["embedding", "image"]
MAX_SIZE = 100_000
"""The most rows, entries and units. A memory of so many rows has a covariance of 80 GB."""
MAX_FILTERS = 10_000
MAX_PIXELS = 10_000
"""The most channels, and the largest height and width of an image."""


@dataclass(frozen=True, kw_only=True)
class CoderConfig:
    """Sizes of the encoder and the decoder, which every model has."""

    kind: ClassVar[str] = "coder"
    image_shape: tuple[int, int, int] = (1, 28, 28)
    """Channels, height, width."""
    likelihood: LikelihoodName = "bernoulli"
    """Distribution of a pixel: Bernoulli for ink and background, Gaussian for colour."""
    num_filters: int = 16
    """Filters of every convolution."""
    code_size: int = 100
    """C: entries of a code z."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.type is int:
                check_integer(
                    field.name,
                    value,
                    at_most=MAX_FILTERS if field.name == "num_filters" else MAX_SIZE,
                    fix="Leave it out to use the paper's size; larger ones fit into no memory.",
                )
            choices = get_args(field.type)
            if choices and all(isinstance(choice, str) for choice in choices):
                check_one_of(field.name, value, choices)
        _check_image_shape(self.image_shape)


@dataclass(frozen=True, kw_only=True)
class MemoryModelConfig(CoderConfig):
    """What every model with a memory has."""

    num_rows: int = 64
    """K: rows of the memory."""
    noise_var: float = 1.0
    """sigma^2 of p(z|y, M)."""
    input_noise: float = 0.2
    """Standard deviation of the noise on the input of q(y|x) while training (appendix C)."""
    noisy_input: NoisyInput = "embedding"
    """What gets this noise: e(x), whose scale training changes, or the image x itself. The second
    encodes each image three times."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("noise_var", self.noise_var, above=0, fix="The paper uses 1.")
        check_number("input_noise", self.input_noise, at_least=0, fix="The paper uses 0.2.")


@dataclass(frozen=True, kw_only=True)
class LearnedAddressConfig(MemoryModelConfig):
    """A model with a memory whose address codes come from a network."""

    address_code_size: int = 6
    """Y: entries of the address code y. Keep it small: each unused entry adds noise to f(y)."""
    hidden_size: int = 400
    """Hidden units of the 2-layer MLPs."""
    bottom_up: bool = True
    """Let q(z|x, y, M) correct what was read. Without it z comes from the memory alone."""
    code_posterior: CodePosteriorForm = "correction"
    """q(z|x, y, M): the mean of p(z|y, M) plus what a network gives (correction), what the network
    gives (direct), or the product of p(z|y, M) and a Gaussian that the network gives (product)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bool("bottom_up", self.bottom_up, fix="Pass True, or False for z from the memory.")
        if self.code_posterior != "correction" and not self.bottom_up:
            raise KanervaError(
                "code_posterior",
                expected="correction where bottom_up is off: there is no q(z|x, y, M)",
                got=self.code_posterior,
                fix="Leave it out, or switch bottom_up on.",
            )


@dataclass(frozen=True, kw_only=True)
class BayesianMemoryConfig(MemoryModelConfig):
    """A model whose memory is the matrix Gaussian of section 3.1."""

    covariance: Covariance = "full"
    """Covariance between the memory's rows."""
    reading: ReadingMode = "mean"
    """Read the memory's mean (the paper), a sample of it, or its distribution (appendix F)."""
    writing: WritingMode = "sample"
    """Write a sample of q(z|x) (the paper), or the whole distribution (appendix F)."""


def _check_image_shape(shape: tuple[int, ...]) -> None:
    is_shape = isinstance(shape, tuple) and len(shape) == 3
    if not is_shape or any(not isinstance(size, int) or size < 1 for size in shape):
        raise _bad_image_shape(shape)
    if min(shape[1:]) < 8 or max(shape) > MAX_PIXELS:
        raise _bad_image_shape(shape)


def _bad_image_shape(shape: object) -> KanervaError:
    return KanervaError(
        "image_shape",
        expected="three whole numbers: channels, height and width, at least 8 x 8 pixels and each "
        f"at most {MAX_PIXELS}",
        got=repr(shape),
        fix="Use (1, 28, 28) for Omniglot; three convolutions of stride 2 need 8 x 8 pixels.",
    )
