"""What a model is made of: one config type for each kind of model.

Each is a frozen dataclass that holds only the options its model uses. Nothing here needs torch:
the command line reads these types for its help.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar

from kanerva.checks import check_integer, check_number, check_one_of
from kanerva.errors import KanervaError
from kanerva.models.config_parts import (
    BayesianMemoryConfig as BayesianMemoryConfig,
)
from kanerva.models.config_parts import (
    CoderConfig as CoderConfig,
)
from kanerva.models.config_parts import (
    LearnedAddressConfig as LearnedAddressConfig,
)
from kanerva.models.config_parts import (
    MemoryModelConfig as MemoryModelConfig,
)
from kanerva.models.ladder_config import FewShotConfig as FewShotConfig
from kanerva.models.ladder_config import LadderVAEConfig as LadderVAEConfig

KeyForm = Literal["network", "fourier"]


@dataclass(frozen=True, kw_only=True)
class VAEConfig(CoderConfig):
    """A VAE with the coders of the Kanerva Machine and no memory (section 2)."""

    kind: ClassVar[str] = "vae"


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


AnyModelConfig = (
    ModelConfig
    | VAEConfig
    | DNCConfig
    | LRUAConfig
    | DynamicConfig
    | FewShotConfig
    | LadderVAEConfig
)
"""The config of any model that `build_model` can make; `kind` tells them apart."""
AnyMemoryModelConfig = ModelConfig | DNCConfig | LRUAConfig | DynamicConfig | FewShotConfig
"""The config of any model with a memory."""
CONFIGS: dict[str, type[AnyModelConfig]] = {
    config.kind: config
    for config in (
        ModelConfig,
        VAEConfig,
        DNCConfig,
        LRUAConfig,
        DynamicConfig,
        FewShotConfig,
        LadderVAEConfig,
    )
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
