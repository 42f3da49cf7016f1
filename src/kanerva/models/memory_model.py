"""A generative model with a memory between its encoder and its decoder (sections 3.1 to 3.5).

Shapes: B episodes, T items, K rows, C code size, Y address code size.
"""

from typing import Generic, TypeVar

import torch
from torch import Tensor

from kanerva.checks import check_integer
from kanerva.memory.tensor_checks import check_flag, check_generator
from kanerva.models.addressing import Addressing
from kanerva.models.bound import Bound
from kanerva.models.coder import Coder
from kanerva.models.config import AnyMemoryModelConfig
from kanerva.models.episode_bound import episode_bound
from kanerva.models.importance import log_importance_weights
from kanerva.models.input_checks import (
    check_bound_inputs,
    check_noise_inputs,
    check_reading_options,
    check_same_shape,
)
from kanerva.models.memories.base import Memory
from kanerva.models.memory_access import MemoryAccess
from kanerva.models.model import Model, Noise, OnReading
from kanerva.models.own_precision import inference, own_precision
from kanerva.models.reading import (
    NUM_READINGS,
    Reader,
    ReadResult,
    checked_search,
    decode_prior,
    read_along_line,
    read_repeatedly,
)

State = TypeVar("State")


class MemoryModel(Model, Generic[State]):
    """Coders, an addressing strategy and a memory, composed into one generative model.

    `State` is the type of the memory's state: what `write` returns and `read` takes.

    Example:
        >>> import torch
        >>> from kanerva import KanervaMachine, ModelConfig
        >>> km = KanervaMachine(ModelConfig(num_filters=4, code_size=8, num_rows=8)).eval()
        >>> images = (torch.rand(5, 1, 28, 28) < 0.1).float()
        >>> memory = km.write(images)
        >>> result = km.read(images, memory, num_readings=2)
        >>> result.images.shape, result.confidence.shape
        (torch.Size([5, 1, 28, 28]), torch.Size([5]))

    """

    def __init__(
        self, config: AnyMemoryModelConfig, *, coder: Coder, access: MemoryAccess[State]
    ) -> None:
        super().__init__(coder)
        self._config = config
        self.access = access

    @property
    def config(self) -> AnyMemoryModelConfig:
        """The sizes and options of this model."""
        return self._config

    @property
    def memory_module(self) -> Memory[State]:
        """The module of the memory: its learned prior, and how it writes and reads."""
        return self.access.memory

    @property
    def addressing(self) -> Addressing[State]:
        """How items find their place in the memory."""
        return self.access.addressing

    def prior_memory(self) -> State:
        """The memory before anything was written.

        Returns:
            The learned prior p(M), a `MemoryState` for a Kanerva Machine.

        """
        return self.memory_module.initial_state(torch.Size())

    @inference
    def write(
        self,
        images: Tensor,
        memory: State | None = None,
        *,
        sample: bool = False,
        generator: torch.Generator | None = None,
    ) -> State:
        """Write images into a memory: the means of q, or samples as in algorithm 2.

        With a full covariance the order of the images does not matter.

        Args:
            images: (..., T, channels, H, W) between 0 and 1. Leading dimensions are episodes: each
                gets a memory of its own.
            memory: the memory to continue; by default the learned prior.
            sample: draw codes and address codes from q, as the paper does, instead of taking means.
            generator: source of the samples, if any are drawn; torch's global one by default.

        Returns:
            The memory after the images, a `MemoryState` for a Kanerva Machine. Writing more than it
            can hold gives a `FullMemoryWarning`.

        """
        self.coder.check_images("images", images)
        check_flag("sample", sample)
        check_generator(generator, self.device)
        state = self.memory_module.initial_state(images.shape[:-4]) if memory is None else memory
        self.memory_module.check_fits(state, images.shape[:-4])
        embeddings = self.coder.encode(images)
        address_noise, code_noise = (
            torch.zeros(*embeddings.shape[:-1], size, device=images.device)
            for size in (self.addressing.address_code_size, self.config.code_size)
        )
        if sample:
            address_noise.normal_(generator=generator)
            code_noise.normal_(generator=generator)
        state = self.access.write(
            embeddings, embeddings, state, address_noise=address_noise, code_noise=code_noise
        )
        self.access.warn_if_full(state)
        return state

    @inference
    def read(
        self,
        cues: Tensor,
        memory: State,
        *,
        num_readings: int | None = None,
        keep_cue: bool | None = None,
        num_starts: int | None = None,
        sample: bool = False,
        generator: torch.Generator | None = None,
        on_reading: OnReading | None = None,
    ) -> ReadResult:
        """Read what the memory holds for cues, damaged or not.

        A Kanerva Machine keeps the cue and searches the memory for an address that the cue suggests
        and at which something was written; each reading comes closer. Without `keep_cue` this is
        algorithm 1 of the paper: each reading decodes what is at the address of an image, and asks
        again with the image that comes back.

        Args:
            cues: (..., T, channels, H, W) between 0 and 1.
            memory: what `write` returned: one memory for all cues, or one for each episode.
            num_readings: how often to read. By default a search goes on until nothing moves, and
                algorithm 1 reads 6 times.
            keep_cue: search, or use algorithm 1; by default a search where the memory allows it.
            num_starts: from how many places around the cue's address to search; by default as many
                as pay off. More take longer.
            sample: draw y, z and the next cue, as algorithm 1 does, instead of taking means.
            generator: source of the samples, if any are drawn; torch's global one by default.
            on_reading: called after each reading with its number, from 1, and its images.

        Returns:
            A `ReadResult` with the images, and how sure the memory is.

        """
        self.coder.check_images("cues", cues)
        check_reading_options(sample, on_reading, generator, self.device)
        self.memory_module.check_fits(memory, cues.shape[:-4])
        reader = self._search_reader()
        options = checked_search(
            num_readings, keep_cue, num_starts, sample, on_reading, can_search=reader is not None
        )
        if reader is not None and options is not None:
            return reader.read(cues, memory, options)
        return read_repeatedly(
            self.coder,
            self.access,
            cues,
            memory,
            num_readings=num_readings or NUM_READINGS,
            sample=sample,
            generator=generator,
            on_reading=on_reading,
        )

    def _search_reader(self) -> Reader[State] | None:
        """What reads by searching; None for a memory that cannot be searched."""
        return None

    @inference
    def generate(
        self,
        memory: State,
        num_images: int,
        *,
        num_readings: int = 8,
        sample: bool = False,
        generator: torch.Generator | None = None,
        on_reading: OnReading | None = None,
    ) -> Tensor:
        """Make new images like those that were written (section 3.5).

        Draws y from its prior, decodes what the memory holds there, and reads on from that image.

        Args:
            memory: what `write` returned, or `prior_memory()`.
            num_images: how many images to make from each memory.
            num_readings: how often to read; 0 gives the first image.
            sample: draw z and the next cue as well, instead of taking means.
            generator: source of the samples; torch's global one by default.
            on_reading: called with 0 and the first images, then after each reading.

        Returns:
            Images (..., num_images, channels, H, W) between 0 and 1.

        """
        check_integer("num_readings", num_readings, at_least=0, fix="8 is a good start.")
        check_reading_options(sample, on_reading, generator, self.device)
        batch, likelihood = self.memory_module.checked_batch_shape(memory), self.coder.likelihood
        self.coder.check_num_images(num_images, batch)
        parameters = decode_prior(
            self.coder, self.access, memory, batch, num_images, sample=sample, generator=generator
        )
        images = likelihood.mean(parameters)
        if on_reading is not None:
            on_reading(0, images)
        if num_readings == 0:
            return images
        return self.read(
            likelihood.sample(parameters, generator) if sample else images,
            memory,
            num_readings=num_readings,
            keep_cue=False,
            sample=sample,
            generator=generator,
            on_reading=on_reading,
        ).images

    @inference
    def interpolate(self, start: Tensor, end: Tensor, memory: State, *, steps: int = 10) -> Tensor:
        """Read the memory along the straight line between the weights of two images (section 4.3).

        Args:
            start: the first image, (..., channels, H, W).
            end: the last image, of the same shape.
            memory: what `write` returned.
            steps: how many images, both ends included.

        Returns:
            Images (steps, ..., channels, H, W) between 0 and 1. Both ends are read from the memory.

        """
        check_integer("steps", steps, at_least=2, fix="The two ends are two of the steps.")
        for argument, image in (("start", start), ("end", end)):
            self.coder.check_image(argument, image)
        check_same_shape(start, end)
        ends = torch.stack([start, end], dim=-4)
        self.memory_module.check_fits(memory, start.shape[:-3])
        return read_along_line(self.coder, self.access, ends, memory, steps=steps)

    # -- the bound -------------------------------------------------------------------------------

    def forward(self, images: Tensor, noise: Noise, cues: Tensor | None = None) -> Bound:
        check_bound_inputs(self.coder, images, noise, cues, self.addressing.address_code_size)
        return episode_bound(
            self.coder, self.access, self.config, images, noise, cues, training=self.training
        )

    @own_precision()
    def log_importance_weights(
        self, episodes: Tensor, *, num_samples: int, generator: torch.Generator | None = None
    ) -> Tensor:
        check_integer("num_samples", num_samples, fix="The paper's field uses 100 to 5,000.")
        self.coder.check_images("episodes", episodes)
        images = self.coder.prepare(episodes, generator)
        noises = (self.draw_noise(images, generator=generator) for _ in range(1 + num_samples))
        return log_importance_weights(self.coder, self.access, images, noises)

    def draw_noise(self, images: Tensor, *, generator: torch.Generator | None = None) -> Noise:
        def randn(*shape: int) -> Tensor:
            return torch.randn(shape, device=images.device, generator=generator)

        check_noise_inputs(self.coder, images, generator)
        items, C = images.shape[:-3], self.config.code_size
        noisy = images.shape[-3:] if self.config.noisy_input == "image" else (2 * C,)
        memory = self.memory_module
        return Noise(
            code=randn(*items, C),
            written_code=randn(*items, C),
            address=randn(2, *items, self.addressing.address_code_size),
            embedding=randn(2, *items, *noisy) if self.training else None,
            memory=memory.draw_noise(items[:-1], device=images.device, generator=generator),
        )

    def prepare_to_compile(self) -> None:
        self.access.prepare_to_compile()
