"""What changes as training goes on: the learning rate and the weight of the KL terms."""

from typing import NamedTuple

import torch
from torch import Tensor

from kanerva.training.config import TrainingConfig


class Schedule(NamedTuple):
    """Numbers on the device, so that one compiled step serves every setting of them."""

    lr: Tensor
    warmup: Tensor
    decay: Tensor
    steps: Tensor
    kl_warmup: Tensor

    @staticmethod
    def of(config: TrainingConfig, device: torch.device) -> "Schedule":
        warmup = min(config.warmup, config.steps // 2)
        decay = config.decay * (config.steps - warmup)
        numbers = (config.lr, max(warmup, 1), max(decay, 1), config.steps, max(config.kl_warmup, 1))
        return Schedule(*torch.tensor(numbers, dtype=torch.float64, device=device).unbind())

    def learning_rate(self, count: Tensor) -> Tensor:
        """After `count` steps: up over `warmup`, and down to zero over the last `decay` steps."""
        rise = (count + 1) / self.warmup
        fall = (self.steps - count) / self.decay
        return (self.lr * torch.minimum(rise, fall).clamp(0, 1)).float()

    def kl_weight(self, count: Tensor) -> Tensor:
        """From 1/10 to 1 over `kl_warmup` steps."""
        return (0.1 + 0.9 * (count / self.kl_warmup).clamp(max=1)).float()
