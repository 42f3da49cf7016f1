"""The variational bound of eq:vlb, in one place, in nats per item."""

from typing import NamedTuple

from torch import Tensor


class Bound(NamedTuple):
    """Named terms of the negative bound, each (B,): per episode, averaged over its T items.

    Lower is better. A VAE has no addresses: `kl_address` is zero there.
    """

    reconstruction: Tensor
    """-E ln p(x|z)."""
    kl_address: Tensor
    """KL( q(y|x) || p(y) )."""
    kl_code: Tensor
    """KL( q(z|x, y, M) || p(z|y, M) )."""
    memory_kl_per_item: Tensor
    """KL( q(M|X) || p(M) ) / T: what the memory itself cost. Not part of the bound (eq:J)."""

    @property
    def total(self) -> Tensor:
        """-L / T of eq:vlb: the number the paper reports."""
        return self.reconstruction + self.kl_address + self.kl_code

    def weighted(self, kl_weight: Tensor | float) -> Tensor:
        """The training loss: the bound, with the KL terms eased in while training starts."""
        return self.reconstruction + kl_weight * (self.kl_address + self.kl_code)


def per_item(
    log_likelihood: Tensor, kl_address: Tensor, kl_code: Tensor, memory_kl: Tensor
) -> Bound:
    """Terms of each item (B, T), and the memory's KL (B,), as a bound."""
    return Bound(
        -log_likelihood.mean(-1),
        kl_address.mean(-1),
        kl_code.mean(-1),
        memory_kl / log_likelihood.shape[-1],
    )
