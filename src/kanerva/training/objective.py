"""The parts of a training step that are functions of tensors, so that each can be compiled."""

import torch
from torch import Tensor, nn

from kanerva.models.bound import Bound
from kanerva.models.model import Noise
from kanerva.training.adam import Adam, update
from kanerva.training.schedule import Schedule


def objective(
    module: nn.Module,
    images: Tensor,
    noise: Noise,
    cues: Tensor | None,
    schedule: Schedule,
    count: Tensor,
) -> tuple[Tensor, Tensor]:
    """The training loss, and the means of the bound's terms over episodes with undamaged cues."""
    num_damaged = 0 if cues is None or len(cues) == len(images) else len(cues)
    bound: Bound = module(images, noise, cues)
    terms = (bound.reconstruction, bound.kl_address, bound.kl_code)
    means = [term.detach()[num_damaged:].mean() for term in terms]
    return bound.weighted(schedule.kl_weight(count)).mean(), torch.stack(means)


def finish(
    adam: Adam,
    gradient: Tensor,
    terms: Tensor,
    schedule: Schedule,
    count: Tensor,
    sums: Tensor,
    clip: float,
) -> None:
    """What comes after the gradient: Adam, the count of steps, the metrics."""
    norm = gradient.norm()
    update(adam, gradient, schedule.learning_rate(count), count, clip)
    count.add_(1)
    skipped = (~norm.isfinite()).float()
    row = torch.cat([terms, torch.stack([norm, skipped, torch.ones_like(norm)])])
    sums.add_(row.nan_to_num(0, 0, 0))
