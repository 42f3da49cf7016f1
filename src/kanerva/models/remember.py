"""What a trained model does with its memory: write, read again and again, generate, interpolate.

Algorithms 1 and 2 of the paper (appendix G), and section 3.5. Shapes: T items, K rows, C code size.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from kanerva.distributions import gaussian
from kanerva.distributions.gaussian import Gaussian
from kanerva.errors import KanervaError
from kanerva.models.coder import Coder, Watch, check_iterations, check_whole
from kanerva.models.memories.base import Memory, Recall


class Reading(NamedTuple):
    """p(z|y, M) and q(z|x, y, M) of the reading inference model (section 3.2)."""

    prior: Recall
    """p(z|y, M)."""
    shift: Tensor
    """Mean of q(z|x, y, M) less that of the prior."""
    log_var: Tensor
    """Log-variance of q(z|x, y, M)."""

    @property
    def code(self) -> Gaussian:
        """q(z|x, y, M)."""
        return Gaussian(self.prior.mean + self.shift, self.log_var)

    @property
    def kl(self) -> Tensor:
        """KL( q(z|x, y, M) || p(z|y, M) ), (..., T)."""
        return gaussian.kl(self.shift, self.log_var, self.prior.var)

    def prior_log_prob(self, code: Tensor) -> Tensor:
        """ln p(z|y, M) of codes (..., T, C)."""
        log_var = self.prior.log_var
        standard = (code - self.prior.mean) * (-0.5 * log_var).exp()
        return gaussian.standard_log_prob(standard) - 0.5 * log_var.sum(-1)


class Remembered(NamedTuple):
    """An episode that was written, and where to read it."""

    state: Any
    address: Gaussian
    """The reader's q(y|x)."""
    places: Tensor
    """Of a sample of it."""


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

    memory: Memory

    def prior_memory(self) -> Any:
        """The memory before anything was written: p(M)."""
        return self.memory.initial_state(torch.Size())

    def locate(self, embeddings: Tensor, state: Any) -> Gaussian:
        """q(y|x), from e(x)."""
        raise AssertionError("each model has its own addresses")

    def store(
        self, embeddings: Tensor, state: Any, *, address_noise: Tensor, code_noise: Tensor
    ) -> Any:
        """The state after an episode."""
        raise AssertionError("each model has its own way to write")

    def read_embeddings(
        self, embeddings: Tensor, places: Tensor, state: Any, noise: Tensor | None
    ) -> Reading:
        """p(z|y, M) and q(z|x, y, M)."""
        raise AssertionError("each model has its own way to read")

    @torch.no_grad()
    def write(
        self,
        images: Tensor,
        memory: Any = None,
        *,
        sample: bool = False,
        generator: torch.Generator | None = None,
    ) -> Any:
        """The memory after images (..., T, channels, H, W): from the learned prior, or going on.

        The Kanerva Machine's posterior does not depend on the order; other memories take items one
        after another. Codes and addresses are the means of q, or with `sample` drawn from it, as in
        algorithm 2.
        """
        self.check_images(images, "images")
        if memory is not None:
            self._check_fits(memory, images)
        embeddings = self.encode(images)
        state = self.memory.initial_state(images.shape[:-4]) if memory is None else memory
        address_noise, code_noise = (
            torch.zeros(*embeddings.shape[:-1], size, device=images.device)
            for size in (self.memory.address_size, self.config.code_size)
        )
        if sample:
            address_noise.normal_(generator=generator)
            code_noise.normal_(generator=generator)
        return self.store(embeddings, state, address_noise=address_noise, code_noise=code_noise)

    @torch.no_grad()
    def read(
        self,
        queries: Tensor,
        memory: Any,
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
        self.check_images(queries, "queries")
        self._check_fits(memory, queries)
        check_iterations(iterations, at_least=1)
        query, steps = queries, []
        places = weights = codes = queries  # set below: there is at least one iteration
        for number in range(1, iterations + 1):
            embeddings = self.encode(query)
            address = self.locate(embeddings, memory)
            places = self.memory.place(_draw(address, sample, generator))
            noise = self._memory_noise(memory, generator)
            reading = self.read_embeddings(embeddings, places, memory, noise)
            weights = reading.prior.weights
            codes = _draw(reading.code, sample, generator)
            parameters = self.decode(codes)
            steps.append(self.likelihood.mean(parameters))
            query = self.likelihood.sample(parameters, generator) if sample else steps[-1]
            if watch is not None:
                watch(number, steps[-1])
        confidence = self.memory.confidence(memory, places)
        return Recalled(steps[-1], weights, codes, confidence, steps)

    @torch.no_grad()
    def generate(
        self,
        memory: Any,
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
        check_whole("num", num, at_least=1, fix="It is how many images to make.")
        device = next(self.parameters()).device
        shape = (*self._batch_of(memory), num, self.memory.address_size)
        y = torch.randn(shape, device=device, generator=generator)
        recall = self.memory.read(
            memory, self.memory.place(y), self._memory_noise(memory, generator)
        )
        code = Gaussian(recall.mean, recall.log_var)
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
    def interpolate(self, start: Tensor, end: Tensor, memory: Any, *, steps: int = 10) -> Tensor:
        """Images (steps, ..., channels, H, W) on a straight line in weight space (section 4.3).

        Both ends are images (..., channels, H, W) and read from the memory; z is the mean there.
        """
        check_whole("steps", steps, at_least=2, fix="The ends are two of them.")
        for argument, image in (("start", start), ("end", end)):
            self.check_images(image[None] if isinstance(image, Tensor) else image, argument)
        if start.shape != end.shape:
            raise KanervaError(
                "end",
                expected=f"the shape of start, {tuple(start.shape)}",
                got=str(tuple(end.shape)),
                fix="A line has two ends of the same kind.",
            )
        ends = torch.stack([start, end], dim=-4)
        self._check_fits(memory, ends)
        places = self.memory.place(self.locate(self.encode(ends), memory).mean)
        share = torch.linspace(0, 1, steps, device=places.device)[:, None]
        line = torch.lerp(places[..., :1, :], places[..., 1:, :], share)
        codes = self.memory.read(memory, line, self._memory_noise(memory, None)).mean
        return self.likelihood.mean(self.decode(codes)).movedim(-4, 0)

    def _batch_of(self, memory: Any) -> torch.Size:
        """Leading dimensions of a memory, if it is one."""
        try:
            return self.memory.batch_shape(memory)
        except AttributeError:
            raise KanervaError(
                "memory",
                expected="a memory that this model has written",
                got=type(memory).__name__,
                fix="memory = model.write(images), or model.prior_memory() for an empty one.",
            ) from None

    def _check_fits(self, memory: Any, images: Tensor) -> None:
        """One memory for all episodes of images, or one for each."""
        batch, episodes = self._batch_of(memory), images.shape[:-4]
        if batch and batch != episodes:
            raise KanervaError(
                "memory",
                expected=f"one memory, or a batch {tuple(episodes)} like the images",
                got=f"a batch {tuple(batch)}",
                fix="Give images the leading dimensions of the memory: images[None] for one.",
            )

    def _memory_noise(self, memory: Any, generator: torch.Generator | None) -> Tensor | None:
        """For a model that reads a sample of M."""
        if self.config.reading != "sample":
            return None
        shape = (*self.memory.batch_shape(memory), self.config.num_rows, self.config.code_size)
        device = next(self.parameters()).device
        return torch.randn(shape, device=device, generator=generator)


def _draw(distribution: Gaussian, sample: bool, generator: torch.Generator | None) -> Tensor:
    """A sample, or the mean."""
    if not sample:
        return distribution.mean
    mean = distribution.mean
    return distribution.sample(torch.randn(mean.shape, device=mean.device, generator=generator))
