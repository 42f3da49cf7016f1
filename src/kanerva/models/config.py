"""What a model is made of: one config type for each kind of model.

Each is a frozen dataclass that holds only the options its model uses. Nothing here needs torch:
the command line reads these types for its help.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar, get_args

from kanerva.checks import check_bool, check_integer, check_number, check_one_of
from kanerva.errors import KanervaError

LikelihoodName = Literal["bernoulli", "gaussian"]
Covariance = Literal["full", "diagonal"]
ReadingMode = Literal["mean", "sample", "distribution"]
WritingMode = Literal["sample", "distribution"]
CodePosteriorForm = Literal["correction", "direct", "product"]
KeyForm = Literal["network", "fourier"]
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
class VAEConfig(CoderConfig):
    """A VAE with the coders of the Kanerva Machine and no memory (section 2)."""

    kind: ClassVar[str] = "vae"


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


@dataclass(frozen=True, kw_only=True)
class ModelConfig(LearnedAddressConfig, BayesianMemoryConfig):
    """The sizes and options of a Kanerva Machine, by default the paper's for Omniglot (section 4).

    Example:
        >>> from kanerva import ModelConfig
        >>> ModelConfig(num_rows=128).num_rows
        128

    """

    kind: ClassVar[str] = "kanerva"
    keys: KeyForm = "network"
    """How y becomes weights: a network f and learned addresses (the paper), or Fourier features of
    y, whose overlap falls with distance. A reader can search those for what was written."""
    key_size: int = 50
    """S: entries of a key b = f(y), and of each address. Fourier keys have one for each row."""
    key_width: float = 1.0
    """Distance of address codes over which Fourier keys overlap."""
    novel_share: float = 0.0
    """Probability that an image was never written. The code of such an image has a prior without
    memory and address, so that an overfull memory costs little more than none. 0 for the paper."""
    chunk: int | None = None
    """Items written at a time; by default a whole episode. With a full covariance the posterior is
    the same. With a diagonal one the covariances are dropped after every chunk."""
    prior_std: float = 0.0
    """Standard deviation of the entries of R0, the mean of the prior memory, before training."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("prior_std", self.prior_std, at_least=0, fix="Use 0 or 1.")
        check_number("key_width", self.key_width, above=0, fix="Leave it out, or use 1.5.")
        check_number("novel_share", self.novel_share, at_least=0, fix="Use 0 or 0.5.")
        _check_keys(self)
        if self.chunk is not None:
            check_integer("chunk", self.chunk, fix="1 writes item by item, as the paper does.")


@dataclass(frozen=True, kw_only=True)
class DNCConfig(LearnedAddressConfig):
    """The same model around a Differentiable Neural Computer (appendix D)."""

    kind: ClassVar[str] = "dnc"


@dataclass(frozen=True, kw_only=True)
class LRUAConfig(LearnedAddressConfig):
    """The same model around a memory with least recently used access (section 4.4)."""

    kind: ClassVar[str] = "lrua"


@dataclass(frozen=True, kw_only=True)
class DynamicConfig(BayesianMemoryConfig):
    """The Dynamic Kanerva Machine: addresses by least squares, z from the memory alone."""

    kind: ClassVar[str] = "dynamic"


AnyModelConfig = ModelConfig | VAEConfig | DNCConfig | LRUAConfig | DynamicConfig
"""The config of any model that `build_model` can make; `kind` tells them apart."""
AnyMemoryModelConfig = ModelConfig | DNCConfig | LRUAConfig | DynamicConfig
"""The config of any model with a memory."""
CONFIGS: dict[str, type[AnyModelConfig]] = {
    config.kind: config for config in (ModelConfig, VAEConfig, DNCConfig, LRUAConfig, DynamicConfig)
}

Fields = Mapping[str, object]
ConfigT = TypeVar("ConfigT", bound=CoderConfig)


def checked_config(config: object, kind: type[ConfigT]) -> ConfigT:
    """The config itself, or an error if it is not of this kind."""
    if isinstance(config, kind):
        return config
    raise KanervaError(
        "config",
        expected=f"a {kind.__name__}",
        got=type(config).__name__,
        fix=f"Pass {kind.__name__}(), from kanerva.models.config.",
    )


def config_to_dict(config: AnyModelConfig) -> dict[str, object]:
    """The fields of a config and its `kind`, as JSON can hold them."""
    return {"kind": config.kind, **dataclasses.asdict(config)}


def config_from_dict(fields: Fields) -> AnyModelConfig:
    """The config that `config_to_dict` wrote.

    Also reads what version 0.1 wrote: one set of fields for all kinds, some of them unused, and
    `address_size` for today's `address_code_size`.
    """
    given = dict(fields)
    kind = given.pop("kind", "kanerva")
    check_one_of(
        "kind", kind, CONFIGS, fix="Load this checkpoint with the version of kanerva that wrote it."
    )
    config = CONFIGS[str(kind)]
    if "address_size" in given:
        given["address_code_size"] = given.pop("address_size")
        given = _without_unused_fields(config, given)
    shape = given.get("image_shape")
    if isinstance(shape, list):
        given["image_shape"] = tuple(shape)
    try:
        return config(**given)  # pyright: ignore[reportArgumentType]
    except TypeError as error:
        raise KanervaError(
            "model",
            expected=f"the fields of {config.__name__}",
            got=str(error),
            fix="Load this checkpoint with the version of kanerva that wrote it.",
        ) from None


def _without_unused_fields(config: type[AnyModelConfig], given: dict[str, object]) -> dict:
    if config is DynamicConfig and given.get("bottom_up"):
        raise KanervaError(
            "bottom_up",
            expected="a Dynamic Kanerva Machine without the bottom-up stream",
            got="one with it, written by kanerva 0.1",
            fix="Load it with kanerva 0.1, or train the recipe omniglot-dynamic again.",
        )
    names = {field.name for field in dataclasses.fields(config)}
    return {name: value for name, value in given.items() if name in names}


def _check_keys(config: ModelConfig) -> None:
    """Refuse options of Fourier keys where they would be ignored, and sizes that do not fit."""
    is_fourier = config.keys == "fourier"
    if is_fourier and (config.key_size != config.num_rows or config.num_rows % 2):
        raise KanervaError(
            "key_size",
            expected="an even num_rows and the same key_size: a Fourier key has a cosine and a "
            "sine for each frequency, and one entry for each row",
            got=f"{config.key_size} and num_rows {config.num_rows}",
            fix=f"Pass num_rows {config.num_rows + config.num_rows % 2} and the same key_size.",
        )
    if not is_fourier and config.key_width != 1.0:
        raise KanervaError(
            "key_width",
            expected="1.0 where keys is network: only Fourier keys have a width",
            got=str(config.key_width),
            fix="Leave it out, or pass keys fourier.",
        )
    if config.novel_share and (config.novel_share >= 1 or config.code_posterior != "product"):
        raise KanervaError(
            "novel_share",
            expected="0, or a number below 1 with code_posterior product",
            got=f"{config.novel_share} with {config.code_posterior}",
            fix="Leave it out, or pass code_posterior product.",
        )


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
