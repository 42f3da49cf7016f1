"""Importance weights of the few-shot model: samples that tighten the bound of each next image.

Shapes: B episodes, T items.
"""

from collections.abc import Iterator
from typing import Protocol

import torch
from torch import Tensor

from kanerva.distributions import gaussian
from kanerva.distributions.gaussian import Gaussian
from kanerva.memory import MemoryState
from kanerva.models.addressing import Addressing
from kanerva.models.ladder import Levels
from kanerva.models.ladder_coder import Known, MemoryLadderCoder
from kanerva.models.model import Noise


class NextImageModel(Protocol):
    """What is needed of a model that predicts the next image: `FewShotMachine` has it."""

    coder: MemoryLadderCoder

    @property
    def addressing(self) -> Addressing[MemoryState]: ...

    def draw_noise(self, images: Tensor, *, generator: torch.Generator | None = None) -> Noise: ...

    def addresses(self, embeddings: Tensor, noise: Noise) -> tuple[Gaussian, Tensor, Tensor]: ...

    def read_next(
        self, embeddings: Tensor, writing: Tensor, reading: Tensor
    ) -> tuple[Known, Gaussian]: ...


def log_weights(
    model: NextImageModel,
    images: Tensor,
    chosen: list[int],
    num_samples: int,
    generator: torch.Generator | None,
) -> Iterator[Tensor]:
    """ln p(x, y, z | M) - ln q(y, z | x, M) of the chosen items, (B, items) for each sample.

    The items are written once. The reader draws y and z again for every weight.
    """
    levels = model.coder.levels(images)
    embeddings = model.coder.embed(levels).reshape(*images.shape[:2], -1)
    noise = model.draw_noise(images, generator=generator)
    posterior, writing, _ = model.addresses(embeddings, noise)
    size = images.shape[:2]
    kept = Levels(*(keep_items(part, size, chosen) for part in levels))
    targets = images[:, chosen]
    q = Gaussian(posterior.mean[:, chosen], posterior.log_var[:, chosen])
    for _ in range(num_samples):
        shape = (*targets.shape[:2], model.coder.noise_size)
        code_noise = torch.randn(shape, device=images.device, generator=generator)
        address_noise = torch.randn(posterior.mean.shape, device=images.device, generator=generator)
        y = posterior.sample(address_noise)
        reading = model.addressing.address_for(y)
        known, prior = model.read_next(embeddings, writing, reading)
        known = Known(
            tuple(keep_items(part, size, chosen) for part in known.maps),
            keep_items(known.numbers, size, chosen),
        )
        drawn = model.coder.draw(known, kept, code_noise.flatten(0, 1))
        parameters = drawn.parameters.reshape(targets.shape)
        mean, log_var = prior.mean[:, chosen], prior.log_var[:, chosen]
        standard = (y[:, chosen] - mean) * (-0.5 * log_var).exp()
        yield (
            model.coder.likelihood.log_prob(parameters, targets)
            + drawn.log_weight.reshape(targets.shape[:2])
            + gaussian.standard_log_prob(standard)
            - 0.5 * log_var.sum(-1)
            - q.log_prob_of_sample(address_noise[:, chosen])
        )


def keep_items(values: Tensor, size: torch.Size, chosen: list[int]) -> Tensor:
    """Values (B T, ...) of the chosen items."""
    return values.unflatten(0, size)[:, chosen].flatten(0, 1)
