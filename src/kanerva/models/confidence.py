"""How much to trust a reading: signs that it is right, and a probability made of them.

Shapes: T cues, C code size; leading dimensions are free.
"""

from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from kanerva.distributions import gaussian
from kanerva.models.coder import Coder
from kanerva.models.fitted_network import FittedNetwork
from kanerva.models.likelihood import BernoulliPixels
from kanerva.models.memory_access import MemoryAccess

State = TypeVar("State")
TOLERANCE = 0.2
"""How far the code of a reading may be from what the memory holds, relative to the code's size."""


class Signs(NamedTuple):
    """What is known about a reading when it has ended. Each is (..., T)."""

    distance: Tensor
    """How far the address that was found is from that of the cue, in widths of the keys."""
    log_var: Tensor
    """The logarithm of the variance that the memory predicts there."""
    first_log_var: Tensor
    """The same at the address of the cue."""
    lead: Tensor
    """The log-odds that the item that was chosen is the right one; see `Choice.lead`."""
    return_distance: Tensor
    """How far the address of the image that was read is from where it was read."""
    code_distance: Tensor
    """The logarithm of the squared distance between the codes of the cue and of the reading."""
    added_ink: Tensor
    """The share of the reading's ink that the cue does not have."""
    missing_ink: Tensor
    """The share of the cue's ink that the reading does not have."""
    cue_ink: Tensor
    """ln(1 + pixels of ink in the cue): what is left of a drawing may be a dot."""
    shared_ink: Tensor
    """The same of the pixels that the cue and the reading share."""
    fill: Tensor
    """How full the memory is."""


class Calibration(FittedNetwork):
    """The probability that a reading is the image it was asked for, from its signs.

    A network with one hidden layer, fitted on images that the model was not trained on
    (`kanerva.evaluation.calibrate`).
    """

    def __init__(self) -> None:
        super().__init__(len(Signs._fields), num_hidden=16)

    def forward(self, signs: Signs) -> Tensor:
        """The probability that each reading is right, (..., T)."""
        return torch.sigmoid(self.logits(torch.stack(torch.broadcast_tensors(*signs), -1)))


def ink_signs(cues: Tensor, images: Tensor) -> dict[str, Tensor]:
    """The signs of readings (..., T, channels, H, W) that are made of ink."""
    cues, images = cues.flatten(-3), images.flatten(-3)
    ink, both = cues.sum(-1), torch.minimum(cues, images).sum(-1)
    return {
        "added_ink": 1 - both / images.sum(-1).clamp_min(1),
        "missing_ink": 1 - both / ink.clamp_min(1),
        "cue_ink": ink.log1p(),
        "shared_ink": both.log1p(),
    }


def zero_without_ink(confidence: Tensor, cues: Tensor, images: Tensor, coder: Coder) -> Tensor:
    """The confidence, but 0 for a cue or a reading without ink: it asks for nothing, or is nothing.

    A cue needs one pixel of ink in all, a reading a pixel that is more likely ink than not. Colours
    have no ink: a black photograph is an image like others.
    """
    if not isinstance(coder.likelihood, BernoulliPixels):
        return confidence
    is_blank = (cues.flatten(-3).sum(-1) < 1) | (images.flatten(-3).amax(-1) < 0.5)
    return torch.where(is_blank, 0.0, confidence)


def confidence_in(
    coder: Coder,
    access: MemoryAccess[State],
    cues: Tensor,
    codes: Tensor,
    images: Tensor,
    state: State,
) -> Tensor:
    """A score of readings, (..., T) between 0 and 1, for models without a calibration.

    It is the product of two answers. Does the reading explain the cue as it was asked? That is the
    share of the cue's code that the code of the reading explains. And does the memory hold what was
    read? The image is encoded again, and its code is compared with what the memory holds at its
    address: an overfull memory holds mixtures there. Distances are relative to the distance of the
    cue's code from what an empty memory holds, so that the score does not depend on the scale of
    codes. It is not a calibrated probability. NaN where items cannot be found again.
    """
    if not access.addressing.finds_items:
        return codes.new_full(codes.shape[:-1], torch.nan)
    memory = access.memory
    prior = memory.initial_state(memory.batch_shape(state))
    cue_codes, expected = _code_and_memory(coder, access, cues, prior)
    read_codes, held = _code_and_memory(coder, access, images, state)
    scale = (cue_codes - expected).square().mean(-1).clamp_min(torch.finfo(codes.dtype).tiny)
    unexplained = (cue_codes - codes).square().mean(-1) / scale
    inconsistent = (read_codes - held).square().mean(-1) / scale
    return (1 - unexplained).clamp(0, 1) * (-inconsistent / TOLERANCE**2).exp()


def _code_and_memory(
    coder: Coder, access: MemoryAccess[State], images: Tensor, state: State
) -> tuple[Tensor, Tensor]:
    """The code of each image, and what the memory holds at its address, both (..., T, C)."""
    memory, addressing = access.memory, access.addressing
    embeddings = coder.encode(images)
    address = addressing.address_for(addressing.posterior(embeddings, state).mean)
    held = memory.read(state, address).mean
    return gaussian.from_parameters(embeddings).mean, held
