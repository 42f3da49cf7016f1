"""The Kanerva Machine (sections 3.1 to 3.5): a VAE whose prior is read from a Bayesian memory.

Shapes: B episodes, T items, K rows, C code size, S key size.
"""

import math

import torch
from torch import Tensor, nn

from kanerva.distributions import gaussian
from kanerva.distributions.gaussian import Gaussian
from kanerva.memory import (
    DiagonalCovariance,
    FullCovariance,
    MemoryState,
    condition,
    memory_kl,
    predict,
    recall,
    sample_memory,
)
from kanerva.models.bound import Bound, per_item
from kanerva.models.coder import Noise
from kanerva.models.config import ModelConfig
from kanerva.models.nets import mlp
from kanerva.models.remember import Reading, Remembering
from kanerva.models.start import start_addresses, start_keys

CODE_SCALE, KEY_SCALE = 6.0, 2.5
"""Deviations of codes and keys where training begins."""
LOG_SCALE = math.log(5)
"""Bound on the log-deviations of the prior memory."""


class KanervaMachine(Remembering):
    """q(y|x), f, addresses A, q(z|x, y, M) and the prior of the memory around a Bayesian memory."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        C, K, S, Y = config.code_size, config.num_rows, config.key_size, config.address_size
        self.address_net = mlp(2 * C, config.hidden_size, 2 * Y)
        self.key_net = mlp(Y, config.hidden_size, S)
        self.code_net = mlp(3 * C, config.hidden_size, 2 * C)
        self.addresses = nn.Parameter(torch.randn(K, S))
        self.prior_mean = nn.Parameter(torch.zeros(K, C))
        self.prior_log_scale = nn.Parameter(torch.zeros(K))
        self.prior_mixing = nn.Parameter(torch.zeros(K, K))
        for parameter in self.code_net[-1].parameters():
            nn.init.zeros_(parameter)

    def start_from(self, images: Tensor) -> None:
        """Start as an auto-encoder through the memory, before the KL terms close the channel.

        Codes stand out of their noise of 1, q(y|x) is sharp and its keys are long enough to write
        codes down; q(z|x, y, M) equals its prior.
        """
        images = images.flatten(end_dim=-4)
        embeddings = self.start_coder(images, scale=CODE_SCALE, log_var=-4.0)
        sharpness = 24.0 / self.config.address_size  # 12 nats of address
        addresses = start_addresses(self.address_net, embeddings, log_var=-sharpness)
        start_keys(self.key_net, addresses, scale=KEY_SCALE)

    # -- the memory ------------------------------------------------------------------------------

    def prior_memory(self) -> MemoryState:
        """p(M): learned mean R0, learned covariance U0 = S (0.1 I + 0.9 G G') S, or S^2.

        S are deviations between 1/5 and 5, and rows of G have length 1, so G G' is a correlation
        matrix. Without bounds U0 was seen to degenerate in training (docs/lab-notes.md).
        In float64 from here on: a product in TF32 would not be positive definite.
        """
        mean = self.prior_mean.double()
        scale = self.prior_log_scale.double().clamp(-LOG_SCALE, LOG_SCALE).exp()
        if self.config.covariance == "diagonal":
            cov = DiagonalCovariance(scale.square())
        else:
            mixing = self.prior_mixing.double().tril(-1)
            identity = torch.eye(len(scale), dtype=mean.dtype, device=mean.device)
            rows = nn.functional.normalize(mixing + identity, dim=-1)
            correlation = 0.1 * identity + 0.9 * rows @ rows.mT
            cov = FullCovariance(scale[:, None] * correlation * scale)
        return MemoryState(mean, cov).to(self.prior_mean.dtype)

    def weights(self, addresses: Tensor) -> Tensor:
        """w = f(y)' A' with rows of A of length 1 (eq:cosine)."""
        return self.key_net(addresses) @ nn.functional.normalize(self.addresses, dim=-1).mT

    def write_embeddings(
        self, embeddings: Tensor, weights: Tensor, memory: MemoryState, noise: Tensor
    ) -> MemoryState:
        """q(M|X) of section 3.3, from a sample of q(z|x) or from the distribution itself."""
        code = gaussian.from_parameters(embeddings)
        noise_var = self.config.noise_var
        if self.config.writing == "distribution":
            code_var = code.log_var.exp()
            return condition(memory, weights, code.mean, noise_var=noise_var, code_var=code_var)
        return condition(memory, weights, code.sample(noise), noise_var=noise_var)

    # -- inference -------------------------------------------------------------------------------

    def infer_address(self, embeddings: Tensor) -> Gaussian:
        """q(y|x), from e(x) (section 3.2)."""
        return gaussian.from_parameters(self.address_net(embeddings))

    def read_embeddings(
        self, embeddings: Tensor, weights: Tensor, memory: MemoryState, noise: Tensor | None
    ) -> Reading:
        """p(z|y, M) from the memory, and q(z|x, y, M) that corrects it (section 3.2)."""
        prior_var: Tensor | float = self.config.noise_var
        if self.config.reading == "distribution":
            prior_mean, variance = predict(memory, weights, noise_var=self.config.noise_var)
            prior_var = variance[..., None]
        elif self.config.reading == "sample":
            prior_mean = weights @ sample_memory(memory, noise=noise)
        else:
            prior_mean = recall(memory, weights)
        correction = self.code_net(torch.cat([embeddings, prior_mean], dim=-1))
        shift, log_var = gaussian.from_parameters(correction)
        return Reading(prior_mean, prior_var, shift, log_var)

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
        K, Y = self.config.num_rows, self.config.address_size
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
        address = self.infer_address(embeddings)
        noise = self.draw_noise(images, generator)
        assert noise.address is not None
        assert noise.written_code is not None
        write_weights = self.weights(address.sample(noise.address[0]))
        prior = self.prior_memory()
        memory = self.write_embeddings(embeddings, write_weights, prior, noise.written_code)
        rows = []
        for _ in range(samples):
            noise = self.draw_noise(images, generator)
            assert noise.address is not None
            y = address.sample(noise.address[1])
            read = self.read_embeddings(embeddings, self.weights(y), memory, noise.memory)
            code = Gaussian(read.prior_mean + read.shift, read.log_var)
            z = code.sample(noise.code)
            deviation = read.prior_var**0.5
            prior_log_prob = gaussian.standard_log_prob((z - read.prior_mean) / deviation)
            if isinstance(deviation, Tensor):
                prior_log_prob = prior_log_prob - z.shape[-1] * deviation[..., 0].log()
            else:
                prior_log_prob = prior_log_prob - z.shape[-1] * math.log(deviation)
            rows.append(
                self.likelihood.log_prob(self.decode(z), images)
                + gaussian.standard_log_prob(y)
                - address.log_prob_of(noise.address[1])
                + prior_log_prob
                - code.log_prob_of(noise.code)
            )
        return torch.stack(rows)

    def forward(self, images: Tensor, noise: Noise) -> Bound:
        """eq:vlb for episodes (B, T, channels, H, W), given all that is random in it.

        Writing and reading draw independent samples of y: a shared one would tell the reader, past
        its KL, where things were written.
        """
        assert noise.address is not None
        assert noise.written_code is not None
        embeddings, queries = self._encode_both(images, noise.queries)
        twice = torch.stack([embeddings, queries])  # [0] writes, [1] reads
        if noise.embedding is not None:
            twice = twice + self.config.input_noise * noise.embedding
        addresses = self.infer_address(twice)
        write_weights, read_weights = self.weights(addresses.sample(noise.address)).unbind(0)
        prior = self.prior_memory()
        memory = self.write_embeddings(embeddings, write_weights, prior, noise.written_code)
        reading = self.read_embeddings(queries, read_weights, memory, noise.memory)
        code = Gaussian(reading.prior_mean + reading.shift, reading.log_var).sample(noise.code)
        log_likelihood = self.likelihood.log_prob(self.decode(code), images)
        return per_item(
            log_likelihood,
            gaussian.kl_to_standard(Gaussian(addresses.mean[1], addresses.log_var[1])),
            gaussian.kl(reading.shift, reading.log_var, reading.prior_var),
            torch.zeros_like(log_likelihood[..., 0]) if self.training else memory_kl(memory, prior),
        )
