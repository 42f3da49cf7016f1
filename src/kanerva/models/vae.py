"""The VAE twin: the same encoder and decoder, a standard normal prior, no memory (section 2)."""

import torch
from torch import Tensor

from kanerva.distributions import gaussian
from kanerva.models.bound import Bound, per_item
from kanerva.models.coder import Coder, Noise, Watch, check_iterations


class VAE(Coder):
    """p(x|z) p(z) with z ~ N(0, I), and q(z|x) straight from the encoder."""

    def start_from(self, images: Tensor) -> None:
        self.start_coder(images.flatten(end_dim=-4), scale=1.0, log_var=-2.0)

    @torch.no_grad()
    def generate(
        self,
        num: int,
        *,
        iterations: int = 0,
        sample: bool = False,
        generator: torch.Generator | None = None,
        watch: Watch | None = None,
    ) -> Tensor:
        """New images (num, channels, H, W): z from its prior, then decoded.

        With iterations each image is fed back to the encoder that often, as a memory is read again
        and again. A VAE gains nothing by it (fig. iter_prior_vae): that is the control.
        """
        device = next(self.parameters()).device
        codes = torch.randn(num, self.config.code_size, device=device, generator=generator)
        check_iterations(iterations, at_least=0)
        images = codes  # set below: there is at least one pass
        for number in range(iterations + 1):
            parameters = self.decode(codes)
            images = self.likelihood.mean(parameters)
            if watch is not None:
                watch(number, images)
            query = self.likelihood.sample(parameters, generator) if sample else images
            code = gaussian.from_parameters(self.encode(query))
            noise = torch.randn(codes.shape, device=device, generator=generator)
            codes = code.sample(noise) if sample else code.mean
        return images

    def draw_noise(self, episodes: Tensor, generator: torch.Generator | None) -> Noise:
        shape = (*episodes.shape[:-3], self.config.code_size)
        return Noise(torch.randn(shape, device=episodes.device, generator=generator))

    def log_weights(
        self, episodes: Tensor, samples: int, *, generator: torch.Generator | None = None
    ) -> Tensor:
        code = gaussian.from_parameters(self.encode(self.prepare(episodes, generator)))
        rows = []
        for _ in range(samples):
            noise = self.draw_noise(episodes, generator).code
            z = code.sample(noise)
            likelihood = self.likelihood.log_prob(self.decode(z), episodes)
            rows.append(likelihood + gaussian.standard_log_prob(z) - code.log_prob_of(noise))
        return torch.stack(rows)

    def forward(self, images: Tensor, noise: Noise) -> Bound:
        """The bound of section 2."""
        code = gaussian.from_parameters(self.encode(images))
        parameters = self.decode(code.sample(noise.code))
        kl_code = gaussian.kl_to_standard(code)
        none = torch.zeros_like(kl_code)
        return per_item(self.likelihood.log_prob(parameters, images), none, kl_code, none[..., 0])
