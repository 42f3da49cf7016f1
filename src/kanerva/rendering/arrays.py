"""Tensors and arrays as NumPy arrays, without importing torch."""

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Tensor(Protocol):
    """What a torch tensor has, as far as it is needed here."""

    def detach(self) -> "Tensor": ...
    def float(self) -> "Tensor": ...
    def cpu(self) -> "Tensor": ...
    def numpy(self) -> NDArray[np.float32]: ...


Images = ArrayLike | Tensor
"""Images (N, channels, H, W): an array, nested lists, or a tensor on any device."""


def as_array(images: Images) -> NDArray[np.floating]:
    """Values as an array of floats; a tensor's become float32."""
    detach = getattr(images, "detach", None)
    if detach is not None:
        return detach().float().cpu().numpy()
    array = np.asarray(images)
    return array if np.issubdtype(array.dtype, np.floating) else array.astype(np.float64)
