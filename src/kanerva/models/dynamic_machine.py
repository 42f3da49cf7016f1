"""The Dynamic Kanerva Machine (Wu et al. 2018, Learning attractor dynamics for generative memory).

No network addresses this memory. An item is written and read by the weights that explain its code
best, given what is in the memory at that moment, so items are written one after another.
Shapes: B episodes, T items, K rows, C code size.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from kanerva.distributions import gaussian
from kanerva.distributions.gaussian import Gaussian
from kanerva.memory import MemoryState, infer_weights
from kanerva.models.coder import Noise, check_iterations
from kanerva.models.config import ModelConfig
from kanerva.models.kanerva_machine import CODE_SCALE, KanervaMachine
from kanerva.models.memories.bayesian import WeightMemory
from kanerva.models.remember import Remembered


class Retrieved(NamedTuple):
    """What a memory's dynamics settled on for queries (..., T, channels, H, W)."""

    images: Tensor
    weights: Tensor
    energies: Tensor
    """(iterations, ..., T): -ln p(x, w | M) but for constants, at each step; it does not rise."""


class DynamicMachine(KanervaMachine):
    """A Kanerva Machine whose q(w|x, M) is N(least squares, one learned variance)."""

    memory: WeightMemory

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        del self.address_net
        nn.init.normal_(self.memory.prior_mean)  # from nothing, least squares finds nothing
        self.log_var = nn.Parameter(torch.tensor(-1.0))

    def compile_steps(self) -> None:
        """The memory's states do not cross the border of a compiled part: writing stays outside."""
        self.store = torch.compiler.disable(self.store)  # pyright: ignore

    def start_from(self, images: Tensor) -> None:
        self.start_coder(images.flatten(end_dim=-4), scale=CODE_SCALE, log_var=-4.0)

    def locate(self, embeddings: Tensor, state: MemoryState) -> Gaussian:
        """q(w|x, M)."""
        codes = gaussian.from_parameters(embeddings).mean
        mean = infer_weights(state, codes, noise_var=self.config.noise_var)
        return Gaussian(mean, self.log_var.expand_as(mean))

    def store(
        self, embeddings: Tensor, state: MemoryState, *, address_noise: Tensor, code_noise: Tensor
    ) -> MemoryState:
        """Item by item: where each goes depends on those before it."""
        items = (embeddings, address_noise, code_noise)
        for item in zip(*(part.split(1, dim=-2) for part in items), strict=True):
            state = self.step(state, *item)
        return state

    def step(
        self, state: MemoryState, embedding: Tensor, address_noise: Tensor, code_noise: Tensor
    ) -> MemoryState:
        """The memory after one item."""
        noise = {"address_noise": address_noise, "code_noise": code_noise}
        return super().store(embedding, state, **noise)

    def remember(
        self, embeddings: Tensor, located_by: Tensor, prior: MemoryState, noise: Noise
    ) -> Remembered:
        """As for every machine; but the reader looks into the memory after all is written."""
        assert noise.address is not None
        assert noise.written_code is not None
        state = self.store(
            embeddings, prior, address_noise=noise.address[0], code_noise=noise.written_code
        )
        address = self.locate(located_by[1], state)
        return Remembered(state, address, address.sample(noise.address[1]))

    @torch.no_grad()
    def retrieve(self, queries: Tensor, memory: MemoryState, *, iterations: int = 10) -> Retrieved:
        """Read again and again, never uphill in E(x, w) = -ln p(x | w R) + |w|^2 / 2.

        Given w, the image that minimises E is the mode of p(x | w R). Given the image, least
        squares proposes new weights; where they would raise E the old ones stay.
        """
        self.check_images(queries, "queries")
        self._check_fits(memory, queries)
        check_iterations(iterations, at_least=1)
        weights = self.locate(self.encode(queries), memory).mean
        images = self._mode(memory, weights)
        energies = [self._energy(images, memory, weights)]
        for _ in range(iterations - 1):
            proposed = self.locate(self.encode(images), memory).mean
            better = self._energy(images, memory, proposed) < energies[-1]
            weights = torch.where(better.unsqueeze(-1), proposed, weights)
            images = self._mode(memory, weights)
            energies.append(self._energy(images, memory, weights))
        means = self.likelihood.mean(self._draw_at(memory, weights))
        return Retrieved(means, weights, torch.stack(energies))

    def _draw_at(self, memory: MemoryState, weights: Tensor) -> Tensor:
        """Parameters of p(x | w R)."""
        return self.decode(self.memory.read(memory, weights).mean)

    def _mode(self, memory: MemoryState, weights: Tensor) -> Tensor:
        return self.likelihood.mode(self._draw_at(memory, weights))

    def _energy(self, images: Tensor, memory: MemoryState, weights: Tensor) -> Tensor:
        log_prob = self.likelihood.log_prob(self._draw_at(memory, weights), images)
        return 0.5 * weights.square().sum(-1) - log_prob
