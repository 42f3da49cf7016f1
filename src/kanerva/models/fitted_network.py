"""A small network that is fitted after training, and is a constant of the model from then on."""

import torch
from torch import Tensor, nn


class FittedNetwork(nn.Module):
    """One hidden layer over a few numbers, which are brought to the same scale first."""

    centre: Tensor
    scale: Tensor
    first: Tensor
    first_bias: Tensor
    last: Tensor
    is_fitted: Tensor

    def __init__(self, num_inputs: int, *, num_hidden: int) -> None:
        super().__init__()
        self.register_buffer("centre", torch.zeros(num_inputs))
        self.register_buffer("scale", torch.ones(num_inputs))
        self.register_buffer("first", torch.zeros(num_hidden, num_inputs))
        self.register_buffer("first_bias", torch.zeros(num_hidden))
        self.register_buffer("last", torch.zeros(num_hidden + 1))
        self.register_buffer("is_fitted", torch.zeros(()))

    def logits(self, inputs: Tensor) -> Tensor:
        """One number (...) for inputs (..., num_inputs)."""
        scaled = ((inputs - self.centre) / self.scale).clamp(-5, 5)
        hidden = torch.tanh(scaled @ self.first.mT + self.first_bias)
        return hidden @ self.last[:-1] + self.last[-1]
