"""Images that were never written: a prior of their codes without memory and address.

p(x|M) = (1 - novel_share) p(x | in the memory) + novel_share p(x | novel). A gate says which of the
two explains an image. With it the bound of an overfull memory is close to that of a VAE.

Shapes: T items, C code size; leading dimensions are free.
"""

import math

import torch
from torch import Tensor, nn

from kanerva.distributions.gaussian import Gaussian
from kanerva.models.bound import ItemBounds
from kanerva.models.codes import CodePosterior, CodePrior

CODE_VAR = 16.0
"""Variance of codes before training."""
OPEN_GATE = (10.0, 0.0)
"""A gate that takes each image for one that was written."""
SMALLEST_MISFIT = 1e-6
NOVEL_WEIGHT = 1.0
"""Weight of the bound of novel images next to that of the memory, while training."""


class NovelCodes(nn.Module):
    """p(z) of an image that was never written, and the gate that tells such images."""

    gate: Tensor

    def __init__(self, *, code_size: int, share: float) -> None:
        super().__init__()
        self.share = share
        self.mean = nn.Parameter(torch.zeros(code_size))
        self.log_var = nn.Parameter(torch.full((code_size,), math.log(CODE_VAR)))
        self.register_buffer("gate", torch.tensor(OPEN_GATE))
        """Weights of 1 and of the misfit. They are fitted after training."""
        self.register_load_state_dict_pre_hook(_without_old_gate)

    def posterior(self, message: Gaussian) -> CodePosterior:
        """q(z|x): the product of p(z) and what x says about z (..., T, C)."""
        mean = self.mean.expand_as(message.mean)
        prior = CodePrior(mean, self.log_var.exp(), mean[..., :0])
        return product_posterior(prior, message)

    def written_share(self, misfit: Tensor) -> Tensor:
        """The probability (..., T) that the reader gives to "this image is in the memory".

        It depends on the image and on the memory, not on samples, so that the bound stays a bound.

        Args:
            misfit: what `misfit` says of a reading at the mean of q(y|x), (..., T).

        """
        return torch.sigmoid(self.gate[0] + self.gate[1] * misfit)

    def mix(self, written: ItemBounds, novel: ItemBounds, share: Tensor) -> ItemBounds:
        """The terms of the mixture's bound, (..., T): those of both cases and the gate's KL."""
        reconstruction = torch.lerp(novel.reconstruction, written.reconstruction, share)
        kl_code = torch.lerp(novel.kl_code, written.kl_code, share)
        gate_kl = torch.xlogy(share, share / (1 - self.share)) + torch.xlogy(
            1 - share, (1 - share) / self.share
        )
        return ItemBounds(reconstruction, share * written.kl_address, kl_code + gate_kl)


def misfit(prior: CodePrior, message: Gaussian) -> Tensor:
    """How far the code that an image says is from the one that was read, (..., T).

    The logarithm of the mean squared distance, relative to the variance of both. A memory that
    holds the image says the same as the image. An overfull one does not, however sure it is.
    """
    distance = (message.mean - prior.mean).square()
    relative = distance / (prior.log_var.exp() + message.log_var.exp())
    return relative.mean(-1).clamp_min(SMALLEST_MISFIT).log()


def _without_old_gate(module: nn.Module, state: dict[str, Tensor], prefix: str, *_: object) -> None:
    """Replace the gate of an older checkpoint, which saw other numbers, by an open one."""
    key = f"{prefix}gate"
    if key in state and len(state[key]) != len(OPEN_GATE):
        state[key] = torch.tensor(OPEN_GATE).to(state[key])


def product_posterior(prior: CodePrior, message: Gaussian) -> CodePosterior:
    """q(z|x, y, M), proportional to p(z|y, M) N(z; message): precisions add.

    The memory counts where it is sure, and the image where the memory is not.
    """
    var = prior.var
    if not isinstance(var, Tensor):
        var = torch.full_like(prior.mean[..., :1], var)
    message_var = message.log_var.exp()
    total = var + message_var
    shift = (message.mean - prior.mean) * (var / total)
    return CodePosterior(prior, shift, var.log() + message.log_var - total.log())
