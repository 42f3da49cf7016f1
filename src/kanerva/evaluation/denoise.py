"""How much of the damage a memory repairs (section 4.3), over episodes of a data set."""

import math
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from kanerva.data import Dataset, EpisodeSampler
from kanerva.data.damage import Damage, damage
from kanerva.evaluation.baselines import hopfield_images, nearest_images
from kanerva.evaluation.evaluate import batch_sizes, standard_error
from kanerva.models.memory_model import MemoryModel

State = TypeVar("State")


class Denoising(NamedTuple):
    """Errors are mean absolute differences of pixels to the clean image, between 0 and 1.

    An image is recognised if it is closer to its own original than to any other image of the
    episode.
    """

    cue_error: float
    """The error of the damaged images themselves."""
    errors: list[float]
    """The error after 1, 2, 3, ... readings."""
    stderrs: list[float]
    """Standard errors of `errors`, over episodes."""
    recognised: float
    """Share of cues whose last reading is recognised."""
    recognised_by_reading: list[float]
    """The same after 1, 2, 3, ... readings."""
    confidence: float
    """Mean confidence in the last reading."""
    nearest_error: float
    """The error of the nearest stored image, which needs all images to be kept."""
    nearest_recognised: float
    hopfield_error: float
    """The error of a modern Hopfield retrieval, which needs all images to be kept."""
    hopfield_recognised: float
    memory_bytes: int
    """What the memory keeps of an episode: its mean, and one triangle of its covariance."""
    image_bytes: int
    """What the nearest image and the Hopfield network keep: one bit for each pixel."""


def measure_denoising(
    model: MemoryModel[State],
    dataset: Dataset,
    *,
    kind: Damage,
    num_episodes: int,
    episode_length: int = 32,
    num_readings: int | None = None,
    keep_cue: bool | None = None,
    num_starts: int | None = None,
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
        num_readings: how often to read; by default until nothing moves, or 6 times (algorithm 1).
        keep_cue: search for the address, or read as algorithm 1 does; see `MemoryModel.read`.
        num_starts: from how many places to search.
        sample: draw y, z and x as algorithm 1 does, instead of taking means.
        seed: seed of the episodes, the damage and all samples.
        batch_size: episodes at a time.

    Returns:
        The error before and after each reading, and that of simpler methods.

    """
    sampler = EpisodeSampler(dataset, num_items=episode_length)
    generator = torch.Generator(dataset.images.device).manual_seed(seed)
    rows = []
    for size in batch_sizes(num_episodes, batch_size):
        images = sampler.sample(size, generator=generator)
        cues = damage(images, kind, generator=generator)
        memory = model.write(images, sample=sample, generator=generator)
        read = model.read(
            cues,
            memory,
            num_readings=num_readings,
            keep_cue=keep_cue,
            num_starts=num_starts,
            sample=sample,
            generator=generator,
        )
        simpler = (nearest_images(cues, images), hopfield_images(cues, images))
        scores = [_scores(step, images) for step in (cues, *simpler, *read.steps)]
        rows.append((torch.stack(scores, -1), read.confidence.double().mean(-1)))
    return _summary(rows, model, episode_length)


def _scores(read: Tensor, images: Tensor) -> Tensor:
    """The error and the recognised share of each episode, (2, B)."""
    error = (read - images).abs().mean((-4, -3, -2, -1)).double()
    return torch.stack([error, is_recognised(read, images).double().mean(-1)])


def is_recognised(read: Tensor, images: Tensor) -> Tensor:
    """Whether no image of the episode is nearer to a reading than its own original, (B, T).

    Two equal images in an episode are both right.
    """
    distance = torch.cdist(read.flatten(2), images.flatten(2), p=1)
    return distance.diagonal(dim1=-2, dim2=-1) <= distance.amin(-1)


def _summary(
    rows: list[tuple[Tensor, Tensor]], model: MemoryModel[State], episode_length: int
) -> Denoising:
    # A search ends when it has converged: batches may have read less often than others.
    most = max(scores.shape[-1] for scores, _ in rows)
    table = torch.cat([_repeat_last(scores, most) for scores, _ in rows], dim=1)
    cue, nearest, hopfield, *readings = table.mean(1).unbind(-1)
    num_rows, config = model.config.num_rows, model.config
    numbers = num_rows * config.code_size + num_rows * (num_rows + 1) // 2
    pixels = config.image_shape[0] * config.image_shape[1] * config.image_shape[2]
    return Denoising(
        cue_error=cue[0].item(),
        errors=[reading[0].item() for reading in readings],
        stderrs=[standard_error(column) for column in table[0, :, 3:].unbind(-1)],
        recognised=readings[-1][1].item(),
        recognised_by_reading=[reading[1].item() for reading in readings],
        confidence=torch.cat([confidence for _, confidence in rows]).mean().item(),
        nearest_error=nearest[0].item(),
        nearest_recognised=nearest[1].item(),
        hopfield_error=hopfield[0].item(),
        hopfield_recognised=hopfield[1].item(),
        memory_bytes=4 * numbers,
        image_bytes=episode_length * math.ceil(pixels / 8),
    )


def _repeat_last(scores: Tensor, length: int) -> Tensor:
    """Scores with their last column repeated up to `length`."""
    return torch.cat([scores, *[scores[..., -1:]] * (length - scores.shape[-1])], dim=-1)
