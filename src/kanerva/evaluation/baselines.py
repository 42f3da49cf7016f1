"""What a user would pick instead of a memory for recall: keep all images and look one up.

Shapes: B episodes, T items.
"""

import torch
from torch import Tensor

HOPFIELD_SHARPNESS = 0.5
"""Inverse temperature of the modern Hopfield retrieval, per differing pixel."""
HOPFIELD_STEPS = 3


def nearest_images(cues: Tensor, images: Tensor) -> Tensor:
    """The stored image with the fewest different pixels, for each cue.

    Args:
        cues: (B, T, channels, H, W).
        images: the stored images, of the same shape.

    Returns:
        One of the images for each cue.

    """
    index = torch.cdist(cues.flatten(2), images.flatten(2), p=1).argmin(-1)
    return torch.take_along_dim(images, index[..., None, None, None], dim=1)


def hopfield_images(cues: Tensor, images: Tensor) -> Tensor:
    """What a modern Hopfield network recalls (Ramsauer et al. 2020), for each cue.

    The state becomes the mean of the stored images, weighted by a softmax of their similarity to
    the state, `HOPFIELD_STEPS` times. Similarity is minus half of the squared distance, so that
    images with much ink are not preferred.

    Args:
        cues: (B, T, channels, H, W).
        images: the stored images, of the same shape.

    Returns:
        Grey images between 0 and 1, of the shape of the cues.

    """
    state, stored = cues.flatten(2), images.flatten(2)
    for _ in range(HOPFIELD_STEPS):
        distance = torch.cdist(state, stored).square()
        state = torch.softmax(-HOPFIELD_SHARPNESS * distance, dim=-1) @ stored
    return state.reshape(cues.shape)
