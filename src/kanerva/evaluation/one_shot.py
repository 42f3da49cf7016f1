"""One-shot classification: which of 20 drawings is of the same character as another one?"""

from typing import NamedTuple

import torch
from torch import Tensor

from kanerva.data import Dataset
from kanerva.data.pixels import to_pixels
from kanerva.models.few_shot_machine import FewShotMachine


class OneShot(NamedTuple):
    """Shares of the trials in which the right class was found."""

    bound: float
    """By the smallest bound of the drawing, given the one drawing of each class."""
    nearest_pixels: float
    """By the smallest difference of pixels."""
    bound_stderr: float
    nearest_stderr: float
    num_classes: int
    drawings: int
    """How many drawings were classified."""
    samples: int
    """Samples of the bound for each pair."""


@torch.no_grad()
def measure_one_shot(
    model: FewShotMachine,
    dataset: Dataset,
    *,
    num_trials: int,
    num_classes: int = 20,
    num_samples: int = 4,
    seed: int = 0,
) -> OneShot:
    """Classify drawings by the bound under the memory of one drawing of each class.

    Args:
        model: a few-shot model.
        dataset: characters that it was not trained on.
        num_trials: how often classes are drawn; each trial classifies one drawing of every class.
        num_classes: classes of a trial.
        num_samples: samples of the bound for each pair; all classes share their random numbers.
        seed: seed of the trials and of all samples.

    Returns:
        Accuracies, next to those of the nearest pixels.

    """
    generator = torch.Generator().manual_seed(seed)
    present = dataset.labels.unique()
    by_bound, by_pixels = [], []
    for _ in range(num_trials):
        labels = present[torch.randperm(len(present), generator=generator)[:num_classes]]
        index = torch.stack([_pair(dataset, int(label), generator) for label in labels])
        images = to_pixels(
            dataset.images[index],
            likelihood=dataset.likelihood,
            binarisation=dataset.binarisation,
            generator=generator,
        )
        given, asked = images.unbind(1)
        nats = torch.stack(
            [_nats(model, given, drawing, num_samples, generator) for drawing in asked]
        )
        difference = (asked[:, None] - given).abs().flatten(2).sum(-1)
        truth = torch.arange(num_classes)
        by_bound.append((nats.argmin(-1) == truth).double().mean())
        by_pixels.append((difference.argmin(-1) == truth).double().mean())
    bound, pixels = torch.stack(by_bound), torch.stack(by_pixels)
    root = num_trials**0.5
    return OneShot(
        bound=bound.mean().item(),
        nearest_pixels=pixels.mean().item(),
        bound_stderr=bound.std().item() / root,
        nearest_stderr=pixels.std().item() / root,
        num_classes=num_classes,
        drawings=num_trials * num_classes,
        samples=num_samples,
    )


def _pair(dataset: Dataset, label: int, generator: torch.Generator) -> Tensor:
    """The numbers of two different drawings of a class: one is given, one is asked about."""
    index = (dataset.labels == label).nonzero()[:, 0]
    return index[torch.randperm(len(index), generator=generator)[:2]]


def _nats(
    model: FewShotMachine,
    given: Tensor,
    drawing: Tensor,
    num_samples: int,
    generator: torch.Generator,
) -> Tensor:
    """The bound of one drawing after each of the given ones, (number of classes,)."""
    episodes = torch.stack([given, drawing.expand_as(given)], dim=1)
    total = torch.zeros(len(given))
    for _ in range(num_samples):
        noise = model.draw_noise(episodes[:1], generator=generator)
        assert noise.address is not None
        shared = noise._replace(
            code=noise.code.expand(len(given), -1, -1),
            address=noise.address.expand(-1, len(given), -1, -1),
        )
        total += model.item_bounds(episodes, shared).total[:, 1]
    return total / num_samples
