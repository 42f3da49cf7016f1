"""Reading a memory again and again (algorithm 1), and along a line of weights (section 4.3)."""

from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from kanerva.distributions import gaussian
from kanerva.models.coder import Coder
from kanerva.models.memory_access import MemoryAccess
from kanerva.models.model import OnReading

State = TypeVar("State")
TOLERANCE = 0.2
"""How far the code of a reading may be from what the memory holds, relative to the code's size."""


class ReadResult(NamedTuple):
    """The images that a memory returned for some cues, with a confidence for each."""

    images: Tensor
    """(..., T, channels, H, W) like the cues: means of p(x|z) after the last reading."""
    weights: Tensor
    """(..., T, K): how much each row of the memory counted."""
    codes: Tensor
    """(..., T, C): the codes that were decoded."""
    confidence: Tensor
    """(..., T) between 0 and 1: how well the reading explains the cue, see `confidence_in`."""
    steps: list[Tensor]
    """The images after each reading, the last one included."""


def read_repeatedly(
    coder: Coder,
    access: MemoryAccess[State],
    cues: Tensor,
    state: State,
    *,
    num_readings: int,
    sample: bool,
    generator: torch.Generator | None,
    on_reading: OnReading | None,
) -> ReadResult:
    """Algorithm 1 for cues that were checked. Arguments are those of `MemoryModel.read`."""
    memory, addressing, likelihood = access.memory, access.addressing, coder.likelihood
    batch_shape = memory.batch_shape(state)
    cue, steps = cues, []
    weights = codes = cues  # set below: there is at least one reading
    for number in range(1, num_readings + 1):
        embeddings = coder.encode(cue)
        posterior = addressing.posterior(embeddings, state)
        address = addressing.address_for(posterior.draw(sample, generator))
        noise = None
        if sample:
            noise = memory.draw_noise(batch_shape, device=cues.device, generator=generator)
        code = access.read(embeddings, address, state, noise)
        weights = code.prior.weights
        codes = code.distribution.draw(sample, generator)
        parameters = coder.decode(codes)
        steps.append(likelihood.mean(parameters))
        cue = likelihood.sample(parameters, generator) if sample else steps[-1]
        if on_reading is not None:
            on_reading(number, steps[-1])
    confidence = confidence_in(coder, access, cues, codes, steps[-1], state)
    return ReadResult(steps[-1], weights, codes, confidence, steps)


def confidence_in(
    coder: Coder,
    access: MemoryAccess[State],
    cues: Tensor,
    codes: Tensor,
    images: Tensor,
    state: State,
) -> Tensor:
    """How much to trust readings of cues, (..., T) between 0 and 1.

    It is the product of two answers. Does the reading explain the cue as it was asked? That is the
    share of the cue's code that the code of the reading explains. And does the memory hold what was
    read? The image is encoded again, and its code is compared with what the memory holds at its
    address: an overfull memory holds mixtures there. Distances are relative to the distance of the
    cue's code from what an empty memory holds, so that the score does not depend on the scale of
    codes. It is not a calibrated probability.
    """
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


def read_along_line(
    coder: Coder, access: MemoryAccess[State], ends: Tensor, state: State, *, steps: int
) -> Tensor:
    """Images (steps, ..., channels, H, W) between the two ends (..., 2, channels, H, W)."""
    memory, addressing = access.memory, access.addressing
    address = addressing.address_for(addressing.posterior(coder.encode(ends), state).mean)
    share = torch.linspace(0, 1, steps, device=address.device)[:, None]
    line = torch.lerp(address[..., :1, :], address[..., 1:, :], share)
    codes = memory.read(state, line).mean
    return coder.likelihood.mean(coder.decode(codes)).movedim(-4, 0)
