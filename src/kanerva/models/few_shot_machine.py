"""A Kanerva Machine that predicts the next image from a memory of the images before it.

Shapes: B episodes, T items, K rows, C code size, Y address code size, N = B T images.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from kanerva.checks import check_integer
from kanerva.distributions import gaussian
from kanerva.distributions.gaussian import Gaussian
from kanerva.memory import MemoryState, Prediction, predict
from kanerva.memory.tensor_checks import check_generator
from kanerva.models.addressing import AddressTable
from kanerva.models.bound import Bound, ItemBounds, mean_over_items
from kanerva.models.config import FewShotConfig, checked_config
from kanerva.models.few_shot_importance import log_weights
from kanerva.models.few_shot_parts import (
    MapAddressing,
    as_known,
    check_drawing_options,
    check_shared_columns,
    log_row_var,
    start_together,
)
from kanerva.models.input_checks import (
    check_next_image_inputs,
    check_noise_inputs,
    check_reading_options,
    refuse_cues,
)
from kanerva.models.ladder_coder import Known, MemoryLadderCoder
from kanerva.models.memories.bayesian import BayesianMemory
from kanerva.models.memory_access import MemoryAccess
from kanerva.models.memory_model import MemoryModel
from kanerva.models.model import Noise, OnReading
from kanerva.models.nets import mlp
from kanerva.models.own_precision import inference, own_precision


class FewShotMachine(MemoryModel[MemoryState]):
    """A memory model whose bound pays for its memory: item t is read from items 1 to t - 1.

    The memory holds maps of features h(x). For the next image it is read twice: at the address
    code 0, which gives a summary of all that was written and the prior p(y|M), and at y. What is
    read, with its variance w'Uw + noise_var (appendix F), decides where p(z|y, M) and the drawing
    begin. The sum of the items' bounds is a bound on ln p(x_1, ..., x_T).

    `kanerva.load("fewshot")` returns a trained one.

    Args:
        config: its sizes and options.

    Example:
        >>> import torch
        >>> from kanerva.models.config import FewShotConfig
        >>> from kanerva.models.few_shot_machine import FewShotMachine
        >>> config = FewShotConfig(num_filters=4, num_wide=4, code_size=49, num_rows=8)
        >>> model = FewShotMachine(config).eval()
        >>> images = (torch.rand(5, 1, 28, 28) < 0.1).float()
        >>> memory = model.write(images)
        >>> model.generate(memory, 3).shape
        torch.Size([3, 1, 28, 28])
        >>> noise = model.draw_noise(images[None])
        >>> model.item_bounds(images[None], noise).total.shape  # nats of every image
        torch.Size([1, 5])

    """

    coder: MemoryLadderCoder

    def __init__(self, config: FewShotConfig) -> None:
        config = checked_config(config, FewShotConfig)
        C, Y, hidden = config.code_size, config.address_code_size, config.hidden_size
        table = AddressTable(
            num_rows=config.num_rows,
            key_size=config.key_size,
            address_code_size=Y,
            hidden_size=hidden,
        )
        addressing = MapAddressing(
            embedding_size=C, address_code_size=Y, hidden_size=hidden, table=table
        )
        access = MemoryAccess(BayesianMemory(config), addressing, None)
        super().__init__(config, coder=MemoryLadderCoder(config), access=access)
        self.address_prior = mlp(C + 1, hidden, 2 * Y)
        start_together(table, addressing.address_net, self.address_prior)

    @property
    def config(self) -> FewShotConfig:
        """The sizes and options of this model."""
        assert isinstance(self._config, FewShotConfig)
        return self._config

    @property
    def memory_module(self) -> BayesianMemory:
        """The module of the memory: its prior, and how it writes and reads."""
        assert isinstance(self.access.memory, BayesianMemory)
        return self.access.memory

    # -- the bound -------------------------------------------------------------------------------

    def draw_noise(self, images: Tensor, *, generator: torch.Generator | None = None) -> Noise:
        def randn(*shape: int) -> Tensor:
            return torch.randn(shape, device=images.device, generator=generator)

        check_noise_inputs(self.coder, images, generator)
        items = images.shape[:-3]
        noisy = self.training and self.config.input_noise > 0
        noise = Noise(
            code=randn(*items, self.coder.noise_size),
            address=randn(2, *items, self.config.address_code_size),
            embedding=randn(2, *items, 2 * self.config.code_size) if noisy else None,
        )
        if not (self.training and self.config.empty_share > 0):
            return noise
        return noise._replace(forget=torch.rand(items, device=images.device, generator=generator))

    def forward(self, images: Tensor, noise: Noise, cues: Tensor | None = None) -> Bound:
        refuse_cues(cues, why="the next image is predicted", fix="Set training.damaged to 0.")
        items = self._item_bounds(images, noise)
        free = None if self.training else torch.zeros_like(items.total[..., 0])
        return mean_over_items(items, free)

    def item_bounds(self, images: Tensor, noise: Noise) -> ItemBounds:
        """The bound of each item, read from a memory that holds only the items before it.

        Args:
            images: episodes (B, T, channels, H, W), as `coder.prepare` returns them.
            noise: what `draw_noise` returned: independent samples of y for writing and reading.

        Returns:
            The named terms of the negative bound, each (B, T).

        """
        self.coder.check_prepared_images("images", images)
        return self._item_bounds(images, noise)

    def _item_bounds(self, images: Tensor, noise: Noise) -> ItemBounds:
        """The same without a look at the pixels, for which a device would have to be waited for."""
        parameters, kl_address, kl_code = self._draw_items(images, noise)
        log_likelihood = self.coder.likelihood.log_prob(parameters, images)
        return ItemBounds(-log_likelihood, kl_address, kl_code)

    @inference
    def reconstruct(self, images: Tensor, noise: Noise) -> Tensor:
        """Means of p(x|z) with z from q(z|x, y, M): each image after those before it.

        Args:
            images: episodes (B, T, channels, H, W).
            noise: what `draw_noise` returned.

        Returns:
            Images of the same shape, for each pixel how likely it is ink.

        """
        self.coder.check_prepared_images("images", images)
        return self.coder.likelihood.mean(self._draw_items(images, noise)[0])

    def _draw_items(self, images: Tensor, noise: Noise) -> tuple[Tensor, Tensor, Tensor]:
        """Parameters of p(x|z) like the images, and the KL terms of y and z, (B, T)."""
        check_next_image_inputs(self.coder, images, noise, self.config.address_code_size)
        levels, B_T = self.coder.levels(images), images.shape[:2]
        embeddings = self.coder.embed(levels).reshape(*B_T, -1)
        posterior, writing, reading = self.addresses(embeddings, noise)
        known, prior = self.read_next(embeddings, writing, reading, noise.forget)
        drawn = self.coder.draw(known, levels, noise.code.flatten(0, 1))
        shift = posterior.mean - prior.mean
        kl_address = gaussian.kl(shift, posterior.log_var, prior.log_var.exp())
        return drawn.parameters.reshape(images.shape), kl_address, drawn.kl.reshape(B_T)

    @own_precision()
    def log_importance_weights(
        self,
        episodes: Tensor,
        *,
        num_samples: int,
        generator: torch.Generator | None = None,
        items: Sequence[int] | None = None,
    ) -> Tensor:
        """Log importance weights ln p(x_t, y, z | M) - ln q(y, z | x_t, M), M from items before t.

        The memories are written once; y and z are drawn again for every weight.

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
        chosen = list(range(episodes.shape[1])) if items is None else list(items)
        return torch.stack(list(log_weights(self, episodes, chosen, num_samples, generator)))

    def addresses(self, embeddings: Tensor, noise: Noise) -> tuple[Gaussian, Tensor, Tensor]:
        """q(y|x), and weights of two independent samples of it: for writing and for reading."""
        assert noise.address is not None
        state = self.prior_memory()
        posterior = self.addressing.posterior(embeddings, state)
        asked = posterior
        if noise.embedding is not None:
            noisy = embeddings + self.config.input_noise * noise.embedding
            asked = self.addressing.posterior(noisy, state)
            posterior = Gaussian(asked.mean[1], asked.log_var[1])
        writing, reading = self.addressing.address_for(asked.sample(noise.address)).unbind(0)
        return posterior, writing, reading

    def read_next(
        self, embeddings: Tensor, writing: Tensor, reading: Tensor, forget: Tensor | None = None
    ) -> tuple[Known, Gaussian]:
        """What the memory of the items before each one says about it, and p(y|M).

        With `forget` (B, T) some items are read as if there were none before.
        """
        code, memory = gaussian.from_parameters(embeddings), self.prior_memory()
        both = torch.stack([reading, self._summary_address().expand_as(reading)])
        read = self.memory_module.read_next(
            memory, writing, code.mean, both, code_var=code.log_var[..., 0].exp()
        )
        if forget is not None:
            empty = predict(memory, both, noise_var=self.config.noise_var)
            is_empty = forget < self.config.empty_share
            read = Prediction(
                torch.where(is_empty[..., None], empty.mean, read.mean),
                torch.where(is_empty, empty.var, read.var),
            )
        known = as_known(read, noise_var=self.config.noise_var)
        return known, self._address_prior(read.mean[1], read.var[1])

    def _summary_address(self) -> Tensor:
        """The weights of the address code 0, (1, K)."""
        zero = torch.zeros(1, self.config.address_code_size, device=self.device)
        return self.addressing.address_for(zero.to(self.coder.dtype))

    def _address_prior(self, mean: Tensor, var: Tensor) -> Gaussian:
        """p(y|M) from the summary of the memory."""
        log_var = log_row_var(var, noise_var=self.config.noise_var)
        given = torch.cat([mean, log_var[..., None]], dim=-1)
        return gaussian.from_parameters(self.address_prior(given))

    @inference
    def generate(
        self,
        memory: MemoryState,
        num_images: int,
        *,
        num_readings: int = 0,
        sample: bool = True,
        generator: torch.Generator | None = None,
        on_reading: OnReading | None = None,
        temperature: float = 1.0,
    ) -> Tensor:
        """Draw the next image, many times: new ones like those that were written.

        Args:
            memory: what `write` returned, or `prior_memory()`.
            num_images: how many images to make from each memory.
            num_readings: must be 0: a drawing is not read again.
            sample: draw y and z; without it all images are the same: there is no temperature.
            generator: source of the samples; torch's global one by default.
            on_reading: called with 0 and the images.
            temperature: factor on the standard deviations of y and z: below 1 images vary less.

        Returns:
            Images (..., num_images, channels, H, W): for each pixel, how likely it is ink.

        """
        check_drawing_options(num_readings, sample, temperature)
        check_reading_options(sample, on_reading, generator, self.device)
        batch = self.memory_module.checked_batch_shape(memory)
        check_shared_columns(memory)
        self.coder.check_num_images(num_images, batch)

        def randn(*shape: int) -> Tensor:
            scale = temperature if sample else 0.0
            return scale * torch.randn(shape, device=self.device, generator=generator)

        noise_var = self.config.noise_var
        summary = predict(memory, self._summary_address(), noise_var=noise_var)
        prior = self._address_prior(*summary)
        y = prior.sample(randn(*batch, num_images, self.config.address_code_size))
        at_y = predict(memory, self.addressing.address_for(y), noise_var=noise_var)
        pairs = zip(at_y, summary, strict=True)
        both = Prediction(*(torch.stack([a, b.expand_as(a)]) for a, b in pairs))
        known = as_known(both, noise_var=noise_var)
        drawn = self.coder.draw(known, None, randn(len(known.numbers), self.coder.noise_size))
        means = self.coder.likelihood.mean(drawn.parameters)
        images = means.reshape(*batch, num_images, *self.coder.image_shape)
        if on_reading is not None:
            on_reading(0, images)
        return images
