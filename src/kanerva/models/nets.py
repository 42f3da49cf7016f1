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

    Only this part: what addresses the memory must not be rounded to three digits.
    """

    half: bool = False

    def forward(self, x: Tensor) -> Tensor:
        if x.is_cuda:
            x = x.contiguous(memory_format=torch.channels_last)
        with torch.autocast(x.device.type, dtype=torch.bfloat16, enabled=self.half):
            return super().forward(x).to(x.dtype)


def shrunk(size: int) -> int:
    """Height or width after a 4 x 4 convolution of stride 2 with a border of 1."""
    return (size - 2) // 2 + 1


class Encoder(nn.Module):
    """Images (N, channels, H, W) to embeddings e(x) (N, 2C)."""

    def __init__(self, image_shape: tuple[int, int, int], num_filters: int, code_size: int) -> None:
        super().__init__()
        channels, height, width = image_shape
        blocks: list[nn.Module] = []
        for _ in range(3):
            down = nn.Conv2d(channels, num_filters, 4, stride=2, padding=1)
            init_relu(down)
            blocks += [down, nn.ReLU(), ResidualBlock(num_filters)]
            channels, height, width = num_filters, shrunk(height), shrunk(width)
        self.blocks = Convolutions(*blocks)
        self.project = nn.Linear(channels * height * width, 2 * code_size)

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
            out = num_filters if level else channels
            up = nn.ConvTranspose2d(
                num_filters,
                out,
                4,
                stride=2,
                padding=1,
                output_padding=(large[0] - 2 * small[0], large[1] - 2 * small[1]),
            )
            blocks += [ResidualBlock(num_filters), up]
            if level:
                init_relu(up)
                blocks.append(nn.ReLU())
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
    fan_in = layer.weight[0].numel()
    if isinstance(layer, nn.ConvTranspose2d):  # each output pixel sees (4 / stride)^2 taps
        fan_in = layer.weight.shape[0] * 4
    nn.init.normal_(layer.weight, std=math.sqrt(2 / fan_in))
    nn.init.zeros_(_bias(layer))


def _bias(layer: nn.Module) -> Tensor:
    bias = layer.bias
    assert isinstance(bias, Tensor)
    return bias
