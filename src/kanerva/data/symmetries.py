"""The 8 ways to turn and mirror a square image, for more classes of drawings than there are."""

import torch
from torch import Tensor

from kanerva.errors import KanervaError

NUM_WAYS = 8


def turned(images: Tensor, ways: Tensor) -> Tensor:
    """Images (..., channels, H, H), each turned or mirrored in its own way (...), from 0 to 7.

    The bits of a way say whether rows and columns are swapped, and whether each is reversed. Way 0
    is the image itself. It does not wait for the device.

    Example:
        >>> import torch
        >>> from kanerva.data.symmetries import turned
        >>> image = torch.tensor([[[1, 2], [3, 4]]])
        >>> [turned(image, torch.tensor(way)).flatten().tolist() for way in (0, 1, 2)]
        [[1, 2, 3, 4], [1, 3, 2, 4], [2, 1, 4, 3]]

    """
    bits = ways[..., None, None, None]
    images = torch.where(bits % 2 == 1, images.mT, images)
    images = torch.where(bits // 2 % 2 == 1, images.flip(-1), images)
    return torch.where(bits // 4 % 2 == 1, images.flip(-2), images)


def check_square(image_shape: tuple[int, int, int]) -> None:
    """Refuse images that a quarter turn would give another shape."""
    _, height, width = image_shape
    if height != width:
        raise KanervaError(
            "symmetries",
            expected="square images, which stay as they are in size when they are turned",
            got=f"{height} x {width} pixels",
            fix="Leave it out, or read the images at a square size.",
        )
