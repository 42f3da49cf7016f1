"""Evidence: what an episode says about the memory, as statistics that can be added.

Shapes: T items, K rows, C code size; leading dimensions are free and broadcast.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from kanerva import linalg
from kanerva.checks import check_integer
from kanerva.errors import KanervaError
from kanerva.memory.episode import checked_episode
from kanerva.memory.state import MemoryState, check_memory
from kanerva.memory.tensor_checks import (
    broadcast_batches,
    check_float_tensor,
    check_same_dtype_and_device,
    check_size,
    check_square,
)
from kanerva.memory.value_checks import (
    check_finite,
)
from kanerva.memory.write import (
    SufficientStatistics,
    posterior_from_statistics,
    sufficient_statistics,
)

ROUNDING_TOLERANCE = 1e-6
"""How far below zero the remainder of a subtraction may be, relative to the largest entry. Weights
that a network computes again in float32 differ this much from those that were written."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What written items say about the memory, as sufficient statistics that can be added.

    Bayes' rule multiplies likelihoods, so their exponents add. `+` merges: evidence collected in
    several places gives the memory that one writer would have made. `-` forgets exactly: it leaves
    the memory that would be there if those items had never been written. The posterior is the one
    of section 3.3; adding and subtracting evidence goes beyond the paper. Make evidence with
    `Evidence.of`. The statistics are float64; a posterior has the dtype of its prior.

    Args:
        gram: W' W / sigma^2, (..., K, K).
        cross: W' Z / sigma^2, (..., K, C).
        count: the number of items in each memory of the batch.
        largest_entry: the largest entry that this evidence ever had, which sets the scale of
            rounding errors. Leave it out; `+` and `-` pass on that of their left side.

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
        >>> sum([first, last]).count
        3

    """

    gram: Tensor
    """W' W / sigma^2, (..., K, K)."""
    cross: Tensor
    """W' Z / sigma^2, (..., K, C)."""
    count: int
    """The number of items in each memory of the batch."""
    largest_entry: Tensor | None = None
    """The largest entry that this evidence ever had: rounding errors are relative to it."""

    def __post_init__(self) -> None:
        check_float_tensor("gram", self.gram, "(..., K, K)", min_dims=2)
        check_float_tensor("cross", self.cross, "(..., K, C)", min_dims=2)
        check_square("gram", self.gram)
        check_size("cross", self.cross, -2, self.num_rows, "the K rows of gram")
        check_same_dtype_and_device(gram=self.gram, cross=self.cross)
        broadcast_batches(gram=self.gram.shape[:-2], cross=self.cross.shape[:-2])
        check_finite("gram", self.gram)
        check_finite("cross", self.cross)
        check_integer(
            "count",
            self.count,
            at_least=0,
            fix="Make the evidence with Evidence.of(weights, codes), which counts the items.",
        )
        largest = [part.detach().abs().amax() for part in (self.gram, self.cross) if part.numel()]
        if self.largest_entry is not None:
            largest.append(self.largest_entry)
        if largest:
            object.__setattr__(self, "largest_entry", torch.stack(largest).amax())

    @classmethod
    def of(
        cls,
        weights: Tensor,
        codes: Tensor,
        *,
        noise_var: float | Tensor = 1.0,
        code_var: Tensor | float | None = None,
    ) -> "Evidence":
        """The evidence of an episode; the arguments are those of `condition`.

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
        return cls(*sufficient_statistics(episode), count=episode.num_items)

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
        self._check_same_sizes(other)
        return Evidence(
            self.gram + other.gram,
            self.cross + other.cross,
            self.count + other.count,
            self.largest_entry,
        )

    def __radd__(self, other: object) -> "Evidence":
        """Add to 0, so that `sum` works on a list of evidence.

        Args:
            other: the number 0, from which `sum` starts.

        Returns:
            This evidence.

        """
        return self if other == 0 else NotImplemented

    def __sub__(self, other: "Evidence") -> "Evidence":
        """Forget: the evidence of the items that are here and not in `other`.

        Args:
            other: evidence of items that were added before, of the same sizes, dtype and device.

        Returns:
            The evidence of the remaining items.

        Raises:
            KanervaError: `other` holds items that were never added here.

        """
        if not isinstance(other, Evidence):
            return NotImplemented
        self._check_same_sizes(other)
        count = self.count - other.count
        gram, cross = self.gram - other.gram, self.cross - other.cross
        if count < 0:
            raise _not_written_error(f"{other.count} items to forget, of {self.count} written")
        if not linalg.is_capturing_graph(gram):
            self._check_remainder(gram, cross, count)
        if count == 0:
            gram, cross = torch.zeros_like(gram), torch.zeros_like(cross)
        return Evidence(gram, cross, count, self.largest_entry)

    def posterior(self, prior: MemoryState) -> MemoryState:
        """The memory after writing these items into `prior`: the same as `condition` gives.

        Where `code_var` was (..., T, C), the columns share their noise variances, as by default in
        `condition`, even if the prior is `per_column`.

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
        K, C = prior.num_rows, prior.code_size
        fix = (
            "Make the evidence from weights and codes that fit this memory, or pass another prior."
        )
        check_size("evidence", self.gram, -1, K, "the memory's rows K", fix=fix)
        check_size("evidence", self.cross, -1, C, "the memory's code size C", fix=fix)
        batch = broadcast_batches(memory=prior.batch_shape, evidence=self.cross.shape[:-2])
        if self.gram.device != prior.device:
            raise KanervaError(
                "evidence",
                expected=f"device {prior.device} like the memory",
                got=str(self.gram.device),
                fix="Move the memory: prior.to(evidence.gram.device).",
            )
        gram, cross = linalg.to_float64(self.gram), linalg.to_float64(self.cross)
        if prior.per_column:
            columns = SufficientStatistics(gram.unsqueeze(-3), cross.mT.unsqueeze(-1))
            return posterior_from_statistics(prior._split_columns(), columns)._join_columns()
        if self.count == 0:
            return prior._expand_batch(batch)
        return posterior_from_statistics(prior, SufficientStatistics(gram, cross))

    def _check_same_sizes(self, other: "Evidence") -> None:
        K, C = self.num_rows, self.code_size
        fix = "Add and subtract evidence for one memory only: the same rows K and code size C."
        check_size("evidence", other.gram, -1, K, "K of the evidence on the left", fix=fix)
        check_size("evidence", other.cross, -1, C, "C of the evidence on the left", fix=fix)
        fix = "Make both with Evidence.of, from weights and codes on one device."
        check_same_dtype_and_device(left=self.gram, right=other.gram, fix=fix)
        broadcast_batches(left=self.cross.shape[:-2], right=other.cross.shape[:-2])

    def _check_remainder(self, gram: Tensor, cross: Tensor, count: int) -> None:
        """Check that the remainder can be the evidence of `count` items: not negative, 0 for 0."""
        if self.largest_entry is None:
            return  # an empty batch
        slack = ROUNDING_TOLERANCE * self.num_rows * self.largest_entry.item()
        lowest = linalg.smallest_eigenvalue(gram.detach()).min().item()
        if lowest < -slack:
            raise _not_written_error(f"a remainder with a negative eigenvalue, {lowest:.3g}")
        left = max(gram.abs().max().item(), cross.abs().max().item())
        if count == 0 and left > slack:
            raise _not_written_error(f"no items left, but evidence of up to {left:.3g}")


def _not_written_error(got: str) -> KanervaError:
    return KanervaError(
        "evidence",
        expected="to forget only items that were written here",
        got=got,
        fix="Subtract exactly the evidence that was added: the same weights, codes and noise.",
    )
