"""The Kanerva Machine (sections 3.1 to 3.5): a VAE whose prior is read from a Bayesian memory.

Shapes: B episodes, T items, K rows, C code size, S key size.
"""

from typing import Any

import torch
from torch import Tensor

from kanerva.distributions import gaussian
from kanerva.distributions.gaussian import Gaussian
from kanerva.models.bound import Bound, per_item
from kanerva.models.coder import Noise
from kanerva.models.config import ModelConfig
from kanerva.models.memories import build_memory
from kanerva.models.nets import mlp
from kanerva.models.remember import Reading, Remembered, Remembering
from kanerva.models.start import start_addresses

CODE_SCALE = 6.0
"""Deviation of codes where training begins."""


class KanervaMachine(Remembering):
    """q(y|x), a memory, and q(z|x, y, M); with another memory than the Bayesian one, a rival."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        C = config.code_size
        self.memory = build_memory(config)
        self.address_net = mlp(2 * C, config.hidden_size, 2 * self.memory.address_size)
        self.code_net = mlp(3 * C, config.hidden_size, 2 * C) if config.bottom_up else None
        if self.code_net is not None:
            for parameter in self.code_net[-1].parameters():
                torch.nn.init.zeros_(parameter)

    def start_from(self, images: Tensor) -> None:
        """Start as an auto-encoder through the memory, before the KL terms close the channel.

        Codes stand out of their noise of 1, q(y|x) is sharp and its keys are long enough to write
        codes down; q(z|x, y, M) equals its prior.
        """
        images = images.flatten(end_dim=-4)
        embeddings = self.start_coder(images, scale=CODE_SCALE, log_var=-4.0)
        sharpness = 24.0 / self.memory.address_size  # 12 nats of address
        addresses = start_addresses(self.address_net, embeddings, log_var=-sharpness)
        self.memory.start_from(addresses)

    def compile_steps(self) -> None:
        self.memory.compile_steps()

    # -- inference -------------------------------------------------------------------------------

    def locate(self, embeddings: Tensor, state: Any) -> Gaussian:
        """q(y|x), from e(x) (section 3.2)."""
        return gaussian.from_parameters(self.address_net(embeddings))

    def store(
        self, embeddings: Tensor, state: Any, *, address_noise: Tensor, code_noise: Tensor
    ) -> Any:
        """The state after an episode: y from q(y|x), and q(z|x), written down."""
        addresses = self.locate(embeddings, state).sample(address_noise)
        return self._write_codes(embeddings, state, self.memory.place(addresses), code_noise)

    def remember(
        self, embeddings: Tensor, located_by: Tensor, prior: Any, noise: Noise
    ) -> Remembered:
        """Store embeddings, and find where to read. `located_by` (2, ...): [0] writes, [1] reads.

        Writing and reading draw independent samples of y: a shared one would tell the reader, past
        its KL, where things were written.
        """
        assert noise.address is not None
        assert noise.written_code is not None
        addresses = self.locate(located_by, prior)
        writing, reading = self.memory.place(addresses.sample(noise.address)).unbind(0)
        state = self._write_codes(embeddings, prior, writing, noise.written_code)
        return Remembered(state, Gaussian(addresses.mean[1], addresses.log_var[1]), reading)

    def _write_codes(self, embeddings: Tensor, state: Any, places: Tensor, noise: Tensor) -> Any:
        """From a sample of q(z|x), or from the distribution itself (appendix F)."""
        code = gaussian.from_parameters(embeddings)
        if self.config.writing == "distribution":
            return self.memory.write(state, places, code.mean, code.log_var.exp())
        return self.memory.write(state, places, code.sample(noise), None)

    def read_embeddings(
        self, embeddings: Tensor, places: Tensor, state: Any, noise: Tensor | None
    ) -> Reading:
        """p(z|y, M) from the memory, and q(z|x, y, M) that corrects it (section 3.2).

        Without the bottom-up stream (appendix D) the second equals the first.
        """
        recall = self.memory.read(state, places, noise)
        if self.code_net is None:
            return Reading(recall, torch.zeros_like(recall.mean), recall.log_var)
        correction = self.code_net(torch.cat([embeddings, recall.mean], dim=-1))
        return Reading(recall, *gaussian.from_parameters(correction))

    def _encode_both(self, images: Tensor, queries: Tensor | None) -> tuple[Tensor, Tensor]:
        """e(x) of what is written, and of what asks for it: the same, or damaged for a few."""
        if queries is None:
            embeddings = self.encode(images)
            return embeddings, embeddings
        written, asked = self.encode(torch.cat([images, queries])).split(
            [len(images), len(queries)]
        )
        return written, torch.cat([asked, written[len(queries) :]])

    def draw_noise(self, episodes: Tensor, generator: torch.Generator | None) -> Noise:
        """Noise of appendix C on the input of q(y|x) only while training."""

        def randn(*shape: int) -> Tensor:
            return torch.randn(shape, device=episodes.device, generator=generator)

        items, C = episodes.shape[:-3], self.config.code_size
        K, Y = self.config.num_rows, self.memory.address_size
        return Noise(
            code=randn(*items, C),
            written_code=randn(*items, C),
            address=randn(2, *items, Y),
            embedding=randn(2, *items, 2 * C) if self.training else None,
            memory=randn(*items[:-1], K, C) if self.config.reading == "sample" else None,
        )

    def log_weights(
        self, episodes: Tensor, samples: int, *, generator: torch.Generator | None = None
    ) -> Tensor:
        """The memory is written once; the reader's y and z are drawn again for every weight."""
        images = self.prepare(episodes, generator)
        embeddings = self.encode(images)
        noise = self.draw_noise(images, generator)
        prior = self.memory.initial_state(images.shape[:-4])
        twice = torch.stack([embeddings, embeddings])
        state, address, _ = self.remember(embeddings, twice, prior, noise)
        rows = []
        for _ in range(samples):
            noise = self.draw_noise(images, generator)
            assert noise.address is not None
            y = address.sample(noise.address[1])
            reading = self.read_embeddings(embeddings, self.memory.place(y), state, noise.memory)
            z = reading.code.sample(noise.code)
            rows.append(
                self.likelihood.log_prob(self.decode(z), images)
                + gaussian.standard_log_prob(y)
                - address.log_prob_of(noise.address[1])
                + reading.prior_log_prob(z)
                - reading.code.log_prob_of(noise.code)
            )
        return torch.stack(rows)

    def forward(self, images: Tensor, noise: Noise) -> Bound:
        """eq:vlb for episodes (B, T, channels, H, W), given all that is random in it."""
        embeddings, queries = self._encode_both(images, noise.queries)
        located_by = torch.stack([embeddings, queries])
        if noise.embedding is not None:
            located_by = located_by + self.config.input_noise * noise.embedding
        prior = self.memory.initial_state(images.shape[:-4])
        state, address, places = self.remember(embeddings, located_by, prior, noise)
        reading = self.read_embeddings(queries, places, state, noise.memory)
        log_likelihood = self.likelihood.log_prob(
            self.decode(reading.code.sample(noise.code)), images
        )
        cost = None if self.training else self.memory.kl(state, prior)
        return per_item(
            log_likelihood,
            gaussian.kl_to_standard(address),
            reading.kl,
            torch.zeros_like(log_likelihood[..., 0]) if cost is None else cost,
        )
