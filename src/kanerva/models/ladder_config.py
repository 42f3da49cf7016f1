"""Sizes and options of the models that predict the next image from the previous ones.

Nothing here needs torch: the command line reads these types for its help.
"""

from dataclasses import dataclass
from typing import ClassVar

from kanerva.checks import check_number
from kanerva.errors import KanervaError
from kanerva.models.config_parts import BayesianMemoryConfig, CoderConfig, ReadingMode, WritingMode


@dataclass(frozen=True, kw_only=True)
class LadderConfig(CoderConfig):
    """Sizes of coders with several groups of codes."""

    num_filters: int = 32
    """Filters of the convolutions at half the image's resolution."""
    num_wide: int = 48
    """Filters of the convolutions at a quarter of the image's resolution."""
    group_codes: int = 8
    """Codes at each place of a group."""
    coarse_groups: int = 2
    """Groups of codes at a quarter of the resolution."""
    fine_groups: int = 1
    """Groups of codes at half the resolution."""
    code_size: int = 784
    """C: entries of the map of features with which drawing begins, a multiple of the places at a
    quarter of the resolution. A memory holds such maps; a VAE has a learned one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        height, width = self.map_size
        if self.code_size % (height * width):
            places = height * width
            raise KanervaError(
                "code_size",
                expected=f"a multiple of {places}, the places of a map of {height} x {width}",
                got=str(self.code_size),
                fix=f"Use {places * max(1, round(self.code_size / places))}.",
            )

    @property
    def map_size(self) -> tuple[int, int]:
        """Height and width at a quarter of the image's resolution."""
        _, height, width = self.image_shape
        return height // 2 // 2, width // 2 // 2

    @property
    def map_channels(self) -> int:
        """Features at each place of the map of C entries."""
        height, width = self.map_size
        return self.code_size // (height * width)


@dataclass(frozen=True, kw_only=True)
class LadderVAEConfig(LadderConfig):
    """A VAE with several groups of codes and no memory: the twin of the few-shot model."""

    kind: ClassVar[str] = "ladder-vae"


@dataclass(frozen=True, kw_only=True)
class FewShotConfig(LadderConfig, BayesianMemoryConfig):
    """A Kanerva Machine that predicts the next image from a memory of the previous ones."""

    kind: ClassVar[str] = "fewshot"
    num_rows: int = 32
    """K: rows of the memory."""
    address_code_size: int = 6
    """Y: entries of the address code y."""
    hidden_size: int = 128
    """Hidden units of the 2-layer MLPs."""
    key_size: int = 32
    """S: entries of a key b = f(y), and of each address."""
    empty_share: float = 0.2
    """Share of the items that are read from an empty memory while training. Otherwise one item of
    an episode would be, and drawing without a memory would be learned from few images."""
    input_noise: float = 0.0
    """Standard deviation of the noise on the input of q(y|x) while training."""
    reading: ReadingMode = "distribution"
    """The mean and the variance of the memory are read (appendix F)."""
    writing: WritingMode = "distribution"
    """Codes are written with a variance that says how far to trust an image (appendix F)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("empty_share", self.empty_share, at_least=0, at_most=1, fix="Use 0.2.")
        for name, only in (
            ("reading", "distribution"),
            ("writing", "distribution"),
            ("noisy_input", "embedding"),
        ):
            if getattr(self, name) != only:
                raise KanervaError(
                    name,
                    expected=f"{only}: a model that predicts the next image has no other",
                    got=getattr(self, name),
                    fix="Leave it out.",
                )
