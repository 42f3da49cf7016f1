"""Importance weights of a model with a memory: samples that tighten its bound."""

from collections.abc import Iterator
from typing import TypeVar

import torch
from torch import Tensor

from kanerva.distributions import gaussian
from kanerva.models.coder import Coder
from kanerva.models.memory_access import MemoryAccess
from kanerva.models.model import Noise

State = TypeVar("State")


def log_importance_weights(
    coder: Coder, access: MemoryAccess[State], images: Tensor, noises: Iterator[Noise]
) -> Tensor:
    """ln p(x, y, z | M) - ln q(y, z | x, M), (num_samples, B, T).

    The memory is written once, with the first of `noises`. The reader draws y and z again for every
    weight, with one of the others each.
    """
    embeddings = coder.encode(images)
    prior = access.memory.initial_state(images.shape[:-4])
    twice = torch.stack([embeddings, embeddings])
    state, posterior, _ = access.write_then_address(embeddings, twice, prior, next(noises))
    rows = []
    for noise in noises:
        assert noise.address is not None
        y = posterior.sample(noise.address[1])
        code = access.read(embeddings, access.addressing.address_for(y), state, noise.memory)
        z = code.distribution.sample(noise.code)
        rows.append(
            coder.likelihood.log_prob(coder.decode(z), images)
            + gaussian.standard_log_prob(y)
            - posterior.log_prob_of_sample(noise.address[1])
            + code.prior.log_prob(z)
            - code.distribution.log_prob_of_sample(noise.code)
        )
    return torch.stack(rows)
