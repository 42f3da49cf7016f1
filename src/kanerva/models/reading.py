"""Reading a memory again and again (algorithm 1), and along a line of weights (section 4.3)."""

from typing import Generic, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor

from kanerva.checks import check_integer
from kanerva.errors import KanervaError
from kanerva.memory.tensor_checks import check_flag
from kanerva.models.coder import Coder
from kanerva.models.confidence import Signs, confidence_in, zero_without_ink
from kanerva.models.memory_access import MemoryAccess
from kanerva.models.model import OnReading

State = TypeVar("State")
Searched = TypeVar("Searched", contravariant=True)
NUM_READINGS = 6
"""Readings of algorithm 1; the paper uses 1 to 8."""


class SearchOptions(NamedTuple):
    """How to search a memory."""

    num_readings: int | None
    """How many readings; None for as many as it takes."""
    num_starts: int | None
    """From how many places; None for as many as pay off with these keys."""
    on_reading: OnReading | None


class ReadResult(NamedTuple):
    """The images that a memory returned for some cues, with a confidence for each."""

    images: Tensor
    """(..., T, channels, H, W) like the cues: means of p(x|z) after the last reading."""
    weights: Tensor
    """(..., T, K): how much each row of the memory counted."""
    codes: Tensor
    """(..., T, C): the codes that were decoded."""
    confidence: Tensor
    """(..., T) between 0 and 1: the probability that the reading is the image the cue was made of,
    for a model with a calibration; a score for others; NaN for a model of what drawings have in
    common, such as `fewshot`. A cue without ink has 0. See `kanerva.models.confidence`."""
    steps: list[Tensor]
    """The images after each reading, the last one included."""
    objectives: Tensor | None = None
    """(readings, ..., T): what a search maximises, after each reading. It never falls. None for
    algorithm 1, which maximises nothing."""
    signs: Signs | None = None
    """What the confidence was made of; None for algorithm 1."""


class Reader(Protocol, Generic[Searched]):
    """What reads cues by searching a memory."""

    def read(self, cues: Tensor, memory: Searched, options: SearchOptions) -> ReadResult:
        """What the memory holds for cues (..., T, channels, H, W) that were checked."""
        ...


def checked_search(
    num_readings: int | None,
    keep_cue: bool | None,
    num_starts: int | None,
    sample: bool,
    on_reading: OnReading | None,
    *,
    can_search: bool,
) -> SearchOptions | None:
    """How to search, or None for algorithm 1. Options of the other way are refused."""
    if num_readings is not None:
        check_integer("num_readings", num_readings, fix="Leave it out, or try 6.")
    if keep_cue is not None:
        check_flag("keep_cue", keep_cue)
    searches = can_search and not sample if keep_cue is None else keep_cue
    if searches and (sample or not can_search):
        raise KanervaError(
            "keep_cue",
            expected="False with sample, and for memories other than a Kanerva Machine's",
            got="True",
            fix="Leave it out, or pass keep_cue=False for algorithm 1.",
        )
    if num_starts is not None:
        check_integer("num_starts", num_starts, at_most=1000, fix="Leave it out, or try 8.")
        if not searches:
            raise KanervaError(
                "num_starts",
                expected="nothing for algorithm 1, which does not search",
                got=str(num_starts),
                fix="Leave it out.",
            )
    return SearchOptions(num_readings, num_starts, on_reading) if searches else None


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
    confidence = zero_without_ink(confidence, cues, steps[-1], coder)
    return ReadResult(steps[-1], weights, codes, confidence, steps)


def decode_prior(
    coder: Coder,
    access: MemoryAccess[State],
    state: State,
    batch: torch.Size,
    num_images: int,
    *,
    sample: bool,
    generator: torch.Generator | None,
) -> Tensor:
    """Parameters of p(x|z) for what a memory holds at address codes from their prior."""
    device = next(coder.parameters()).device
    shape = (*batch, num_images, access.addressing.address_code_size)
    y = torch.randn(shape, dtype=coder.dtype, device=device, generator=generator)
    address = access.addressing.address_for(y)
    draw_noise = access.memory.draw_noise
    noise = draw_noise(batch, device=device, generator=generator) if sample else None
    code = access.memory.read(state, address, noise=noise).distribution
    return coder.decode(code.draw(sample, generator))


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
