"""Memories of vectors, without training: random features as addresses.

Shapes: T items, D size of a vector, K rows of a block, C code size.
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import NamedTuple

import numpy as np
import torch

from kanerva.errors import KanervaError
from kanerva.memory import MemoryState
from kanerva.store.exact_sums import Floats
from kanerva.store.item_coder import Answer, Block, EncodedItems, ItemCoder, Items
from kanerva.store.plan import VectorPlan
from kanerva.store.random_features import RandomFeatures, unit_length
from kanerva.store.recall_theory import cue_similarity
from kanerva.store.vector_checks import checked_vectors

MAX_CORRELATION = 0.99
"""Largest assumed correlation of cue and reading: beyond it, small deviations would decide."""
SHARES = (1.0, 0.9, 0.75, 0.5)
"""Shares of the expected correlation, equally likely: some items and cues have more noise."""


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

    def describe(self) -> dict[str, object]:
        return {"plan": asdict(self.plan)}

    def encode(self, items: Items, values: Items | None) -> EncodedItems:
        vectors = checked_vectors("vectors", items, self.plan.size) - self.centre
        codes = vectors
        if self.plan.value_size:
            if values is None:
                raise _values_error(self.plan.value_size, "none")
            given = checked_vectors("values", values, self.plan.value_size)
            if len(given) != len(vectors):
                raise _values_error(self.plan.value_size, f"{len(given)} for {len(vectors)} keys")
            # The direction of a key is enough, and its length then says nothing about values.
            codes = np.concatenate([unit_length(vectors), given], 1)
        elif values is not None:
            raise KanervaError(
                "values",
                expected="none: this memory stores vectors by themselves",
                got=f"{len(values)} values",
                fix="Create a memory of keys and values: plan_vectors(..., value_size=...).",
            )
        directions = unit_length(vectors)
        return EncodedItems(
            self.features.blocks(directions)[:, 0], self.features.weights(directions), codes
        )

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
        best = log_odds.argmax(1)
        each = np.arange(len(vectors))
        # The vector may be in any of the blocks that were asked: the mean of their odds counts.
        with np.errstate(over="ignore"):
            together = np.logaddexp.reduce(log_odds, axis=1) - np.log(probes.shape[1])
            confidence = torch.from_numpy(1 / (1 + np.exp(-together)))
        chosen = codes[each, best]
        size = self.plan.size
        items = chosen[:, size:] if self.plan.value_size else chosen + self.centre
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
        if block.count == 0:
            return np.full(len(weights), -np.inf), codes
        slope = float((self.linear_part * mean[:, : self.plan.size].T).sum()) / self.plan.size
        facts = Presence.of(weights, cov, block, self.plan, slope=slope)
        return facts.log_odds(vectors, codes[:, : self.plan.size], self.plan), codes


class Presence(NamedTuple):
    """What is expected of a reading if the cue's vector was written, and if it was not.

    The entries of codes are taken as random with variance t^2. With A = W' W + l I, a reading of
    weights w is r = sum over items of (w' A^-1 w_i) z_i, so every entry of it has the variance
    t^2 g with g = w' A^-1 W' W A^-1 w, whether the vector was written or not. If it was, its own
    code is in the sum, with a factor c = a h: h is the mean of w_i' A^-1 w_i over the items, and a
    is how similar the weights of a noisy cue are. Then cue and reading correlate with
    c / sqrt((1 + d^2) g), where d is the noise of cues. The odds are the mean over several `SHARES`
    of this correlation.

    A cue that was never written correlates with its reading a little too: weights are partly linear
    in the vector, so a memory of vectors partly hands back its cue.
    """

    variance: float
    """t^2."""
    reading: Floats
    """g, (T,)."""
    of_any: Floats
    """Correlation of cue and reading for any cue, (T,)."""
    of_written: Floats
    """How much more it is for a cue that was written, (T,)."""

    @classmethod
    def of(
        cls, weights: Floats, cov: Floats, block: Block, plan: VectorPlan, *, slope: float
    ) -> "Presence":
        """From closed forms: A^-1 = U / l and W' W A^-1 = I - U.

        `slope` is how much of a cue of length 1 any reading contains.
        """
        tiny = np.finfo(np.float64).tiny
        spread = weights @ cov
        reading = np.maximum(((weights - spread) * spread).sum(1) / plan.noise_var, tiny)
        own = (len(cov) - np.trace(cov)) / block.count
        share = cue_similarity(plan.scale, plan.cue_noise) * min(own, 1.0)
        variance = max(1 / plan.size if plan.value_size else block.mean_square, tiny)
        return cls(
            variance,
            reading,
            np.clip(slope / np.sqrt(plan.size * variance * reading), -0.9, 0.9),
            share / np.sqrt((1 + plan.cue_noise**2) * reading),
        )

    def log_odds(self, cues: Floats, readings: Floats, plan: VectorPlan) -> Floats:
        """ln p(cue, reading | written) / p(cue, reading | not written), (T,)."""
        qrr = (readings**2).sum(1) / (self.variance * self.reading)
        products = (unit_length(cues) * readings).sum(1)
        qxr = np.sqrt(plan.size / (self.variance * self.reading)) * products

        def log_density(rho: Floats) -> Floats:
            """Of two normal numbers for each entry; only the direction of a cue counts."""
            left = 1 - rho**2
            squares = (plan.size - 2 * rho * qxr + qrr) / left
            # Entries that depend on each other count as fewer.
            return -0.5 * plan.effective_size * (np.log(left) + squares / plan.size)

        written = [
            log_density(np.minimum(self.of_any + share * self.of_written, MAX_CORRELATION))
            for share in SHARES
        ]
        together = np.logaddexp.reduce(written, axis=0) - np.log(len(SHARES))
        return together - log_density(self.of_any)


def _values_error(size: int, got: str) -> KanervaError:
    return KanervaError(
        "values",
        expected=f"one value of {size} numbers for each key",
        got=got,
        fix="Pass values=..., with as many rows as there are keys.",
    )
