"""When the numbers in a tensor can be looked at, and how.

While a CUDA graph is captured or a function is compiled, tensors have no numbers yet. Inside
`torch.func` transforms (vmap, grad, jacrev, ...) they have some, but they are wrapped: a branch may
look at them, and everything that is computed must go through the wrappers.
"""

import torch
from torch import Tensor
from torch._C import _functorch  # pyright: ignore[reportAttributeAccessIssue]
from torch.autograd import forward_ad


def is_capturing_graph(tensor: Tensor) -> bool:
    """Whether a CUDA graph is being captured or a function compiled: values cannot be read then."""
    if torch.compiler.is_compiling():
        return True
    return tensor.is_cuda and torch.cuda.is_current_stream_capturing()


def is_transforming() -> bool:
    """Whether a transform of `torch.func` or forward-mode differentiation is active.

    Then only plain operations work: in-place operations, `out=` and the autograd functions of this
    package, which are made for speed, do not.
    """
    if torch.compiler.is_compiling():
        return False
    # autograd.Function.apply asks the same question; there is no public way to ask it.
    transforms = torch._C._are_functorch_transforms_active()
    return transforms or getattr(forward_ad, "_current_level", -1) >= 0


def is_differentiating() -> bool:
    """Whether the innermost transform of `torch.func` is a derivative and not `vmap`."""
    innermost = _functorch.peek_interpreter_stack()
    return innermost is not None and innermost.key() != _functorch.TransformType.Vmap


def numbers(tensor: Tensor) -> Tensor:
    """The numbers in a tensor without gradients and wrappers, to look at and not to compute with.

    Inside `vmap`, the dimensions that it hides are there too.
    """
    while _functorch.is_functorch_wrapped_tensor(tensor):
        tensor = _functorch.get_unwrapped(tensor)
    return tensor.detach() if tensor.requires_grad else tensor


def any_true(condition: Tensor) -> bool:
    """Whether a condition holds anywhere, also in the hidden dimensions of `vmap`."""
    return bool(numbers(condition).any())
