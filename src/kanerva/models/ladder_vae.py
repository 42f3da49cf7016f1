"""The VAE twin of the few-shot model: the same coders, a learned map in place of a memory."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from kanerva.checks import check_integer
from kanerva.memory.tensor_checks import check_generator
from kanerva.models.bound import Bound, ItemBounds, mean_over_items
from kanerva.models.config import LadderVAEConfig, checked_config
from kanerva.models.input_checks import (
    check_next_image_inputs,
    check_noise_inputs,
    check_reading_options,
    refuse_cues,
)
from kanerva.models.ladder import Drawn, Levels
from kanerva.models.ladder_coder import Known, LadderCoder
from kanerva.models.model import Model, Noise, OnReading
from kanerva.models.own_precision import inference, own_precision


class LadderVAE(Model):
    """A VAE with several groups of codes: each image by itself, without a memory.

    Args:
        config: its sizes.

    Example:
        >>> import torch
        >>> from kanerva.models.config import LadderVAEConfig
        >>> from kanerva.models.ladder_vae import LadderVAE
        >>> vae = LadderVAE(LadderVAEConfig(num_filters=4, num_wide=4, code_size=49)).eval()
        >>> vae.generate(2).shape
        torch.Size([2, 1, 28, 28])
        >>> vae.elbo(torch.zeros(1, 3, 1, 28, 28)).total.shape
        torch.Size([1])

    """

    coder: LadderCoder

    def __init__(self, config: LadderVAEConfig) -> None:
        config = checked_config(config, LadderVAEConfig)
        super().__init__(LadderCoder(config, num_maps=1, num_numbers=0))
        self._config = config
        self.start_map = nn.Parameter(torch.randn(config.code_size))

    @property
    def config(self) -> LadderVAEConfig:
        """The sizes and options of this model."""
        return self._config

    def draw_noise(self, images: Tensor, *, generator: torch.Generator | None = None) -> Noise:
        check_noise_inputs(self.coder, images, generator)
        shape = (*images.shape[:-3], self.coder.noise_size)
        return Noise(torch.randn(shape, device=images.device, generator=generator))

    def forward(self, images: Tensor, noise: Noise, cues: Tensor | None = None) -> Bound:
        refuse_cues(
            cues,
            why="a VAE has no memory to read from",
            fix="Leave them out; to train a VAE set training.damaged to 0.",
        )
        items = self._item_bounds(images, noise)
        free = None if self.training else torch.zeros_like(items.total[..., 0])
        return mean_over_items(items, free)

    def item_bounds(self, images: Tensor, noise: Noise) -> ItemBounds:
        """The bound of each image, which does not depend on the other images of its episode.

        Args:
            images: episodes (B, T, channels, H, W), as `coder.prepare` returns them.
            noise: what `draw_noise` returned.

        Returns:
            The named terms of the negative bound, each (B, T).

        """
        self.coder.check_prepared_images("images", images)
        return self._item_bounds(images, noise)

    def _item_bounds(self, images: Tensor, noise: Noise) -> ItemBounds:
        """The same without a look at the pixels, for which a device would have to be waited for."""
        drawn = self._draw_items(images, noise)
        parameters = drawn.parameters.reshape(images.shape)
        log_likelihood = self.coder.likelihood.log_prob(parameters, images)
        kl = drawn.kl.reshape(images.shape[:-3])
        return ItemBounds(-log_likelihood, torch.zeros_like(kl), kl)

    @inference
    def reconstruct(self, images: Tensor, noise: Noise) -> Tensor:
        """Means of p(x|z) with z from q(z|x).

        Args:
            images: episodes (B, T, channels, H, W).
            noise: what `draw_noise` returned.

        Returns:
            Images of the same shape, for each pixel how likely it is ink.

        """
        self.coder.check_prepared_images("images", images)
        parameters = self._draw_items(images, noise).parameters
        return self.coder.likelihood.mean(parameters).reshape(images.shape)

    def _draw_items(self, images: Tensor, noise: Noise) -> Drawn:
        check_next_image_inputs(self.coder, images, noise)
        known = self._known(images.shape[:-3].numel())
        return self.coder.draw(known, self.coder.levels(images), noise.code.flatten(0, -2))

    @own_precision()
    def log_importance_weights(
        self,
        episodes: Tensor,
        *,
        num_samples: int,
        generator: torch.Generator | None = None,
        items: Sequence[int] | None = None,
    ) -> Tensor:
        """Log importance weights ln p(x, z) - ln q(z | x) of samples from q.

        Args:
            episodes: images (B, T, channels, H, W) between 0 and 1.
            num_samples: how many weights for each image.
            generator: source of all samples; torch's global one by default.
            items: which items of each episode, from 0; by default all.

        Returns:
            Weights (num_samples, B, number of items), in nats.

        """
        check_integer("num_samples", num_samples, fix="The field uses 1,000.")
        self.coder.check_images("episodes", episodes)
        check_generator(generator, self.device)
        images = episodes if items is None else episodes[:, list(items)]
        levels: Levels = self.coder.levels(images)
        known = self._known(images.shape[:2].numel())
        rows = []
        for _ in range(num_samples):
            noise = self.draw_noise(images, generator=generator).code.flatten(0, 1)
            drawn = self.coder.draw(known, levels, noise)
            parameters = drawn.parameters.reshape(images.shape)
            log_weight = drawn.log_weight.reshape(images.shape[:2])
            rows.append(self.coder.likelihood.log_prob(parameters, images) + log_weight)
        return torch.stack(rows)

    @inference
    def generate(
        self,
        num_images: int,
        *,
        num_readings: int = 0,
        sample: bool = True,
        generator: torch.Generator | None = None,
        on_reading: OnReading | None = None,
    ) -> Tensor:
        """Make new images: draw all groups of codes from their priors.

        Args:
            num_images: how many images to make.
            num_readings: must be 0: nothing is fed back.
            sample: draw z; without it all images are the same.
            generator: source of the samples; torch's global one by default.
            on_reading: called with 0 and the images.

        Returns:
            Images (num_images, channels, H, W): for each pixel, how likely it is ink.

        """
        check_integer(
            "num_readings", num_readings, at_least=0, at_most=0, fix="Leave it out, or pass 0."
        )
        check_reading_options(sample, on_reading, generator, self.device)
        self.coder.check_num_images(num_images)
        shape = (num_images, self.coder.noise_size)
        noise = float(sample) * torch.randn(shape, device=self.device, generator=generator)
        drawn = self.coder.draw(self._known(num_images), None, noise)
        images = self.coder.likelihood.mean(drawn.parameters)
        if on_reading is not None:
            on_reading(0, images)
        return images

    def _known(self, num_images: int) -> Known:
        """Nothing is known but the learned map."""
        maps = self.start_map.expand(num_images, -1)
        return Known((maps,), maps[:, :0])
