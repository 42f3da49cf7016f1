"""Evidence: what an episode says about the memory, as statistics that add up."""

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
    check_finite,
    check_float_tensor,
    check_same_dtype_and_device,
    check_size,
    check_square,
)
from kanerva.memory.write import (
    SufficientStatistics,
    posterior_from_statistics,
    sufficient_statistics,
)

ROUNDING_TOLERANCE = 1e-6
"""How far below zero, relative to the whole, what is left may fall. Weights that a network computed
again in float32 differ by that much from those that were written."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Sufficient statistics of written items. Merging is `+`, exact forgetting is `-`.

    Bayes' rule multiplies likelihoods, so their exponents add: shards written apart merge into the
    memory that one writer would have made, and subtracting an item's evidence leaves the memory
    that never saw it. The statistics are float64; a posterior speaks the dtype of its prior.
    """

    gram: Tensor
    """W' W / noise, (..., K, K)."""
    cross: Tensor
    """W' Z / noise, (..., K, C)."""
    count: int
    """Items in each memory of the batch."""
    largest_entry: Tensor | None = None
    """Largest entry that passed through here: rounding is relative to it, not to what is left."""

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
        """The evidence of an episode: weights (..., T, K), codes (..., T, C), as in `condition`."""
        episode = checked_episode(weights, codes, noise_var, code_var)
        return cls(*sufficient_statistics(episode), count=episode.num_items)

    @property
    def num_rows(self) -> int:
        """K."""
        return self.gram.shape[-1]

    @property
    def code_size(self) -> int:
        """C."""
        return self.cross.shape[-1]

    def __add__(self, other: "Evidence") -> "Evidence":
        """Merge: the evidence of both."""
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
        """Let `sum(shards)` work, which starts from 0."""
        return self if other == 0 else NotImplemented

    def __sub__(self, other: "Evidence") -> "Evidence":
        """Forget: the evidence of what was written here and is not in `other`."""
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
        """The memory after these items: equal to `condition` on them.

        Where `code_var` was given for each dimension, the covariance is the shared one of
        `condition`'s default, whatever the prior has.
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
        """What is left is the evidence of `count` items: no direction has less than none."""
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
