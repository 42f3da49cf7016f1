"""The Dynamic Kanerva Machine (Wu et al. 2018, Learning attractor dynamics for generative memory).

Shapes: T items, K rows, C code size.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from kanerva.checks import check_integer
from kanerva.memory import MemoryState
from kanerva.models.addressing import LeastSquaresAddressing
from kanerva.models.coder import Coder
from kanerva.models.config import DynamicConfig
from kanerva.models.memories.bayesian import BayesianMemory
from kanerva.models.memory_access import MemoryAccess
from kanerva.models.memory_model import MemoryModel
from kanerva.models.own_precision import inference


class Retrieval(NamedTuple):
    """What the dynamics of a memory settled on for cues (..., T, channels, H, W)."""

    images: Tensor
    """Means of p(x|z) at the end, (..., T, channels, H, W)."""
    weights: Tensor
    """(..., T, K)."""
    energies: Tensor
    """(num_readings, ..., T): -ln p(x, w | M) up to a constant. It never rises."""


class DynamicKanervaMachine(MemoryModel[MemoryState]):
    """A Kanerva Machine that finds its weights by least squares, without an address network.

    An item is written and read with the weights that explain its code best, given what the memory
    holds at that moment. So the order of the items matters.
    """

    def __init__(self, config: DynamicConfig) -> None:
        coder = Coder(config)
        # Least squares against a mean of zero would find nothing.
        memory = BayesianMemory(config, prior_std=1.0)
        addressing = LeastSquaresAddressing(num_rows=config.num_rows, noise_var=config.noise_var)
        super().__init__(config, coder=coder, access=MemoryAccess(memory, addressing, None))

    @inference
    def retrieve(self, cues: Tensor, memory: MemoryState, *, num_readings: int = 10) -> Retrieval:
        """Read again and again without ever raising E(x, w) = -ln p(x | w R) + |w|^2 / 2.

        Given w, the image that minimises E is the mode of p(x | w R). Given the image, least
        squares proposes new weights. Where they would raise E the old weights stay.
        """
        self.coder.check_images("cues", cues)
        self.memory_module.check_fits(memory, cues.shape[:-4])
        check_integer("num_readings", num_readings, fix="10 is a good start.")
        weights = self._least_squares(cues, memory)
        images = self._mode(memory, weights)
        energies = [self._energy(images, memory, weights)]
        for _ in range(num_readings - 1):
            proposed = self._least_squares(images, memory)
            is_better = self._energy(images, memory, proposed) < energies[-1]
            weights = torch.where(is_better.unsqueeze(-1), proposed, weights)
            images = self._mode(memory, weights)
            energies.append(self._energy(images, memory, weights))
        means = self.coder.likelihood.mean(self._decode_at(memory, weights))
        return Retrieval(means, weights, torch.stack(energies))

    def _least_squares(self, images: Tensor, memory: MemoryState) -> Tensor:
        return self.addressing.posterior(self.coder.encode(images), memory).mean

    def _decode_at(self, memory: MemoryState, weights: Tensor) -> Tensor:
        """Parameters of p(x | w R)."""
        return self.coder.decode(self.memory_module.read(memory, weights).mean)

    def _mode(self, memory: MemoryState, weights: Tensor) -> Tensor:
        return self.coder.likelihood.mode(self._decode_at(memory, weights))

    def _energy(self, images: Tensor, memory: MemoryState, weights: Tensor) -> Tensor:
        log_prob = self.coder.likelihood.log_prob(self._decode_at(memory, weights), images)
        return 0.5 * weights.square().sum(-1) - log_prob
