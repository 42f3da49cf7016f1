"""Reading a memory again and again (algorithm 1), and along a line of weights (section 4.3)."""

from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from kanerva.models.coder import Coder
from kanerva.models.inference import Inference
from kanerva.models.model import OnReading

State = TypeVar("State")


class ReadResult(NamedTuple):
    """What a memory returned for cues (..., T, channels, H, W)."""

    images: Tensor
    """Means of p(x|z) after the last reading, between 0 and 1."""
    weights: Tensor
    """(..., T, K): how much each row of the memory counted."""
    codes: Tensor
    """(..., T, C): the codes that were decoded."""
    confidence: Tensor
    """(..., T) in (0, 1]: sigma^2 / (w U w' + sigma^2), near 1 where the memory is sure."""
    steps: list[Tensor]
    """The images after each reading, the last one included."""


def read_repeatedly(
    coder: Coder,
    inference: Inference[State],
    cues: Tensor,
    state: State,
    *,
    num_readings: int,
    sample: bool,
    generator: torch.Generator | None,
    on_reading: OnReading | None,
) -> ReadResult:
    """Algorithm 1 for cues that were checked. Arguments are those of `MemoryModel.read`."""
    memory, addressing, likelihood = inference.memory, inference.addressing, coder.likelihood
    batch_shape = memory.batch_shape(state)
    cue, steps = cues, []
    address = weights = codes = cues  # set below: there is at least one reading
    for number in range(1, num_readings + 1):
        embeddings = coder.encode(cue)
        posterior = addressing.posterior(embeddings, state)
        address = addressing.address_for(posterior.draw(sample, generator))
        noise = memory.draw_noise(batch_shape, device=cues.device, generator=generator)
        code = inference.read(embeddings, address, state, noise)
        weights = code.prior.weights
        codes = code.distribution.draw(sample, generator)
        parameters = coder.decode(codes)
        steps.append(likelihood.mean(parameters))
        cue = likelihood.sample(parameters, generator) if sample else steps[-1]
        if on_reading is not None:
            on_reading(number, steps[-1])
    return ReadResult(steps[-1], weights, codes, memory.confidence(state, address), steps)


def read_along_line(
    coder: Coder, inference: Inference[State], ends: Tensor, state: State, *, steps: int
) -> Tensor:
    """Images (steps, ..., channels, H, W) between the two ends (..., 2, channels, H, W)."""
    memory, addressing = inference.memory, inference.addressing
    address = addressing.address_for(addressing.posterior(coder.encode(ends), state).mean)
    share = torch.linspace(0, 1, steps, device=address.device)[:, None]
    line = torch.lerp(address[..., :1, :], address[..., 1:, :], share)
    noise = memory.draw_noise(memory.batch_shape(state), device=ends.device, generator=None)
    codes = memory.read(state, line, noise=noise).mean
    return coder.likelihood.mean(coder.decode(codes)).movedim(-4, 0)
