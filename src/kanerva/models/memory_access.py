"""Access to the memory: how an episode is written, and how an item is read (sections 3.2, 3.3).

Shapes: B episodes, T items, K rows, C code size, Y address code size.
"""

import warnings
from typing import Generic, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from kanerva.distributions import gaussian
from kanerva.distributions.gaussian import Gaussian
from kanerva.errors import FullMemoryWarning
from kanerva.models.addressing import Addressing
from kanerva.models.codes import CodePosterior
from kanerva.models.config_parts import CodePosteriorForm, LearnedAddressConfig
from kanerva.models.memories.base import Memory
from kanerva.models.model import Noise
from kanerva.models.nets import mlp
from kanerva.models.novel import NovelCodes, product_posterior

State = TypeVar("State")
FULL = 0.9
"""From this share on, a memory of the shipped model loses items that were written."""


class WrittenEpisode(NamedTuple, Generic[State]):
    """An episode that was written, and where its items are to be read."""

    state: State
    """The memory after the episode."""
    posterior: Gaussian
    """q(y|x, M) of the reader, over (..., T, Y)."""
    address: Tensor
    """The address of a sample of it."""


class MemoryAccess(nn.Module, Generic[State]):
    """An addressing strategy, a memory, and a network that corrects what was read.

    Everything here is a function of embeddings e(x) (..., T, 2C) and of given noise. It draws no
    random numbers.
    """

    def __init__(
        self,
        memory: Memory[State],
        addressing: Addressing[State],
        code_net: nn.Sequential | None,
        *,
        code_posterior: CodePosteriorForm = "correction",
        novel: NovelCodes | None = None,
    ) -> None:
        """`code_posterior` says what `code_net` gives. `novel` is for images never written."""
        super().__init__()
        self.memory = memory
        self.addressing = addressing
        self.code_net = code_net
        self.code_posterior = code_posterior
        self.novel = novel

    def write(
        self,
        embeddings: Tensor,
        addressed_by: Tensor,
        state: State,
        *,
        address_noise: Tensor,
        code_noise: Tensor,
    ) -> State:
        """The state after an episode: at once, or item by item if addresses depend on the state.

        `embeddings` give q(z|x), which is written. `addressed_by` are the embeddings that give
        q(y|x, M): the same, or with noise while training.
        """
        if not self.addressing.depends_on_memory:
            address = self._draw_address(addressed_by, state, address_noise)
            return self._write_codes(embeddings, state, address, code_noise)
        inputs = (embeddings, addressed_by, address_noise, code_noise)
        for item in zip(*(part.split(1, dim=-2) for part in inputs), strict=True):
            embedding, item_addressed_by, item_address_noise, item_code_noise = item
            address = self._draw_address(item_addressed_by, state, item_address_noise)
            state = self._write_codes(embedding, state, address, item_code_noise)
        return state

    def write_then_address(
        self, embeddings: Tensor, addressed_by: Tensor, prior: State, noise: Noise
    ) -> WrittenEpisode[State]:
        """Write an episode, then find the address to read each item from.

        `addressed_by` (2, B, T, 2C) are embeddings: [0] for writing, [1] for reading. Writing and
        reading draw independent samples of y. With a shared sample the reader would know where its
        item was written without paying for it in KL( q(y|x) || p(y) ).
        """
        assert noise.address is not None
        assert noise.written_code is not None
        if self.addressing.depends_on_memory:
            state = self.write(
                embeddings,
                addressed_by[0],
                prior,
                address_noise=noise.address[0],
                code_noise=noise.written_code,
            )
            posterior = self.addressing.posterior(addressed_by[1], state)
            address = self.addressing.address_for(posterior.sample(noise.address[1]))
            return WrittenEpisode(state, posterior, address)
        both = self.addressing.posterior(addressed_by, prior)
        writing, reading = self.addressing.address_for(both.sample(noise.address)).unbind(0)
        state = self._write_codes(embeddings, prior, writing, noise.written_code)
        return WrittenEpisode(state, Gaussian(both.mean[1], both.log_var[1]), reading)

    def read(
        self, embeddings: Tensor, address: Tensor, state: State, noise: Tensor | None
    ) -> CodePosterior:
        """p(z|y, M) from the memory, and q(z|x, y, M) that corrects it (section 3.2).

        Without `code_net` the second equals the first: z comes from the memory alone (appendix D).
        """
        prior = self.memory.read(state, address, noise=noise)
        if self.code_net is None:
            return CodePosterior(prior, torch.zeros_like(prior.mean), prior.log_var)
        if self.code_posterior == "product":
            return product_posterior(prior, self.message(embeddings))
        given = self.code_net(torch.cat([embeddings, prior.mean], dim=-1))
        mean, log_var = gaussian.from_parameters(given)
        is_direct = self.code_posterior == "direct"
        return CodePosterior(prior, mean - prior.mean if is_direct else mean, log_var)

    def message(self, embeddings: Tensor) -> Gaussian:
        """What an image says about z by itself, a Gaussian over (..., T, C), from e(x)."""
        assert self.code_net is not None
        shift, log_var = gaussian.from_parameters(self.code_net(embeddings))
        return Gaussian(gaussian.from_parameters(embeddings).mean + shift, log_var)

    def warn_if_full(self, state: State) -> None:
        """Warn where more was written than the memory can hold."""
        fill = self.memory.fill(state)
        if fill is None:
            return
        share = fill.max().item() / self.addressing.usable_share
        if share > FULL:
            warnings.warn(
                f"the memory is {share:.0%} full: items overlap and recall gets worse. Write fewer "
                "items into one memory, or train a model with more rows (model.num_rows).",
                FullMemoryWarning,
                stacklevel=4,
            )

    def prepare_to_compile(self) -> None:
        """Keep torch.compile away from the parts that it cannot handle."""
        self.memory.prepare_to_compile()
        if self.addressing.depends_on_memory:  # states cannot cross into a compiled part
            self.write = torch.compiler.disable(self.write)  # pyright: ignore

    def _draw_address(self, embeddings: Tensor, state: State, noise: Tensor) -> Tensor:
        """The address of a sample of q(y|x, M)."""
        y = self.addressing.posterior(embeddings, state).sample(noise)
        return self.addressing.address_for(y)

    def _write_codes(
        self, embeddings: Tensor, state: State, address: Tensor, noise: Tensor
    ) -> State:
        """Write a sample of q(z|x), or the distribution itself (appendix F)."""
        code = gaussian.from_parameters(embeddings)
        if self.memory.writes_distributions:
            return self.memory.write(state, address, code.mean, code_var=code.log_var.exp())
        return self.memory.write(state, address, code.sample(noise))


def make_code_net(config: LearnedAddressConfig) -> nn.Sequential | None:
    """The network of q(z|x, y, M); None without `bottom_up`.

    A correction starts at zero: q has the mean of p(z|y, M) and a variance of about 1. So does the
    Gaussian of a product: it starts with the mean of q(z|x).
    """
    if not config.bottom_up:
        return None
    num_inputs = (2 if config.code_posterior == "product" else 3) * config.code_size
    code_net = mlp(num_inputs, config.hidden_size, 2 * config.code_size)
    if config.code_posterior == "direct":
        return code_net
    for parameter in code_net[-1].parameters():
        nn.init.zeros_(parameter)
    return code_net
