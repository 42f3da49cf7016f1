"""The variational bound of eq:vlb, in one place, in nats per item."""

from typing import NamedTuple

from torch import Tensor

from kanerva.errors import KanervaError


class Bound(NamedTuple):
    """The terms of the negative bound in nats per item, and KL(M) / T, which is not part of it.

    Each term is (B,): the mean over the T items of an episode. Lower is better. A
    VAE has no address code, so its `kl_address` is zero. This is a plain tuple of results: terms
    that are put into it by hand are not checked.

    Example:
        >>> import torch
        >>> from kanerva import Bound
        >>> one = torch.ones(2)
        >>> bound = Bound(10 * one, 3 * one, 2 * one, None)
        >>> bound.total
        tensor([15., 15.])
        >>> bound.weighted(0.1)
        tensor([10.5000, 10.5000])

    """

    reconstruction: Tensor
    """-E ln p(x|z)."""
    kl_address: Tensor
    """KL( q(y|x) || p(y) )."""
    kl_code: Tensor
    """KL( q(z|x, y, M) || p(z|y, M) )."""
    memory_kl_per_item: Tensor | None
    """KL( q(M|X) || p(M) ) / T: what the memory itself cost. It is not part of the bound (eq:J).
    None while training, and for a memory that is not a distribution."""
    extra_loss: Tensor | None = None
    """What training minimises besides the bound, (B,); None where there is nothing. It is not part
    of the bound."""

    @property
    def total(self) -> Tensor:
        """-L / T of eq:vlb, (B,): the number that the paper reports."""
        return self.reconstruction + self.kl_address + self.kl_code

    def weighted(self, kl_weight: Tensor | float) -> Tensor:
        """The loss of each episode, (B,): the bound with weighted KL terms, plus any `extra_loss`.

        Args:
            kl_weight: a number, below 1 while training starts.

        Returns:
            The loss of each episode, (B,).

        Raises:
            KanervaError: `kl_weight` is not a number.

        """
        if not isinstance(kl_weight, Tensor | float | int):
            raise KanervaError(
                "kl_weight",
                expected="a number, or a tensor of no dimensions",
                got=repr(kl_weight),
                fix="Pass 1.0 for the bound itself.",
            )
        loss = self.reconstruction + kl_weight * (self.kl_address + self.kl_code)
        return loss if self.extra_loss is None else loss + self.extra_loss


class ItemBounds(NamedTuple):
    """The negative bound of each item as named terms, each (B, T).

    Where items come one by one and item t is predicted from the items before it, the sum over t is
    a bound on the whole episode, in which the memory is paid for.
    """

    reconstruction: Tensor
    """-E ln p(x|z)."""
    kl_address: Tensor
    """KL( q(y|x) || p(y|M) )."""
    kl_code: Tensor
    """KL( q(z|x, y, M) || p(z|y, M) )."""

    @property
    def total(self) -> Tensor:
        """The nats that each item costs, (B, T)."""
        return self.reconstruction + self.kl_address + self.kl_code


def mean_over_items(
    items: ItemBounds, memory_kl: Tensor | None, extra: Tensor | None = None
) -> Bound:
    """The bound from the terms of each item, the memory's KL (B,) and a training loss (B,)."""
    return Bound(
        items.reconstruction.mean(-1),
        items.kl_address.mean(-1),
        items.kl_code.mean(-1),
        None if memory_kl is None else memory_kl / items.kl_code.shape[-1],
        extra,
    )
