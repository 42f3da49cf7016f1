"""What a trained model does with its memory: write, read again and again, generate, interpolate.

Algorithms 1 and 2 of the paper (appendix G), and section 3.5. Shapes: T items, K rows, C code size.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from kanerva.distributions.gaussian import Gaussian
from kanerva.errors import KanervaError
from kanerva.memory import MemoryState, predict, recall
from kanerva.models.coder import Coder, Watch, check_iterations


class Reading(NamedTuple):
    """p(z|y, M) and q(z|x, y, M) of the reading inference model (section 3.2)."""

    prior_mean: Tensor
    """w' M, (..., T, C): the mean of p(z|y, M)."""
    prior_var: Tensor | float
    """Its variance: sigma^2, or (..., T, 1) when M is integrated out."""
    shift: Tensor
    """Mean of q(z|x, y, M) less `prior_mean`."""
    log_var: Tensor
    """Log-variance of q(z|x, y, M)."""


class Recalled(NamedTuple):
    """What came back from a memory for queries (..., T, channels, H, W)."""

    images: Tensor
    """Means of p(x|z) after the last iteration: ink between 0 and 1."""
    weights: Tensor
    """(..., T, K): where it was read."""
    codes: Tensor
    """(..., T, C): what was decoded."""
    confidence: Tensor
    """(..., T) in (0, 1]: sigma^2 / (w U w' + sigma^2), near 1 where the memory has no doubt."""
    steps: list[Tensor]
    """The images after each iteration, the last included."""


