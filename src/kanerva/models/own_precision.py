"""Methods of models that compute in the model's own precision, whatever the caller's is.

A model knows which of its parts may run in bfloat16. Addresses need more than its three digits.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

import torch

Method = TypeVar("Method", bound=Callable[..., object])


@contextlib.contextmanager
def own_precision() -> Iterator[None]:
    """A decorator for methods that `torch.autocast` around them does not change."""
    with contextlib.ExitStack() as stack:
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        yield


def inference(method: Method) -> Method:
    """The same for a method that needs no gradients."""
    return torch.no_grad()(own_precision()(method))
