"""How much of the damage iterative reading repairs (section 4.3), over episodes of a data set."""

from typing import NamedTuple, TypeVar

import torch

from kanerva.data import Dataset, EpisodeSampler
from kanerva.data.damage import Damage, damage
from kanerva.evaluation.evaluate import batch_sizes, standard_error
from kanerva.models.memory_model import MemoryModel

State = TypeVar("State")


class Denoising(NamedTuple):
    """Mean absolute differences of pixels to the clean image, between 0 and 1."""

    cue_error: float
    """The error of the damaged images themselves."""
    errors: list[float]
    """The error after 1, 2, 3, ... readings."""
    stderrs: list[float]
    """Standard errors of `errors`, over episodes."""
    recognised: float
    """Share of items whose last reading is closer to their own original than to any other image
    of the episode."""


def measure_denoising(
    model: MemoryModel[State],
    dataset: Dataset,
    *,
    kind: Damage,
    num_episodes: int,
    episode_length: int = 32,
    num_readings: int = 6,
    sample: bool = False,
    seed: int = 0,
    batch_size: int = 16,
) -> Denoising:
    """Write episodes, damage their images, and read them with the damaged images as cues.

    Args:
        model: a model with a memory, on the device of the data set.
        dataset: where the episodes come from.
        kind: what happens to each cue.
        num_episodes: how many episodes to draw.
        episode_length: T, items in an episode.
        num_readings: how often to read.
        sample: draw y, z and x as algorithm 1 does, instead of taking means.
        seed: seed of the episodes, the damage and all samples.
        batch_size: episodes at a time.

    Returns:
        The error before and after each reading.

    """
    sampler = EpisodeSampler(dataset, num_items=episode_length)
    generator = torch.Generator(dataset.images.device).manual_seed(seed)
    errors, recognised = [], []
    for size in batch_sizes(num_episodes, batch_size):
        images = sampler.sample(size, generator=generator)
        cues = damage(images, kind, generator=generator)
        memory = model.write(images, sample=sample, generator=generator)
        read = model.read(
            cues, memory, num_readings=num_readings, sample=sample, generator=generator
        )
        each = [(step - images).abs().mean((-4, -3, -2, -1)) for step in (cues, *read.steps)]
        errors.append(torch.stack(each, dim=-1).double())
        distance = torch.cdist(read.images.flatten(2), images.flatten(2), p=1)
        own = torch.arange(episode_length, device=images.device)
        recognised.append((distance.argmin(-1) == own).double().mean(-1))
    table = torch.cat(errors)
    means = table.mean(0).tolist()
    stderrs = [standard_error(column) for column in table.unbind(-1)]
    return Denoising(means[0], means[1:], stderrs[1:], torch.cat(recognised).mean().item())
