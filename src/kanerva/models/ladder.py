"""Networks with several groups of codes, for models that predict the next image.

An image is made from the top down: a map of features begins with what is known before (what a
memory holds, or nothing), and each group of codes adds what is new, first at a quarter of the
image's resolution, then at half of it. The posterior of each group sees the map so far and the
image. There are no batch statistics: items of an episode mix in the memory alone.

Shapes: N images, H x W pixels.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from kanerva.models.nets import init_relu, shrunk

MAX_LOG_STD = 3.0
"""Log standard deviations of codes lie between minus this and this, smoothly."""


class Block(nn.Module):
    """A residual block with its activations first; it starts as the identity."""

    def __init__(self, num_filters: int) -> None:
        super().__init__()
        self.first = conv3(num_filters, num_filters)
        self.second = conv3(num_filters, num_filters)
        nn.init.zeros_(self.second.weight)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.second(torch.relu(self.first(torch.relu(x))))


class Group(nn.Module):
    """One group of codes (N, codes, h, w): its prior and posterior given the map so far.

    The posterior is written relative to the prior: with p = N(m, s^2) it is
    N(m + s d, s^2 exp(2 e)), so KL(q || p) = (d^2 + exp(2 e) - 1) / 2 - e for each entry.
    """

    def __init__(self, num_filters: int, num_codes: int) -> None:
        super().__init__()
        self.num_codes = num_codes
        self.prior_hidden = conv3(num_filters, num_filters)
        self.prior = nn.Conv2d(num_filters, 2 * num_codes, 1)
        self.posterior_hidden = conv3(2 * num_filters, num_filters)
        self.posterior = nn.Conv2d(num_filters, 2 * num_codes, 1)
        self.insert = nn.Conv2d(num_codes, num_filters, 1)
        self.block = Block(num_filters)
        for layer in (self.prior, self.posterior):
            nn.init.normal_(layer.weight, std=0.02)
            assert layer.bias is not None
            nn.init.zeros_(layer.bias)

    def forward(
        self, state: Tensor, evidence: Tensor | None, noise: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The map with the codes added, KL(q || p) (N,) and ln p(z) - ln q(z) of the sample (N,).

        Without `evidence` the codes come from the prior, and both numbers are zero. With noise of
        zeros they are means.
        """
        active = torch.relu(state)
        mean, log_std = halves(self.prior(torch.relu(self.prior_hidden(active))))
        shift, log_ratio = torch.zeros_like(mean), torch.zeros_like(mean)
        if evidence is not None:
            both = torch.cat([active, evidence], dim=1)
            shift, log_ratio = halves(self.posterior(torch.relu(self.posterior_hidden(both))))
        standard = shift + log_ratio.exp() * noise  # (z - m) / s
        z = mean + log_std.exp() * standard
        kl = 0.5 * (shift.square() + (2 * log_ratio).exp() - 1) - log_ratio
        log_weight = 0.5 * (noise.square() - standard.square()) + log_ratio
        state = self.block(state + self.insert(z.to(state.dtype)))
        return state, kl.flatten(1).sum(-1), log_weight.flatten(1).sum(-1)


def halves(parameters: Tensor) -> tuple[Tensor, Tensor]:
    """A mean and a log standard deviation in float32, the second limited smoothly."""
    mean, log_std = parameters.float().chunk(2, dim=1)
    return mean, MAX_LOG_STD * torch.tanh(log_std / MAX_LOG_STD)


class Levels(NamedTuple):
    """What an image says at half and at a quarter of its resolution."""

    half: Tensor
    quarter: Tensor


class LadderEncoder(nn.Module):
    """Images (N, channels, H, W) to feature maps at two levels."""

    def __init__(self, channels: int, num_filters: int, num_wide: int) -> None:
        super().__init__()
        self.pixels = nn.Conv2d(channels, num_filters, 4, stride=2, padding=1)
        self.at_half = Block(num_filters)
        self.down = nn.Conv2d(num_filters, num_wide, 4, stride=2, padding=1)
        self.at_quarter = Block(num_wide)
        init_relu(self.pixels)
        init_relu(self.down)

    def forward(self, images: Tensor) -> Levels:
        half = self.at_half(self.pixels(images))
        quarter = self.at_quarter(self.down(torch.relu(half)))
        return Levels(torch.relu(half), torch.relu(quarter))


class Drawn(NamedTuple):
    """What the decoder made: parameters of p(x|z), KL(q || p) (N,), ln p(z) - ln q(z) (N,)."""

    parameters: Tensor
    kl: Tensor
    log_weight: Tensor


class LadderDecoder(nn.Module):
    """A map (N, wide, H/4, W/4) and groups of codes to the parameters of p(x|z)."""

    def __init__(
        self,
        image_shape: tuple[int, int, int],
        *,
        num_filters: int,
        num_wide: int,
        num_codes: int,
        num_groups: tuple[int, int],
    ) -> None:
        """`num_groups` says how many groups there are at a quarter and at half the resolution."""
        super().__init__()
        channels, height, width = image_shape
        half = (shrunk(height), shrunk(width))
        quarter = (shrunk(half[0]), shrunk(half[1]))
        self.sizes = [quarter] * num_groups[0] + [half] * num_groups[1]
        self.num_codes = num_codes
        self.coarse = nn.ModuleList(Group(num_wide, num_codes) for _ in range(num_groups[0]))
        self.up = enlarge(num_wide, num_filters, quarter, half)
        self.fine = nn.ModuleList(Group(num_filters, num_codes) for _ in range(num_groups[1]))
        num_last = max(8, num_filters // 2)
        self.to_pixels = enlarge(num_filters, num_last, half, (height, width))
        self.pixels = conv3(num_last, channels)

    @property
    def noise_size(self) -> int:
        """How many numbers all groups of codes have together."""
        return sum(self.num_codes * height * width for height, width in self.sizes)

    def forward(self, state: Tensor, evidence: Levels | None, noise: Tensor) -> Drawn:
        """Run from the top down, with noise (N, noise_size); zeros give means."""
        shapes = [(self.num_codes, *size) for size in self.sizes]
        parts = noise.split([a * b * c for a, b, c in shapes], dim=-1)
        noises = iter(
            [part.unflatten(-1, shape) for part, shape in zip(parts, shapes, strict=True)]
        )
        kl = log_weight = noise.new_zeros(len(noise))
        for groups, level in ((self.coarse, "quarter"), (self.fine, "half")):
            given = None if evidence is None else getattr(evidence, level)
            for group in groups:
                state, group_kl, group_weight = group(state, given, next(noises))
                kl, log_weight = kl + group_kl, log_weight + group_weight
            if level == "quarter":
                state = self.up(torch.relu(state))
        last = torch.relu(self.to_pixels(torch.relu(state)))
        return Drawn(self.pixels(last).float(), kl, log_weight)


def conv3(num_inputs: int, num_outputs: int) -> nn.Conv2d:
    """A 3 x 3 convolution that keeps the size of its input."""
    layer = nn.Conv2d(num_inputs, num_outputs, 3, padding=1)
    init_relu(layer)
    return layer


def enlarge(
    num_inputs: int, num_outputs: int, small: tuple[int, int], large: tuple[int, int]
) -> nn.ConvTranspose2d:
    """A transposed convolution that doubles height and width."""
    extra = (large[0] - 2 * small[0], large[1] - 2 * small[1])
    layer = nn.ConvTranspose2d(
        num_inputs, num_outputs, 4, stride=2, padding=1, output_padding=extra
    )
    init_relu(layer)
    return layer
