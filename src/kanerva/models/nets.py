"""Encoder, decoder and MLPs of appendix C. No batch statistics: items mix in the memory alone."""

import math

import torch
from torch import Tensor, nn


class ResidualBlock(nn.Module):
    """A basic residual block; it starts as the identity, so that depth costs nothing at first."""

    def __init__(self, num_filters: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(num_filters, num_filters, 3, padding=1)
        self.second = nn.Conv2d(num_filters, num_filters, 3, padding=1)
        init_relu(self.first)
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(_bias(self.second))

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.second(torch.relu(self.first(x))))


class Convolutions(nn.Sequential):
    """The part that a GPU does well in half precision, with channels last.

    Only convolutions run in bfloat16. Addresses need more than its three digits.
    """

    half: bool = False

    def forward(self, x: Tensor) -> Tensor:
        if x.is_cuda or self.half:  # on a CPU this is faster in bfloat16 only
            x = x.contiguous(memory_format=torch.channels_last)
        with torch.autocast(x.device.type, dtype=torch.bfloat16, enabled=self.half):
            return super().forward(x).to(x.dtype)


class FromPixels(nn.Conv2d):
    """The layer that sees pixels: 4 x 4, stride 2.

    GPU kernels are slow with one or three channels, so on a GPU this is a product of patches.
    """

    def __init__(self, channels: int, num_filters: int) -> None:
        super().__init__(channels, num_filters, 4, stride=2, padding=1)

    def forward(self, input: Tensor) -> Tensor:
        return self.as_product(input) if input.is_cuda else super().forward(input)

    def as_product(self, images: Tensor) -> Tensor:
        padded = nn.functional.pad(images, (1, 1, 1, 1))
        patches = padded.unfold(2, 4, 2).unfold(3, 4, 2).permute(0, 2, 3, 1, 4, 5)
        return nn.functional.linear(patches.flatten(3), self.weight.flatten(1), self.bias).permute(
            0, 3, 1, 2
        )


class ToPixels(nn.ConvTranspose2d):
    """The layer that draws pixels: 4 x 4, stride 2. On a GPU one product, then sums of its taps."""

    def __init__(self, num_filters: int, channels: int, extra: tuple[int, int]) -> None:
        super().__init__(num_filters, channels, 4, stride=2, padding=1, output_padding=extra)

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        if input.is_cuda and self.output_padding == (0, 0):
            return self.as_product(input)
        return super().forward(input, output_size)

    def as_product(self, features: Tensor) -> Tensor:
        taps = features.permute(0, 2, 3, 1) @ self.weight.flatten(1)
        taps = taps.unflatten(-1, (-1, 4, 4)).permute(0, 3, 1, 4, 2, 5)  # (N, channels, H, 4, W, 4)
        pixels = _overlap(_overlap(taps, 4), 2).flatten(4).flatten(2, 3)
        assert self.bias is not None
        return pixels + self.bias[:, None, None]


def _overlap(taps: Tensor, dim: int) -> Tensor:
    """Taps (..., H, 4, ...) at `dim` to pixels (..., H, 2, ...), with their overlaps added."""
    before, even, odd, after = taps.unbind(dim + 1)
    size, edge = before.shape[dim], torch.zeros_like(before.narrow(dim, 0, 1))
    from_above = torch.cat([edge, after.narrow(dim, 0, size - 1)], dim)
    from_below = torch.cat([before.narrow(dim, 1, size - 1), edge], dim)
    return torch.stack([even + from_above, odd + from_below], dim + 1)


def shrunk(size: int) -> int:
    """Height or width after a 4 x 4 convolution of stride 2 with a border of 1."""
    return (size - 2) // 2 + 1


class Encoder(nn.Module):
    """Images (N, channels, H, W) to embeddings e(x) (N, 2C)."""

    def __init__(self, image_shape: tuple[int, int, int], num_filters: int, code_size: int) -> None:
        super().__init__()
        channels, height, width = image_shape
        blocks: list[nn.Module] = []
        for level in range(3):
            if level == 0:
                down = FromPixels(channels, num_filters)
            else:
                down = nn.Conv2d(num_filters, num_filters, 4, stride=2, padding=1)
            init_relu(down)
            blocks += [down, nn.ReLU(), ResidualBlock(num_filters)]
            height, width = shrunk(height), shrunk(width)
        self.blocks = Convolutions(*blocks)
        self.project = nn.Linear(num_filters * height * width, 2 * code_size)

    def forward(self, images: Tensor) -> Tensor:
        return self.project(self.blocks(images).flatten(1))

    @property
    def downs(self) -> list[nn.Conv2d]:
        """The layers that shrink, the one that sees pixels first."""
        return [layer for layer in self.blocks if isinstance(layer, nn.Conv2d)]


class Decoder(nn.Module):
    """Codes (N, C) to the parameters of p(x|z) (N, channels, H, W): the encoder mirrored."""

    def __init__(self, image_shape: tuple[int, int, int], num_filters: int, code_size: int) -> None:
        super().__init__()
        channels, *size = image_shape
        sizes = [tuple(size)]
        for _ in range(3):
            sizes.append((shrunk(sizes[-1][0]), shrunk(sizes[-1][1])))
        self.start = (num_filters, *sizes[-1])
        self.expand = nn.Linear(code_size, math.prod(self.start))
        init_relu(self.expand)
        blocks: list[nn.Module] = []
        for level in (2, 1, 0):
            small, large = sizes[level + 1], sizes[level]
            extra = (large[0] - 2 * small[0], large[1] - 2 * small[1])
            blocks.append(ResidualBlock(num_filters))
            if level == 0:
                blocks.append(ToPixels(num_filters, channels, extra))
            else:
                up = nn.ConvTranspose2d(
                    num_filters, num_filters, 4, stride=2, padding=1, output_padding=extra
                )
                init_relu(up)
                blocks += [up, nn.ReLU()]
        self.blocks = Convolutions(*blocks)

    def forward(self, codes: Tensor) -> Tensor:
        return self.blocks(torch.relu(self.expand(codes)).reshape(-1, *self.start))

    @property
    def ups(self) -> list[nn.ConvTranspose2d]:
        """The layers that enlarge, the one that draws pixels last."""
        return [layer for layer in self.blocks if isinstance(layer, nn.ConvTranspose2d)]


def mlp(num_inputs: int, num_hidden: int, num_outputs: int) -> nn.Sequential:
    """Two layers with a ReLU between (appendix C)."""
    first, second = nn.Linear(num_inputs, num_hidden), nn.Linear(num_hidden, num_outputs)
    init_relu(first)
    return nn.Sequential(first, nn.ReLU(), second)


def init_relu(layer: nn.Linear | nn.Conv2d | nn.ConvTranspose2d) -> None:
    """He's initialisation: the signal keeps its size through a ReLU."""
    nn.init.normal_(layer.weight, std=math.sqrt(2 / fan_in(layer)))
    nn.init.zeros_(_bias(layer))


def fan_in(layer: nn.Linear | nn.Conv2d | nn.ConvTranspose2d) -> int:
    """How many numbers each output of a layer is a sum of."""
    if isinstance(layer, nn.ConvTranspose2d):  # each output pixel sees (4 / stride)^2 taps
        return layer.weight.shape[0] * 4
    return layer.weight[0].numel()


def _bias(layer: nn.Module) -> Tensor:
    bias = layer.bias
    assert isinstance(bias, Tensor)
    return bias
