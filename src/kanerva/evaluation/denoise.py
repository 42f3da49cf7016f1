"""How much of the damage iterative reading repairs (section 4.3), over episodes of a data set."""

from typing import NamedTuple

import torch

from kanerva.data import Dataset, EpisodeSampler
from kanerva.data.damage import Damage, damage
from kanerva.evaluation.evaluate import portions, standard_error
from kanerva.models.memory_model import MemoryModel


class Denoising(NamedTuple):
    """Mean absolute differences of pixels to the clean image, between 0 and 1."""

    corrupted_error: float
    errors: list[float]
    """After 1, 2, 3 ... readings."""
    stderrs: list[float]
    """Of `errors`, over episodes."""
    recognised: float
    """Share of items whose last reading is nearest, among what was written, to themselves."""


def measure_denoising(
    model: MemoryModel,
    dataset: Dataset,
    *,
    kind: Damage,
    episodes: int,
    episode_length: int = 32,
    iterations: int = 6,
    sample: bool = False,
    seed: int = 0,
    batch: int = 16,
) -> Denoising:
    """Write an episode, damage it, read it back."""
    sampler = EpisodeSampler(dataset, num_items=episode_length)
    generator = torch.Generator(dataset.images.device).manual_seed(seed)
    errors, recognised = [], []
    for size in portions(episodes, batch):
        images = sampler.sample(size, generator=generator)
        cues = damage(images, kind, generator=generator)
        memory = model.write(images, sample=sample, generator=generator)
        read = model.read(cues, memory, num_readings=iterations, sample=sample, generator=generator)
        each = [(step - images).abs().mean((-4, -3, -2, -1)) for step in (cues, *read.steps)]
        errors.append(torch.stack(each, dim=-1).double())
        distance = torch.cdist(read.images.flatten(2), images.flatten(2), p=1)
        own = torch.arange(episode_length, device=images.device)
        recognised.append((distance.argmin(-1) == own).double().mean(-1))
    table = torch.cat(errors)
    means = table.mean(0).tolist()
    stderrs = [standard_error(column) for column in table.unbind(-1)]
    return Denoising(means[0], means[1:], stderrs[1:], torch.cat(recognised).mean().item())
