"""All parameters as one vector, so that Adam takes one pass instead of one for each tensor."""

import torch
from torch import Tensor, nn


class FlatParameters:
    """Parameters as views of `vector`, and their gradients as one vector."""

    def __init__(self, parameters: list[nn.Parameter]) -> None:
        self.parameters = parameters
        self.vector = torch.cat([_in_storage_order(p.detach(), p) for p in parameters])
        start = 0
        for parameter in parameters:
            part = self.vector[start : start + parameter.numel()]
            parameter.data = part.as_strided(parameter.shape, parameter.stride())
            start += parameter.numel()

    def gradient(self, loss: Tensor, *, is_single_process: bool) -> Tensor:
        """The gradient of `loss` as one vector, with zeros for parameters that have none.

        One process of several uses `backward`, where DistributedDataParallel takes part.
        """
        if is_single_process:
            parts = torch.autograd.grad(loss, self.parameters, allow_unused=True)
        else:
            for parameter in self.parameters:
                parameter.grad = None
            loss.backward()
            parts = [parameter.grad for parameter in self.parameters]
        return torch.cat(
            [
                torch.zeros_like(p).flatten() if part is None else _in_storage_order(part, p)
                for p, part in zip(self.parameters, parts, strict=True)
            ]
        )


def _in_storage_order(tensor: Tensor, like: Tensor) -> Tensor:
    """The numbers in the order in which `like` keeps its own, for example channels last."""
    if tensor.stride() != like.stride():
        tensor = torch.empty_like(like).copy_(tensor)
    return tensor.as_strided((tensor.numel(),), (1,), tensor.storage_offset())
