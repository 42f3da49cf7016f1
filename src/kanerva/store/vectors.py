"""Memories of vectors, without training: random features as addresses.

Shapes: T items, D size of a vector, K rows of a block, C code size.
"""

import math
from collections.abc import Callable
from dataclasses import asdict

import numpy as np
import torch

from kanerva.errors import KanervaError
from kanerva.memory import MemoryState
from kanerva.store.arrays import check_directions, check_range, checked_vectors, unit_length
from kanerva.store.exact_sums import Floats
from kanerva.store.item_coder import Answer, Block, EncodedItems, ItemCoder, Items
from kanerva.store.plan import VectorPlan
from kanerva.store.presence import Presence
from kanerva.store.random_features import RandomFeatures


class VectorCoder(ItemCoder):
    """Vectors, or keys with values. What is stored is the vector, or key and value in one code."""

    kind = "vectors"

    def __init__(self, plan: VectorPlan) -> None:
        self.plan = plan
        self.num_rows, self.code_size = plan.num_rows, plan.code_size
        self.num_blocks, self.noise_var, self.grid = plan.num_blocks, plan.noise_var, plan.grid
        self.fingerprint = plan.fingerprint
        K = plan.num_rows
        zeros = torch.zeros(K, plan.code_size, dtype=torch.float64)
        self.prior = MemoryState(zeros, torch.eye(K, dtype=torch.float64))
        self.features = RandomFeatures(plan.size, K, plan.num_blocks, plan.scale, plan.seed)
        self.linear_part = self.features.linear_part()
        self.centre = np.zeros(plan.size) if plan.centre is None else np.array(plan.centre)
        # Of a key only the direction is stored, so nothing can be added to it again.
        self.code_centre = torch.from_numpy(
            np.zeros(plan.code_size) if plan.value_size else self.centre
        )

    def describe(self) -> dict[str, object]:
        return {"plan": asdict(self.plan)}

    def check(self, items: Items, values: Items | None, *, first: int = 0) -> None:
        self._checked(items, values, first=first)

    def _checked(
        self, items: Items, values: Items | None, *, first: int
    ) -> tuple[Floats, Floats | None]:
        """Vectors without their centre, and values."""
        size, value_size = self.plan.size, self.plan.value_size
        vectors = checked_vectors("vectors", items, size, first=first) - self.centre
        step = 0.0 if value_size else math.ldexp(1, self.plan.code_exponent)
        check_directions("vectors", vectors, step, first=first)
        if not value_size:
            if values is not None:
                raise KanervaError(
                    "values",
                    expected="none: this memory stores vectors by themselves",
                    got="some",
                    fix="Create a memory of keys and values: plan_vectors(..., value_size=...).",
                )
            check_range("vectors", vectors, self.grid.largest_code, first=first)
            return vectors, None
        if values is None:
            raise _values_error(value_size, "none")
        given = checked_vectors("values", values, value_size, first=first)
        if len(given) != len(vectors):
            raise _values_error(value_size, f"{len(given)} for {len(vectors)} keys")
        check_range("values", given, self.grid.largest_code, first=first)
        return vectors, given

    def encode(self, items: Items, values: Items | None, *, first: int = 0) -> EncodedItems:
        vectors, given = self._checked(items, values, first=first)
        directions = unit_length(vectors)
        # The direction of a key is enough, and its length then says nothing about values.
        codes = vectors if given is None else np.concatenate([directions, given], 1)
        return EncodedItems(
            self.features.blocks(directions)[:, 0], self.features.weights(directions), codes
        )

    def without_values(self, items: Items) -> EncodedItems:
        if not self.plan.value_size:
            return self.encode(items, None)
        keys = checked_vectors("vectors", items, self.plan.size)
        return self.encode(keys, np.zeros((len(keys), self.plan.value_size)))

    def read(
        self, cues: Items, block: Callable[[int], Block], *, num_readings: int | None
    ) -> Answer:
        if num_readings is not None:
            raise KanervaError(
                "num_readings",
                expected="a memory of images",
                got="a memory of vectors, which is read once",
                fix="Leave num_readings out.",
            )
        vectors = checked_vectors("cues", cues, self.plan.size) - self.centre
        directions = unit_length(vectors)
        weights = self.features.weights(directions)
        probes = self.features.blocks(directions, self.plan.num_probes)
        log_odds = np.full(probes.shape, -np.inf)
        codes = np.zeros((*probes.shape, self.code_size))
        for number in np.unique(probes).tolist():
            which = probes == number
            rows = np.nonzero(which)[0]
            found = self._read_block(weights[rows], vectors[rows], block(number))
            log_odds[which], codes[which] = found
        log_odds[~directions.any(1)] = -np.inf  # zeros are in no memory
        best = log_odds.argmax(1)
        each = np.arange(len(vectors))
        # The vector may be in any of the blocks that were asked: the mean of their odds counts.
        with np.errstate(over="ignore"):
            together = np.logaddexp.reduce(log_odds, axis=1) - np.log(probes.shape[1])
            confidence = torch.from_numpy(1 / (1 + np.exp(-together)))
        chosen = codes[each, best]
        size = self.plan.size
        items = chosen[:, size:] if self.plan.value_size else chosen + self.code_centre.numpy()
        return Answer(
            items=torch.from_numpy(items),
            confidence=confidence,
            codes=torch.from_numpy(chosen),
            weights=torch.from_numpy(weights),
            blocks=torch.from_numpy(probes[each, best]),
        )

    def _read_block(self, weights: Floats, vectors: Floats, block: Block) -> tuple[Floats, Floats]:
        """Log-odds that vectors are in this block, (T,), and what it holds, (T, C)."""
        mean, cov = block.memory._mean.numpy(), block.memory.row_cov.dense().numpy()
        codes = weights @ mean
        if not block.ages:
            return np.full(len(weights), -np.inf), codes
        slope = float((self.linear_part * mean[:, : self.plan.size].T).sum()) / self.plan.size
        facts = Presence.of(weights, cov, block, self.plan, slope=slope)
        return facts.log_odds(vectors, codes[:, : self.plan.size], self.plan), codes


def _values_error(size: int, got: str) -> KanervaError:
    return KanervaError(
        "values",
        expected=f"one value of {size} numbers for each key",
        got=got,
        fix="Pass values=..., with as many rows as there are keys.",
    )
