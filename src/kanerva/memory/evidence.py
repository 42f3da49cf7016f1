"""Evidence: what an episode says about the memory, as statistics that can be added.

Shapes: T items, K rows, C code size; leading dimensions are free and broadcast.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from kanerva.memory.episode import checked_episode
from kanerva.memory.state import MemoryState, check_memory
from kanerva.memory.statistics import (
    LargestEntries,
    check_remainder,
    check_sums,
    checked_statistics,
    combined,
    finite_or_none,
    largest_entries,
)
from kanerva.memory.tensor_checks import (
    broadcast_batches,
    check_gradients,
    check_same_device,
    check_size,
    checked_device,
)
from kanerva.memory.value_checks import check_result
from kanerva.memory.write import (
    SufficientStatistics,
    posterior_from_statistics,
    sufficient_statistics,
    sum_of_squares,
)


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """What written items say about the memory: sums such as W' W and W' Z, which can be added.

    Bayes' rule multiplies likelihoods, so their exponents add. `+` merges: evidence collected in
    several places gives the memory that one writer would have made. `-` forgets exactly: it leaves
    the memory that would be there if those items had never been written. The posterior is the one
    of section 3.3; adding and subtracting evidence goes beyond the paper. Make evidence with
    `Evidence.of`. The statistics are float64; a posterior has the dtype of its prior.

    Args:
        gram: W' W / sigma^2, (..., K, K). This and the others are copied, in float64. Do not change
            the attributes of evidence in place.
        cross: W' Z / sigma^2, (..., K, C).
        count: the number of items in each memory of the batch.
        squares: the sum of |z|^2 / sigma^2 over the items, (...). The posterior does not need it;
            with it, `-` notices more mistakes.
        largest: the largest entries that this evidence ever had, which set the scale of rounding
            errors. Leave it out; `+` and `-` pass on the larger ones of both sides.

    Raises:
        KanervaError: shapes, dtypes or devices do not fit, a number is not finite, or no items can
            have these statistics. Without `squares`, any `cross` is taken as possible: codes could
            be as long as it needs.

    Example:
        >>> import torch
        >>> from kanerva import Evidence, MemoryState, condition
        >>> prior = MemoryState(torch.zeros(4, 2), torch.eye(4))
        >>> weights, codes = torch.eye(4)[:3], torch.ones(3, 2)
        >>> first, last = Evidence.of(weights[:2], codes[:2]), Evidence.of(weights[2:], codes[2:])
        >>> merged = (first + last).posterior(prior)
        >>> torch.allclose(merged.mean, condition(prior, weights, codes).mean)
        True
        >>> without_last = (first + last - last).posterior(prior)
        >>> torch.allclose(without_last.mean, condition(prior, weights[:2], codes[:2]).mean)
        True
        >>> sum([first, last])
        Evidence(count=3, num_rows=4, code_size=2, torch.float64, cpu)

    """

    gram: Tensor
    """W' W / sigma^2, (..., K, K)."""
    cross: Tensor
    """W' Z / sigma^2, (..., K, C)."""
    count: int
    """The number of items in each memory of the batch."""
    squares: Tensor | None = field(default=None, kw_only=True)
    """The sum of |z|^2 / sigma^2 over the items, (...), without a gradient; None if unknown."""
    largest: LargestEntries | None = field(default=None, kw_only=True)
    """The largest entries that this evidence ever had: rounding errors are relative to them."""

    def __post_init__(self) -> None:
        statistics = (self.gram, self.cross, self.squares, self.count, self.largest)
        vars(self).update(checked_statistics(*statistics)._asdict())

    @classmethod
    def _unchecked(
        cls,
        count: int,
        gram: Tensor,
        cross: Tensor,
        squares: Tensor | None,
        history: LargestEntries | None = None,
    ) -> "Evidence":
        """Evidence from statistics that were computed here; only overflow is checked."""
        largest = largest_entries(gram, cross, squares).or_larger(history)
        evidence = cls.__new__(cls)
        vars(evidence).update(gram=gram, cross=cross, count=count, squares=squares, largest=largest)
        return evidence

    @classmethod
    def of(
        cls,
        weights: Tensor,
        codes: Tensor,
        *,
        noise_var: float | Tensor = 1.0,
        code_var: Tensor | float | None = None,
    ) -> "Evidence":
        """The evidence of an episode: weights, codes and variances as in `condition`, but no prior.

        Args:
            weights: W, (..., T, K).
            codes: Z, (..., T, C).
            noise_var: sigma^2, the variance of the noise on each code.
            code_var: how uncertain the codes are: None, a number, (..., T) or (..., T, C). With
                (..., T, C) the columns share one covariance, as by default in `condition`.

        Returns:
            The evidence of all T items.

        Raises:
            KanervaError: shapes, dtypes or devices do not fit, or a number is not finite.

        Example:
            >>> import torch
            >>> from kanerva import Evidence
            >>> Evidence.of(torch.tensor([[2.0]]), torch.tensor([[3.0]]), noise_var=1.0).cross
            tensor([[6.]], dtype=torch.float64)

        """
        episode = checked_episode(weights, codes, noise_var, code_var)
        gram, cross = sufficient_statistics(episode)
        check_sums(gram, cross)
        squares = finite_or_none(sum_of_squares(episode))
        return cls._unchecked(episode.num_items, gram, cross, squares)

    @property
    def num_rows(self) -> int:
        """The number of rows K."""
        return self.gram.shape[-1]

    @property
    def code_size(self) -> int:
        """The code size C."""
        return self.cross.shape[-1]

    def __add__(self, other: "Evidence") -> "Evidence":
        """Merge: the evidence of the items of both.

        Args:
            other: evidence of the same sizes, dtype and device.

        Returns:
            The evidence of all items.

        """
        if not isinstance(other, Evidence):
            return NotImplemented
        return Evidence._unchecked(self.count + other.count, *combined(self, other, torch.add))

    def __radd__(self, other: object) -> "Evidence":
        """Add to 0, so that `sum` works on a list of evidence.

        Args:
            other: the number 0, from which `sum` starts.

        Returns:
            This evidence.

        """
        return self if type(other) is int and other == 0 else NotImplemented

    def __sub__(self, other: "Evidence") -> "Evidence":
        """Forget: the evidence of the items that are here and not in `other`.

        A sum does not say of which items it was made, so this trusts you, but refuses a remainder
        that no items can have. With G = W' W / sigma^2, H = W' Z / sigma^2 and s = `squares`, all
        of the remainder, it refuses:

        - fewer than no items, or no items with evidence left;
        - a G that is not positive semi-definite;
        - an H that needs longer codes than s says there are: tr H' G^-1 H > s;
        - a G with more than 1e-4 rounding errors, as after an item with a noise of 1e-14.

        The first three have a tolerance of 1e-6 of the largest entry, because a network that
        computes weights and codes again in float32 does not repeat every bit. A mistake is noticed
        if fewer than K items remain, unless it is very small. With more items, wrong remainders
        look like right ones. Of 100 wrong subtractions from T items (K = 64, C = 20) are refused:

            T                                  10 to 64    70    80   100   128   150   200 to 1000
            an item that was never written          100   100   100   100    55    10             0
            the same item a second time             100   100   100    96    51    12             0
            other codes for written weights         100    98     8     0     0     0             0

        For a guarantee, keep a record of what was written, and subtract only what is in it.

        Args:
            other: evidence of items that were added before, of the same sizes, dtype and device.

        Returns:
            The evidence of the remaining items.

        Raises:
            KanervaError: no items can have the remainder, or it is lost in rounding errors.

        """
        if not isinstance(other, Evidence):
            return NotImplemented
        count = self.count - other.count
        gram, cross, squares, history = combined(self, other, torch.sub)
        check_remainder(gram, cross, squares, count, history)
        if count > 0:
            return Evidence._unchecked(count, gram, cross, squares, history)
        nothing = None if squares is None else torch.zeros_like(squares)
        return Evidence._unchecked(0, torch.zeros_like(gram), torch.zeros_like(cross), nothing)

    def to(self, device: str | torch.device) -> "Evidence":
        """The same evidence on another device.

        Args:
            device: where to put it.

        Returns:
            New evidence. It stays float64; a posterior has the dtype of its prior.

        Raises:
            KanervaError: there is no such device here, or `device` is a dtype.

        Example:
            >>> import torch
            >>> from kanerva import Evidence
            >>> Evidence.of(torch.eye(2), torch.ones(2, 1)).to("cpu").gram.device
            device(type='cpu')

        """
        target = checked_device("device", device)
        assert self.largest is not None
        return Evidence._unchecked(
            self.count,
            self.gram.to(target),
            self.cross.to(target),
            None if self.squares is None else self.squares.to(target),
            LargestEntries(*(part.to(target) for part in self.largest)),
        )

    def posterior(self, prior: MemoryState) -> MemoryState:
        """The memory after writing these items into `prior`: the same as `condition` gives.

        Columns share their noise variances, as by default in `condition`.

        Args:
            prior: the memory to write into, of the same K, C and device.

        Returns:
            The posterior, with the dtype and the kind of covariance of `prior`.

        Raises:
            KanervaError: sizes, batches or devices do not fit.

        Example:
            >>> import torch
            >>> from kanerva import Evidence, MemoryState
            >>> prior = MemoryState(torch.zeros(2, 1), torch.eye(2))
            >>> Evidence.of(torch.eye(2)[:1], torch.tensor([[4.0]])).posterior(prior).mean
            tensor([[2.],
                    [0.]])

        """
        check_memory("prior", prior)
        fix = "Make evidence of weights and codes that fit this memory, or pass another prior."
        check_size("evidence", self.gram, -1, prior.num_rows, "the memory's rows K", fix=fix)
        check_size("evidence", self.cross, -1, prior.code_size, "the memory's C", fix=fix)
        evidence = broadcast_batches(gram=self.gram.shape[:-2], cross=self.cross.shape[:-2])
        batch = broadcast_batches(memory=prior.batch_shape, evidence=evidence)
        check_same_device(memory=prior, evidence=self.gram)
        check_gradients(memory=prior._tensors, evidence=[self.gram, self.cross])
        gram, cross = self.gram, self.cross
        if prior.per_column:
            parts = SufficientStatistics(gram.unsqueeze(-3), cross.mT.unsqueeze(-1))
            posterior = posterior_from_statistics(prior._split_columns(), parts)._join_columns()
        elif self.count:
            posterior = posterior_from_statistics(prior, SufficientStatistics(gram, cross))
        else:
            return prior._expand_batch(batch)
        check_result(*posterior._tensors, of="evidence, prior")
        return posterior

    def __repr__(self) -> str:
        sizes = f"count={self.count}, num_rows={self.num_rows}, code_size={self.code_size}"
        return f"Evidence({sizes}, {self.gram.dtype}, {self.gram.device})"
