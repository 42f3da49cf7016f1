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
        self.register_buffer("gate", torch.tensor([10.0, 0.0, 0.0]))
        """Weights of 1, the log-variance that the memory predicts, and KL( q(y|x) || p(y) )."""

    def posterior(self, message: Gaussian) -> CodePosterior:
        """q(z|x): the product of p(z) and what x says about z (..., T, C)."""
        mean = self.mean.expand_as(message.mean)
        prior = CodePrior(mean, self.log_var.exp(), mean[..., :0])
        return product_posterior(prior, message)

    def written_share(self, code_var: Tensor, kl_address: Tensor) -> Tensor:
        """The probability (..., T) that the reader gives to "this image is in the memory".

        It depends on q(y|x) and on the memory, not on samples, so that the bound stays a bound.

        Args:
            code_var: w' U w + sigma^2 at the mean address code, (..., T).
            kl_address: KL( q(y|x) || p(y) ), (..., T).

        """
        return torch.sigmoid(
            self.gate[0] + self.gate[1] * code_var.log() + self.gate[2] * kl_address
        )

    def mix(self, written: ItemBounds, novel: ItemBounds, share: Tensor) -> ItemBounds:
        """The terms of the mixture's bound, (..., T): those of both cases and the gate's KL."""
        reconstruction = torch.lerp(novel.reconstruction, written.reconstruction, share)
        kl_code = torch.lerp(novel.kl_code, written.kl_code, share)
        gate_kl = torch.xlogy(share, share / (1 - self.share)) + torch.xlogy(
            1 - share, (1 - share) / self.share
        )
        return ItemBounds(reconstruction, share * written.kl_address, kl_code + gate_kl)


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
