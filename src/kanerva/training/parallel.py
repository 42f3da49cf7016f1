"""One process, or one of several that `torchrun` started."""

import gc
import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn


@dataclass(frozen=True)
class Parallel:
    """Where this process stands among its peers, and where it computes."""

    device: torch.device
    rank: int = 0
    world: int = 1

    @classmethod
    def from_environment(cls, device: str | None = None) -> "Parallel":
        """As `torchrun` says; alone otherwise. `device` defaults to a GPU where there is one."""
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
        return self.rank == 0

    def wrap(self, model: nn.Module) -> nn.Module:
        """DistributedDataParallel where there are peers."""
        return model if self.world == 1 else nn.parallel.DistributedDataParallel(model)

    def agree(self, tensor: Tensor) -> bool:
        """Whether every process has the same numbers."""
        if self.world == 1:
            return True
        extremes = torch.stack([tensor.detach(), -tensor.detach()])
        dist.all_reduce(extremes, dist.ReduceOp.MAX)
        return torch.equal(extremes[0], -extremes[1])

    def close(self) -> None:
        """Part from the peers, once nothing uses the model any more.

        What DistributedDataParallel holds keeps threads of the process group alive. Those that
        outlive the interpreter abort the process, now and then.
        """
        if self.world > 1:
            gc.collect()
            dist.destroy_process_group()
