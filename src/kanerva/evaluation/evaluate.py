"""The bound of a model on episodes of a data set, with its standard error."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from kanerva.data import Dataset, EpisodeSampler
from kanerva.errors import KanervaError
from kanerva.models.bound import Bound
from kanerva.models.model import Model


class Evaluation(NamedTuple):
    """Means over episodes, in nats per item; lower is better."""

    bound: float
    """The negative variational bound (eq:vlb): the sum of the next three terms."""
    stderr: float
    """Standard error of `bound`, over episodes."""
    reconstruction: float
    kl_address: float
    kl_code: float
    memory_kl_per_item: float | None
    """What the memory itself cost; None where the memory is not a distribution."""
    episodes: int
    episode_length: int


def evaluate(
    model: Model,
    dataset: Dataset,
    *,
    num_episodes: int,
    episode_length: int = 32,
    num_classes: int | None = None,
    distinct: bool = False,
    seed: int = 0,
    batch_size: int = 50,
) -> Evaluation:
    """Measure the bound of a model on random episodes.

    Args:
        model: any model, on the device of the data set.
        dataset: where the episodes come from.
        num_episodes: how many episodes to draw.
        episode_length: T, items in an episode.
        num_classes: draw each episode from this many classes; by default from all.
        distinct: draw episodes without replacement.
        seed: seed of the episodes and of all samples.
        batch_size: episodes at a time.

    Returns:
        The bound, its terms and its standard error.

    """
    sampler = EpisodeSampler(
        dataset, num_items=episode_length, num_classes=num_classes, distinct=distinct
    )
    generator = torch.Generator(dataset.images.device).manual_seed(seed)
    was_training = model.training
    model.eval()
    with torch.no_grad():
        bounds = [
            model.elbo(sampler.sample(size, generator=generator), generator=generator)
            for size in batch_sizes(num_episodes, batch_size)
        ]
    model.train(was_training)
    total = torch.cat([bound.total for bound in bounds]).double()
    return Evaluation(
        bound=total.mean().item(),
        stderr=standard_error(total),
        reconstruction=_mean([bound.reconstruction for bound in bounds]),
        kl_address=_mean([bound.kl_address for bound in bounds]),
        kl_code=_mean([bound.kl_code for bound in bounds]),
        memory_kl_per_item=_memory_kl_per_item(bounds),
        episodes=num_episodes,
        episode_length=episode_length,
    )


def importance_bound(
    model: Model,
    dataset: Dataset,
    *,
    num_samples: int,
    num_episodes: int,
    episode_length: int = 32,
    num_classes: int | None = None,
    distinct: bool = False,
    seed: int = 0,
) -> float:
    """Tighten the bound with importance samples.

    This is -ln of the mean of `num_samples` weights p(x, y, z | M) / q(y, z | x, M), per item. Each
    episode is written once; the reader draws y and z again for every weight. The result lies
    between the negative bound and -ln p(x | M), and comes closer to the latter with more samples.
    """
    sampler = EpisodeSampler(
        dataset, num_items=episode_length, num_classes=num_classes, distinct=distinct
    )
    generator = torch.Generator(dataset.images.device).manual_seed(seed)
    model.eval()
    total = 0.0
    with torch.no_grad():
        for size in batch_sizes(num_episodes, max(1, 640 // episode_length)):
            images = sampler.sample(size, generator=generator)
            log_weights = model.log_importance_weights(
                images, num_samples=num_samples, generator=generator
            )
            log_mean = log_weights.logsumexp(0) - math.log(num_samples)
            total -= log_mean.double().mean(-1).sum().item()
    return total / num_episodes


def pixel_entropy(dataset: Dataset) -> float:
    """Nats that an image costs a model that knows only how often each pixel is ink.

    Pixels count as episodes show them, after binarisation.
    """
    ink = dataset.mean_image()
    return -(torch.xlogy(ink, ink) + torch.xlogy(1 - ink, 1 - ink)).sum().item()


def check_image_shape(model: Model, dataset: Dataset) -> None:
    """Refuse a data set whose images have another shape than the model's."""
    if tuple(dataset.image_shape) != tuple(model.config.image_shape):
        raise KanervaError(
            "dataset",
            expected=f"images of shape {tuple(model.config.image_shape)}, as the model has",
            got=f"{tuple(dataset.image_shape)} in {dataset.name}",
            fix="Choose another data set, or train a model for this one.",
        )


def batch_sizes(total: int, batch_size: int) -> Iterator[int]:
    """Sizes of the batches that make up `total`; the last one may be smaller."""
    for start in range(0, total, batch_size):
        yield min(batch_size, total - start)


def standard_error(values: Tensor) -> float:
    """Standard error of the mean of values (N,); infinite for a single value."""
    return values.std().item() / math.sqrt(len(values)) if len(values) > 1 else math.inf


def _memory_kl_per_item(bounds: list[Bound]) -> float | None:
    parts = [bound.memory_kl_per_item for bound in bounds]
    known = [part for part in parts if part is not None]
    return _mean(known) if len(known) == len(parts) else None


def _mean(parts: list[Tensor]) -> float:
    """Mean over all episodes of the values of each batch."""
    return torch.cat(parts).double().mean().item()
