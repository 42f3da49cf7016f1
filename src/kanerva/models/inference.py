"""The inference model: how an episode is written, and how an item is read (sections 3.2 and 3.3).

Shapes: B episodes, T items, K rows, C code size, Y address code size.
"""

from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from kanerva.distributions import gaussian
from kanerva.distributions.gaussian import Gaussian
from kanerva.models.addressing import Addressing
from kanerva.models.codes import CodePosterior
from kanerva.models.config import LearnedAddressConfig
from kanerva.models.memories.base import Memory
from kanerva.models.model import Noise
from kanerva.models.nets import mlp

State = TypeVar("State")


class Inference(nn.Module, Generic[State]):
    """An addressing strategy, a memory, and a network that corrects what was read.

    Everything here is a function of embeddings e(x) (..., T, 2C) and of noise; nothing is drawn.
    """

    def __init__(
        self, memory: Memory[State], addressing: Addressing[State], code_net: nn.Sequential | None
    ) -> None:
        super().__init__()
        self.memory = memory
        self.addressing = addressing
        self.code_net = code_net

    def write(
        self, embeddings: Tensor, state: State, *, address_noise: Tensor, code_noise: Tensor
    ) -> State:
        """The state after an episode: at once, or item by item if addresses depend on the state."""
        if not self.addressing.depends_on_memory:
            return self._write_items(embeddings, state, address_noise, code_noise)
        parts = (part.split(1, dim=-2) for part in (embeddings, address_noise, code_noise))
        for item, item_address_noise, item_code_noise in zip(*parts, strict=True):
            state = self._write_items(item, state, item_address_noise, item_code_noise)
        return state

    def write_and_find(
        self, embeddings: Tensor, addressed_by: Tensor, prior: State, noise: Noise
    ) -> tuple[State, Gaussian, Tensor]:
        """Write an episode, and find where to read it: the state, q(y|x, M), and the address.

        `addressed_by` (2, B, T, 2C) are embeddings: [0] for writing, [1] for reading. Writing and
        reading draw independent samples of y. A shared sample would tell the reader, past its KL,
        where things were written.
        """
        assert noise.address is not None
        assert noise.written_code is not None
        if self.addressing.depends_on_memory:
            state = self.write(
                embeddings, prior, address_noise=noise.address[0], code_noise=noise.written_code
            )
            posterior = self.addressing.posterior(addressed_by[1], state)
            return state, posterior, self.addressing.address_for(posterior.sample(noise.address[1]))
        both = self.addressing.posterior(addressed_by, prior)
        writing, reading = self.addressing.address_for(both.sample(noise.address)).unbind(0)
        state = self._write_codes(embeddings, prior, writing, noise.written_code)
        return state, Gaussian(both.mean[1], both.log_var[1]), reading

    def read(
        self, embeddings: Tensor, address: Tensor, state: State, noise: Tensor | None
    ) -> CodePosterior:
        """p(z|y, M) from the memory, and q(z|x, y, M) that corrects it (section 3.2).

        Without `code_net` the second equals the first: z comes from the memory alone (appendix D).
        """
        prior = self.memory.read(state, address, noise=noise)
        if self.code_net is None:
            return CodePosterior(prior, torch.zeros_like(prior.mean), prior.log_var)
        correction = self.code_net(torch.cat([embeddings, prior.mean], dim=-1))
        return CodePosterior(prior, *gaussian.from_parameters(correction))

    def prepare_to_compile(self) -> None:
        """Mark what torch.compile must leave alone."""
        self.memory.prepare_to_compile()
        if self.addressing.depends_on_memory:  # states cannot cross into a compiled part
            self.write = torch.compiler.disable(self.write)  # pyright: ignore

    def _write_items(
        self, embeddings: Tensor, state: State, address_noise: Tensor, code_noise: Tensor
    ) -> State:
        y = self.addressing.posterior(embeddings, state).sample(address_noise)
        return self._write_codes(embeddings, state, self.addressing.address_for(y), code_noise)

    def _write_codes(
        self, embeddings: Tensor, state: State, address: Tensor, noise: Tensor
    ) -> State:
        """Write a sample of q(z|x), or the distribution itself (appendix F)."""
        code = gaussian.from_parameters(embeddings)
        if self.memory.writes_distributions:
            return self.memory.write(state, address, code.mean, code_var=code.log_var.exp())
        return self.memory.write(state, address, code.sample(noise))


def make_code_net(config: LearnedAddressConfig) -> nn.Sequential | None:
    """The network of q(z|x, y, M), which starts equal to its prior; None without `bottom_up`."""
    if not config.bottom_up:
        return None
    code_net = mlp(3 * config.code_size, config.hidden_size, 2 * config.code_size)
    for parameter in code_net[-1].parameters():
        nn.init.zeros_(parameter)
    return code_net
