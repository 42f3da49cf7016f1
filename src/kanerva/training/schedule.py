"""How the learning rate and the weight of the KL terms change during training."""

from typing import NamedTuple

import torch
from torch import Tensor

from kanerva.training.config import TrainingConfig


class Schedule(NamedTuple):
    """The settings as numbers on the device, so that one compiled step serves all of them."""

    lr: Tensor
    warmup: Tensor
    decay: Tensor
    steps: Tensor
    kl_warmup: Tensor

    @staticmethod
    def of(config: TrainingConfig, device: torch.device) -> "Schedule":
        """The schedule of a training."""
        warmup = min(config.warmup, config.steps // 2)
        decay = config.decay * (config.steps - warmup)
        numbers = (config.lr, max(warmup, 1), max(decay, 1), config.steps, max(config.kl_warmup, 1))
        return Schedule(*torch.tensor(numbers, dtype=torch.float64, device=device).unbind())

    def learning_rate(self, count: Tensor) -> Tensor:
        """The rate after `count` steps: it rises over `warmup` and falls over the last `decay`."""
        rise = (count + 1) / self.warmup
        fall = (self.steps - count) / self.decay
        return (self.lr * torch.minimum(rise, fall).clamp(0, 1)).float()

    def kl_weight(self, count: Tensor) -> Tensor:
        """The weight after `count` steps: it rises from 0.1 to 1 over `kl_warmup`."""
        return (0.1 + 0.9 * (count / self.kl_warmup).clamp(max=1)).float()
