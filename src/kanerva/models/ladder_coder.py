"""Coders with several groups of codes: they draw from what is known before, from the top down.

Shapes: N images, C entries of a map of features.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from kanerva.models.coder import Coder
from kanerva.models.ladder import Block, Drawn, LadderDecoder, LadderEncoder, Levels
from kanerva.models.ladder_config import LadderConfig
from kanerva.models.likelihood import make_likelihood

MAX_LOG_VAR = 5.0
"""Log-variances of written codes lie between minus this and this."""

FIRST_CONTRAST = 0.3
"""How strong the first drawings are, next to what random weights would give."""


class Known(NamedTuple):
    """What is known before an image is drawn: maps (N, C), and numbers (N, n) about all places."""

    maps: tuple[Tensor, ...]
    numbers: Tensor


class LadderCoder(Coder):
    """Images to maps of features that a memory can hold, and what is known to new images.

    `encode` gives a map h(x) of C entries and a log-variance: how far to trust the image. `draw`
    makes p(x | z, what is known) with codes z in groups, from q(z | x, what is known) if the
    image is given, else from p(z | what is known).
    """

    def __init__(self, config: LadderConfig, *, num_maps: int, num_numbers: int) -> None:
        """What is known has `num_maps` maps and `num_numbers` numbers."""
        nn.Module.__init__(self)  # none of the parts of a coder with one group of codes
        self.image_shape = config.image_shape
        self.code_size = config.code_size
        self.map_shape = (config.map_channels, *config.map_size)
        self.likelihood = make_likelihood(config.likelihood)
        self.is_half = False
        self.encoder = LadderEncoder(  # pyright: ignore[reportIncompatibleVariableOverride]
            config.image_shape[0], config.num_filters, config.num_wide
        )
        self.decoder = LadderDecoder(  # pyright: ignore[reportIncompatibleVariableOverride]
            config.image_shape,
            num_filters=config.num_filters,
            num_wide=config.num_wide,
            num_codes=config.group_codes,
            num_groups=(config.coarse_groups, config.fine_groups),
        )
        num_channels = num_maps * config.map_channels + num_numbers
        self.start = nn.Conv2d(num_channels, config.num_wide, 3, padding=1)
        self.start_offset = nn.Parameter(torch.zeros(config.num_wide, *config.map_size))
        self.start_block = Block(config.num_wide)

    @property
    def noise_size(self) -> int:
        """How many numbers all groups of codes have together."""
        return self.decoder.noise_size

    def levels(self, images: Tensor) -> Levels:
        """Feature maps of images (..., channels, H, W), flat: (N, filters, h, w)."""
        flat = images.reshape(-1, *self.image_shape)
        with self._autocast(flat):
            return self.encoder(flat.contiguous(memory_format=torch.channels_last))

    def draw(self, known: Known, levels: Levels | None, noise: Tensor) -> Drawn:
        """p(x | z, known) with z from q(z | x, known), or from its prior without `levels`.

        `noise` is (N, noise_size); zeros give the means of z.
        """
        size = self.map_shape[1:]
        numbers = known.numbers[..., None, None].expand(*known.numbers.shape, *size)
        maps = [part.reshape(-1, *self.map_shape) for part in known.maps]
        given = torch.cat([*maps, numbers], dim=1).contiguous(memory_format=torch.channels_last)
        with self._autocast(given):
            state = self.start_block(self.start(given)) + self.start_offset
            return self.decoder(state, levels, noise)

    def use_half(self, half: bool) -> None:
        self.is_half = half

    def set_background(self, share: float) -> None:
        """Let drawing begin with a share of ink everywhere, instead of half of it."""
        last = self.decoder.pixels
        assert last.bias is not None
        last.weight *= FIRST_CONTRAST
        last.bias.fill_(self.likelihood.parameter_of(share))

    def _autocast(self, like: Tensor) -> torch.autocast:
        return torch.autocast(like.device.type, dtype=torch.bfloat16, enabled=self.is_half)


class MemoryLadderCoder(LadderCoder):
    """The coder of a model with a memory: it also says what to write."""

    def __init__(self, config: LadderConfig) -> None:
        super().__init__(config, num_maps=2, num_numbers=2)
        self.to_map = nn.Conv2d(config.num_wide, config.map_channels, 1)
        self.trust = nn.Linear(config.code_size, 1)
        nn.init.zeros_(self.trust.weight)
        nn.init.zeros_(self.trust.bias)

    def encode(self, images: Tensor) -> Tensor:
        """h(x) and its log-variance, (..., 2C): what `MemoryModel.write` writes."""
        return self.embed(self.levels(images)).reshape(*images.shape[:-3], -1)

    def embed(self, levels: Levels) -> Tensor:
        """The same from the feature maps of images, (N, 2C). One variance for all entries."""
        features = self.to_map(levels.quarter.to(self.dtype)).flatten(1)
        log_var = self.trust(features).clamp(-MAX_LOG_VAR, MAX_LOG_VAR)
        return torch.cat([features, log_var.expand_as(features)], dim=-1)

    def decode(self, codes: Tensor) -> Tensor:
        """Parameters of p(x|z) with the most likely z, where the memory surely holds `codes`."""
        flat = codes.reshape(-1, codes.shape[-1])
        sure = flat.new_full((len(flat), 2), SURE_LOG_VAR)
        noise = flat.new_zeros(len(flat), self.noise_size)
        drawn = self.draw(Known((flat, flat), sure), None, noise)
        return drawn.parameters.reshape(*codes.shape[:-1], *self.image_shape)


SURE_LOG_VAR = -2.0
"""ln w'Uw of a memory that has seen several images of what it is asked for."""
