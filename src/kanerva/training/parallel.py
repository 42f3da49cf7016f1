"""One process, or one of several that `torchrun` started."""

import gc
import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn


def is_first_process() -> bool:
    """Whether this process writes files, as `torchrun` says before the processes have met."""
    return os.environ.get("RANK", "0") == "0"


@dataclass(frozen=True)
class Parallel:
    """The rank of this process among its peers, and the device that it computes on."""

    device: torch.device
    rank: int = 0
    world: int = 1

    @classmethod
    def from_environment(cls, device: str | None = None) -> "Parallel":
        """One of the processes that `torchrun` started, or a process alone.

        `device` is by default a GPU where there is one.
        """
        world = int(os.environ.get("WORLD_SIZE", "1"))
        cuda = torch.cuda.is_available() if device is None else device.startswith("cuda")
        if world == 1:
            return cls(torch.device(device or ("cuda" if cuda else "cpu")))
        local = int(os.environ.get("LOCAL_RANK", "0"))
        where = torch.device("cuda", local) if cuda else torch.device("cpu")
        if cuda:
            torch.cuda.set_device(where)
        if not dist.is_initialized():
            dist.init_process_group("nccl" if cuda else "gloo")
        return cls(where, dist.get_rank(), world)

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and shows progress."""
        return self.rank == 0

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model, inside DistributedDataParallel where there are peers."""
        return model if self.world == 1 else nn.parallel.DistributedDataParallel(model)

    def agree(self, tensor: Tensor) -> bool:
        """Whether every process has the same numbers."""
        if self.world == 1:
            return True
        extremes = torch.stack([tensor.detach(), -tensor.detach()])
        dist.all_reduce(extremes, dist.ReduceOp.MAX)
        return torch.equal(extremes[0], -extremes[1])

    def agree_on(self, signal_number: int | None) -> int | None:
        """The signal that came to any of the processes, if one did."""
        if self.world == 1:
            return signal_number
        largest = torch.tensor(signal_number or 0, device=self.device)
        dist.all_reduce(largest, dist.ReduceOp.MAX)
        return int(largest) or None

    def gather(self, tensor: Tensor) -> Tensor:
        """The tensors of all processes (world, ...), in the order of their ranks, on the CPU."""
        parts: list[Tensor] = [tensor] * self.world
        if self.world > 1:
            dist.all_gather_object(parts, tensor.cpu())
        return torch.stack([part.cpu() for part in parts])

    def close(self) -> None:
        """Leave the group of processes, once nothing uses the model any more.

        DistributedDataParallel keeps threads of the group alive. Threads that outlive the
        interpreter abort the process now and then.
        """
        if self.world > 1:
            gc.collect()
            dist.destroy_process_group()
