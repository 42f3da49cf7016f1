"""The VAE twin: the same encoder and decoder, a standard normal prior, no memory (section 2)."""

import torch
from torch import Tensor

from kanerva.checks import check_integer
from kanerva.distributions import gaussian
from kanerva.models.bound import Bound, ItemBounds, mean_over_items
from kanerva.models.coder import Coder
from kanerva.models.config import VAEConfig, checked_config
from kanerva.models.input_checks import (
    check_bound_inputs,
    check_noise_inputs,
    check_reading_options,
    refuse_cues,
)
from kanerva.models.model import Model, Noise, OnReading
from kanerva.models.own_precision import inference, own_precision


class VAE(Model):
    """A variational autoencoder, the same model without a memory: p(x|z) p(z) and q(z|x).

    Args:
        config: its sizes; the defaults are those of the Kanerva Machine's coders.

    Example:
        >>> import kanerva
        >>> vae = kanerva.load("omniglot-vae")
        >>> images = vae.generate(4)
        >>> images.shape
        torch.Size([4, 1, 28, 28])
        >>> bound = vae.elbo(images[None])
        >>> noise = vae.draw_noise(images[None])
        >>> bound = vae.forward(images[None], noise)
        >>> vae.log_importance_weights(images[None], num_samples=2).shape
        torch.Size([2, 1, 4])

    """

    def __init__(self, config: VAEConfig) -> None:
        super().__init__(Coder(checked_config(config, VAEConfig)))
        self._config = config

    @property
    def config(self) -> VAEConfig:
        """The sizes and options of this model."""
        return self._config

    @inference
    def generate(
        self,
        num_images: int,
        *,
        num_readings: int = 0,
        sample: bool = False,
        generator: torch.Generator | None = None,
        on_reading: OnReading | None = None,
    ) -> Tensor:
        """Make new images: draw z from its prior and decode it.

        With readings, each image is fed back to the encoder that often, as a memory is read again
        and again. A VAE gains nothing from it (fig. iter_prior_vae): this is the control.

        Args:
            num_images: how many images to make.
            num_readings: how often to feed an image back.
            sample: draw z and the next image, instead of taking means.
            generator: source of the samples; torch's global one by default.
            on_reading: called with 0 and the first images, then each time they were fed back.

        Returns:
            Images (num_images, channels, H, W) between 0 and 1.

        """
        self.coder.check_num_images(num_images)
        check_reading_options(sample, on_reading, generator, self.device)
        check_integer("num_readings", num_readings, at_least=0, fix="0 feeds nothing back.")
        shape = (num_images, self.config.code_size)
        dtype = self.coder.dtype
        codes = torch.randn(shape, dtype=dtype, device=self.device, generator=generator)
        likelihood = self.coder.likelihood
        for number in range(num_readings + 1):
            parameters = self.coder.decode(codes)
            images = likelihood.mean(parameters)
            if on_reading is not None:
                on_reading(number, images)
            if number == num_readings:
                return images
            cues = likelihood.sample(parameters, generator) if sample else images
            code = gaussian.from_parameters(self.coder.encode(cues))
            codes = code.draw(sample, generator)
        raise RuntimeError("num_readings is at least 0")

    def draw_noise(self, images: Tensor, *, generator: torch.Generator | None = None) -> Noise:
        check_noise_inputs(self.coder, images, generator)
        shape = (*images.shape[:-3], self.config.code_size)
        return Noise(torch.randn(shape, device=images.device, generator=generator))

    @own_precision()
    def log_importance_weights(
        self, episodes: Tensor, *, num_samples: int, generator: torch.Generator | None = None
    ) -> Tensor:
        check_integer("num_samples", num_samples, fix="The paper's field uses 100 to 5,000.")
        self.coder.check_images("episodes", episodes)
        images = self.coder.prepare(episodes, generator)
        code = gaussian.from_parameters(self.coder.encode(images))
        rows = []
        for _ in range(num_samples):
            noise = self.draw_noise(images, generator=generator).code
            z = code.sample(noise)
            log_likelihood = self.coder.likelihood.log_prob(self.coder.decode(z), images)
            rows.append(
                log_likelihood + gaussian.standard_log_prob(z) - code.log_prob_of_sample(noise)
            )
        return torch.stack(rows)

    def forward(self, images: Tensor, noise: Noise, cues: Tensor | None = None) -> Bound:
        refuse_cues(
            cues,
            why="a VAE has no memory to read from",
            fix="Leave them out; to train a VAE set training.damaged to 0.",
        )
        check_bound_inputs(self.coder, images, noise)
        code = gaussian.from_parameters(self.coder.encode(images))
        parameters = self.coder.decode(code.sample(noise.code))
        kl_code = gaussian.kl_to_standard(code)
        zero = torch.zeros_like(kl_code)
        log_likelihood = self.coder.likelihood.log_prob(parameters, images)
        memory_kl = None if self.training else zero[..., 0]
        return mean_over_items(ItemBounds(-log_likelihood, zero, kl_code), memory_kl)
