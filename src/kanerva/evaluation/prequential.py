"""What the next image costs after 0, 1, 2, ... others: a bound in which the memory is paid for.

Item t of an episode is read from a memory that holds only items 1 to t - 1. The sum over t is a
bound on ln p(x_1, ..., x_T), so it can be compared with any other model of the same images.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from kanerva.data import Dataset, EpisodeSampler
from kanerva.data.pixels import to_pixels
from kanerva.errors import KanervaError
from kanerva.evaluation.evaluate import batch_sizes, standard_error
from kanerva.models.bound import ItemBounds
from kanerva.models.few_shot_machine import FewShotMachine
from kanerva.models.ladder_vae import LadderVAE
from kanerva.models.model import Model
from kanerva.models.prequential import item_bounds


class Curve(NamedTuple):
    """Means over episodes in nats, at 0, 1, ... T - 1 images seen; lower is better."""

    nats: list[float]
    """The bound of the next image, after 0, 1, ... images."""
    stderr: list[float]
    """Standard errors over groups of episodes: characters, where each has several orders."""
    reconstruction: list[float]
    kl_address: list[float]
    kl_code: list[float]
    rise: list[float]
    """By how much the bound rose from one point to the next (below zero: it fell), from the
    second point on."""
    rise_stderr: list[float]
    """Standard errors of these differences, paired."""
    sum: float
    """The whole episode, nothing left out."""
    sum_stderr: float
    episodes: int
    groups: int


class EpisodeSet(NamedTuple):
    """Episodes (E, T, channels, H, W) to evaluate several models on, and the group of each."""

    images: Tensor
    groups: Tensor
    """(E,): episodes with the same number belong together, as orders of one character do."""


def draw_episodes(
    dataset: Dataset,
    *,
    length: int,
    num_classes: int | None,
    orders: int,
    seed: int = 0,
) -> EpisodeSet:
    """Episodes without replacement.

    Args:
        dataset: the split to draw from.
        length: T, the images of an episode.
        num_classes: classes of an episode; with 1 every class of the split has `orders` episodes,
            each in a random order. With more, or None for the whole split, random episodes are
            drawn, `orders` times as many as there are classes.
        orders: how often.
        seed: seed of the orders, and of the episodes.

    Returns:
        The episodes and their groups.

    """
    generator = torch.Generator(dataset.device).manual_seed(seed)
    present = dataset.labels.unique()
    if num_classes != 1:
        sampler = EpisodeSampler(dataset, num_items=length, num_classes=num_classes, distinct=True)
        images = torch.cat(
            [
                sampler.sample(size, generator=generator)
                for size in batch_sizes(len(present) * orders, 100)
            ]
        )
        return EpisodeSet(images, torch.arange(len(images)))
    EpisodeSampler(dataset, num_items=length, num_classes=1, distinct=True)  # checks the counts
    rows, groups = [], []
    for number, label in enumerate(present.tolist()):
        index = (dataset.labels == label).nonzero()[:, 0]
        for _ in range(orders):
            shuffled = torch.randperm(len(index), generator=generator, device=dataset.device)
            rows.append(index[shuffled[:length]])
            groups.append(number)
    images = to_pixels(
        dataset.images[torch.stack(rows)],
        likelihood=dataset.likelihood,
        binarisation=dataset.binarisation,
        generator=generator,
    )
    return EpisodeSet(images, torch.tensor(groups))


def item_nats(model: Model, episodes: Tensor, *, seed: int = 0, batch_size: int = 16) -> ItemBounds:
    """The bound of every item of episodes (E, T, channels, H, W), each term (E, T).

    Args:
        model: a model that predicts the next image, a Kanerva Machine or a VAE.
        episodes: images between 0 and 1.
        seed: seed of all samples.
        batch_size: episodes at a time.

    Returns:
        The named terms in float64, on the CPU.

    """
    generator = torch.Generator(model.device).manual_seed(seed)
    model.eval()
    parts = []
    with torch.no_grad():
        for images in episodes.split(batch_size):
            images = images.to(model.device)
            noise = model.draw_noise(images, generator=generator)
            parts.append(item_bounds(model, images, noise))
    terms = zip(*parts, strict=True)
    return ItemBounds(*(torch.cat(list(term)).double().cpu() for term in terms))


def curve_of(items: ItemBounds, groups: Tensor) -> Curve:
    """Means and standard errors of the bounds of items (E, T)."""
    total = means_of_groups(items.total, groups)
    rises = total.diff(dim=-1)
    return Curve(
        nats=total.mean(0).tolist(),
        stderr=standard_errors(total),
        reconstruction=means_of_groups(items.reconstruction, groups).mean(0).tolist(),
        kl_address=means_of_groups(items.kl_address, groups).mean(0).tolist(),
        kl_code=means_of_groups(items.kl_code, groups).mean(0).tolist(),
        rise=rises.mean(0).tolist(),
        rise_stderr=standard_errors(rises),
        sum=total.sum(-1).mean().item(),
        sum_stderr=standard_error(total.sum(-1)),
        episodes=len(items.total),
        groups=len(total),
    )


def difference(left: Tensor, right: Tensor, groups: Tensor) -> tuple[list[float], list[float]]:
    """Means and paired standard errors of left - right, (E, T) each."""
    paired = means_of_groups(left - right, groups)
    return paired.mean(0).tolist(), standard_errors(paired)


def importance_nats(
    model: Model,
    episodes: Tensor,
    *,
    items: Sequence[int],
    num_samples: int,
    seed: int = 0,
    chunk: int = 50,
    batch_size: int = 16,
) -> Tensor:
    """-ln of the mean of importance weights of some items, (E, number of items), in float64.

    It lies between the bound and -ln p(x_t | x_1 ... x_(t-1)). Weights are drawn `chunk` at a time,
    each chunk with memories that are written anew: the mean is over samples of writing, too.

    Args:
        model: a model that predicts the next image, or its VAE twin.
        episodes: images (E, T, channels, H, W) between 0 and 1.
        items: which items of each episode, from 0: item n is predicted from n others.
        num_samples: weights for each item.
        seed: seed of all samples.
        chunk: weights at a time.
        batch_size: episodes at a time.

    Returns:
        Nats of each item.

    """
    if not isinstance(model, FewShotMachine | LadderVAE):
        raise KanervaError(
            "model",
            expected="a model that predicts the next image, or its VAE twin",
            got=type(model).__name__,
            fix="Use kanerva.load('fewshot'), or leave the importance samples out.",
        )
    generator = torch.Generator(model.device).manual_seed(seed)
    model.eval()
    rows = []
    with torch.no_grad():
        for images in episodes.split(batch_size):
            parts = [
                model.log_importance_weights(
                    images.to(model.device), num_samples=size, generator=generator, items=items
                ).logsumexp(0)
                for size in batch_sizes(num_samples, chunk)
            ]
            rows.append(math.log(num_samples) - torch.stack(parts).double().logsumexp(0))
    return torch.cat(rows).cpu()


def means_of_groups(values: Tensor, groups: Tensor) -> Tensor:
    """Means over the episodes of each group, (G, ...)."""
    count = int(groups.max()) + 1
    sums = torch.zeros(count, *values.shape[1:], dtype=values.dtype).index_add_(0, groups, values)
    sizes = torch.bincount(groups, minlength=count).to(values.dtype)
    return sums / sizes.reshape(-1, *[1] * (values.dim() - 1))


def standard_errors(values: Tensor) -> list[float]:
    """Standard errors of the mean over the first dimension of values (N, T)."""
    return [standard_error(column) for column in values.unbind(-1)]
