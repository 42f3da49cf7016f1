"""The bound of a model on episodes of a data set, with its standard error. Seeded."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from kanerva.data import Dataset, EpisodeSampler
from kanerva.errors import KanervaError
from kanerva.models.bound import Bound
from kanerva.models.model import Model


class Evaluation(NamedTuple):
    """Means over episodes, in nats per item; lower is better."""

    bound: float
    stderr: float
    reconstruction: float
    kl_address: float
    kl_code: float
    memory_kl_per_item: float | None
    """What the memory cost; not defined for one that is no distribution."""
    episodes: int
    episode_length: int


def evaluate(
    model: Model,
    dataset: Dataset,
    *,
    episodes: int,
    episode_length: int = 32,
    num_classes: int | None = None,
    seed: int = 0,
    batch: int = 50,
) -> Evaluation:
    """Mean bound over `episodes` random episodes; `dataset` and `model` share a device."""
    sampler = EpisodeSampler(dataset, num_items=episode_length, num_classes=num_classes)
    generator = torch.Generator(dataset.images.device).manual_seed(seed)
    was_training = model.training
    model.eval()
    with torch.no_grad():
        bounds = [
            model.elbo(sampler.sample(size, generator=generator), generator=generator)
            for size in portions(episodes, batch)
        ]
    model.train(was_training)
    terms = _joined(bounds)
    total = terms.total.double()
    means: dict[str, Any] = {
        name: None if term is None else term.double().mean().item()
        for name, term in terms._asdict().items()
    }
    return Evaluation(
        bound=total.mean().item(),
        stderr=standard_error(total),
        episodes=episodes,
        episode_length=episode_length,
        **means,
    )


def _joined(bounds: list[Bound]) -> Bound:
    """The terms of all episodes."""
    columns = zip(*bounds, strict=True)
    return Bound(*(None if parts[0] is None else torch.cat(parts) for parts in columns))  # pyright: ignore


def ignorance(dataset: Dataset) -> float:
    """Nats of an image of ink for a model that knows only how often each pixel is ink."""
    ink = dataset.images.double().mean(0) / 255
    return -(torch.xlogy(ink, ink) + torch.xlogy(1 - ink, 1 - ink)).sum().item()


def importance_bound(
    model: Model,
    dataset: Dataset,
    *,
    samples: int,
    episodes: int,
    episode_length: int = 32,
    num_classes: int | None = None,
    seed: int = 0,
) -> float:
    """-ln of the mean of `samples` importance weights p(x, y, z | M) / q(y, z | x, M), per item.

    Each episode is written once; y and z of the reader are drawn again for every weight. It lies
    between the negative bound and -ln p(x | M), and nears the latter with more samples.
    """
    sampler = EpisodeSampler(dataset, num_items=episode_length, num_classes=num_classes)
    generator = torch.Generator(dataset.images.device).manual_seed(seed)
    model.eval()
    total = 0.0
    with torch.no_grad():
        for size in portions(episodes, max(1, 640 // episode_length)):
            images = sampler.sample(size, generator=generator)
            log_weights = model.log_weights(images, num_samples=samples, generator=generator)
            log_mean = log_weights.logsumexp(0) - math.log(samples)
            total -= log_mean.double().mean(-1).sum().item()
    return total / episodes


def check_fits(model: Model, dataset: Dataset) -> None:
    """The images are of the kind the model was made for."""
    if tuple(dataset.image_shape) != tuple(model.config.image_shape):
        raise KanervaError(
            "dataset",
            expected=f"images of shape {tuple(model.config.image_shape)}, as the model has",
            got=f"{tuple(dataset.image_shape)} in {dataset.name}",
            fix="Choose another data set, or train a model for this one.",
        )


def portions(total: int, size: int) -> Iterator[int]:
    for start in range(0, total, size):
        yield min(size, total - start)


def standard_error(values: Tensor) -> float:
    return values.std().item() / math.sqrt(len(values)) if len(values) > 1 else math.inf