class Remembering(Coder):
    """A coder with a memory between encoder and decoder: what users call."""

    def prior_memory(self) -> MemoryState:
        """p(M)."""
        raise AssertionError("each model has its own prior")

    def infer_address(self, embeddings: Tensor) -> Gaussian:
        """q(y|x), from e(x)."""
        raise AssertionError("each model has its own addresses")

    def weights(self, addresses: Tensor) -> Tensor:
        """w of y, (..., T, K)."""
        raise AssertionError("each model has its own weights")

    def write_embeddings(
        self, embeddings: Tensor, weights: Tensor, memory: MemoryState, noise: Tensor
    ) -> MemoryState:
        """q(M|X), going on from `memory`."""
        raise AssertionError("each model has its own way to write")

    def read_embeddings(
        self, embeddings: Tensor, weights: Tensor, memory: MemoryState, noise: Tensor | None
    ) -> Reading:
        """p(z|y, M) and q(z|x, y, M)."""
        raise AssertionError("each model has its own way to read")

    @torch.no_grad()
    def write(
        self,
        images: Tensor,
        memory: MemoryState | None = None,
        *,
        sample: bool = False,
        generator: torch.Generator | None = None,
    ) -> MemoryState:
        """The memory after images (..., T, channels, H, W): from the learned prior, or going on.

        The whole episode at once; the posterior does not depend on the order. Codes and addresses
        are the means of q, or with `sample` drawn from it, as in algorithm 2.
        """
        self._check_images(images, "images")
        embeddings = self.encode(images)
        weights = self.weights(_draw(self.infer_address(embeddings), sample, generator))
        noise = torch.zeros(*embeddings.shape[:-1], self.config.code_size, device=images.device)
        if sample:
            noise.normal_(generator=generator)
        prior = self.prior_memory() if memory is None else memory
        return self.write_embeddings(embeddings, weights, prior, noise)

    @torch.no_grad()
    def read(
        self,
        queries: Tensor,
        memory: MemoryState,
        *,
        iterations: int = 6,
        sample: bool = False,
        generator: torch.Generator | None = None,
        watch: Watch | None = None,
    ) -> Recalled:
        """What the memory holds for queries (..., T, channels, H, W), damaged or not (algorithm 1).

        Address the memory by the image, decode what is there, ask again with that. y, z and the
        next query are means, or with `sample` drawn, as the paper has it. `watch` is called after
        each iteration with its number and images.
        """
        self._check_images(queries, "queries")
        check_iterations(iterations, at_least=1)
        query, steps = queries, []
        weights = codes = queries  # set below: there is at least one iteration
        for number in range(1, iterations + 1):
            embeddings = self.encode(query)
            weights = self.weights(_draw(self.infer_address(embeddings), sample, generator))
            noise = self._memory_noise(memory, generator)
            reading = self.read_embeddings(embeddings, weights, memory, noise)
            code = Gaussian(reading.prior_mean + reading.shift, reading.log_var)
            codes = _draw(code, sample, generator)
            parameters = self.decode(codes)
            steps.append(self.likelihood.mean(parameters))
            query = self.likelihood.sample(parameters, generator) if sample else steps[-1]
            if watch is not None:
                watch(number, steps[-1])
        noise_var = self.config.noise_var
        variance = predict(memory, weights, noise_var=noise_var).var
        return Recalled(steps[-1], weights, codes, noise_var / variance, steps)

    @torch.no_grad()
    def generate(
        self,
        memory: MemoryState,
        num: int,
        *,
        iterations: int = 8,
        sample: bool = False,
        generator: torch.Generator | None = None,
        watch: Watch | None = None,
    ) -> Tensor:
        """New images (..., num, channels, H, W) like what was written (section 3.5).

        y from its prior, a first image from there (`watch` sees it as number 0), then reading.
        """
        check_iterations(iterations, at_least=0)
        shape = (*memory.mean.shape[:-2], num, self.config.address_size)
        y = torch.randn(shape, device=memory.mean.device, generator=generator)
        mean = recall(memory, self.weights(y))
        code = Gaussian(mean, torch.full_like(mean, math.log(self.config.noise_var)))
        parameters = self.decode(_draw(code, sample, generator))
        images = self.likelihood.mean(parameters)
        if watch is not None:
            watch(0, images)
        if iterations == 0:
            return images
        query = self.likelihood.sample(parameters, generator) if sample else images
        return self.read(
            query, memory, iterations=iterations, sample=sample, generator=generator, watch=watch
        ).images

    @torch.no_grad()
    def interpolate(
        self, start: Tensor, end: Tensor, memory: MemoryState, *, steps: int = 10
    ) -> Tensor:
        """Images (steps, ..., channels, H, W) on a straight line in weight space (section 4.3).

        Both ends are images (..., channels, H, W) and read from the memory; z is the mean there.
        """
        if steps < 2:
            raise KanervaError(
                "steps", expected="at least 2", got=str(steps), fix="The ends are two of them."
            )
        ends = torch.stack([start, end], dim=-4)
        self._check_images(ends, "start and end")
        weights = self.weights(self.infer_address(self.encode(ends)).mean)
        share = torch.linspace(0, 1, steps, device=weights.device)[:, None]
        line = torch.lerp(weights[..., :1, :], weights[..., 1:, :], share)
        return self.likelihood.mean(self.decode(recall(memory, line))).movedim(-4, 0)

    def _check_images(self, images: Tensor, argument: str) -> None:
        """Images of the right size and range."""
        self.check_shape(images, argument)
        low, high = (images.min().item(), images.max().item()) if images.numel() else (0, 0)
        if not (low >= 0 and high <= 1 and images.is_floating_point()):
            raise KanervaError(
                argument,
                expected="floating-point pixels between 0 (paper) and 1 (ink)",
                got=f"{images.dtype} from {low:g} to {high:g}",
                fix="Scale them: images.float() / 255; for dark ink on light paper, 1 minus that.",
            )

    def _memory_noise(
        self, memory: MemoryState, generator: torch.Generator | None
    ) -> Tensor | None:
        """For a model that reads a sample of M."""
        if self.config.reading != "sample":
            return None
        return torch.randn(memory.mean.shape, device=memory.mean.device, generator=generator)


def _draw(distribution: Gaussian, sample: bool, generator: torch.Generator | None) -> Tensor:
    """A sample, or the mean."""
    if not sample:
        return distribution.mean
    mean = distribution.mean
    return distribution.sample(torch.randn(mean.shape, device=mean.device, generator=generator))
