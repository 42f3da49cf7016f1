"""Encoder, decoder and likelihood: the part that the Kanerva Machine and a VAE share."""

import math

import torch
from torch import Tensor, nn

from kanerva.checks import MOST_BYTES, check_integer, check_outside_vmap
from kanerva.errors import KanervaError
from kanerva.memory.tensor_checks import check_plain_tensor
from kanerva.models.config import CoderConfig
from kanerva.models.likelihood import make_likelihood
from kanerva.models.nets import Decoder, Encoder

_WRITE_ONE = "Pass images of shape (T, channels, height, width) with T of at least 1."

_ONE = torch.Size()


class Coder(nn.Module):
    """Images (..., channels, H, W) to embeddings e(x), and codes z to p(x|z) (appendix C)."""

    def __init__(self, config: CoderConfig) -> None:
        super().__init__()
        self.image_shape = config.image_shape
        self.code_size = config.code_size
        sizes = (config.image_shape, config.num_filters, config.code_size)
        self.encoder = Encoder(*sizes)
        self.decoder = Decoder(*sizes)
        self.likelihood = make_likelihood(config.likelihood)

    def encode(self, images: Tensor) -> Tensor:
        """e(x), (..., 2C): the mean and log-variance of q(z|x), and the input of q(y|x)."""
        flat = images.reshape(-1, *self.image_shape)
        return self.encoder(flat).reshape(*images.shape[:-3], -1)

    def encode_both(self, images: Tensor, cues: Tensor | None) -> tuple[Tensor, Tensor]:
        """e(x) of the images that are written, and of the images that they are read with.

        Both are the same, except that cues (n, ...) take the place of the first n episodes.
        """
        if cues is None:
            embeddings = self.encode(images)
            return embeddings, embeddings
        both = self.encode(torch.cat([images, cues]))
        written, asked = both.split([len(images), len(cues)])
        return written, torch.cat([asked, written[len(cues) :]])

    def encode_noisy(self, images: Tensor, cues: Tensor | None, noise: Tensor) -> Tensor:
        """e(x + noise), (2, ..., 2C): [0] of the images that are written, [1] of what reads them.

        `noise` is (2, ..., channels, H, W). Cues stand for the first episodes, as above.
        """
        asked = images if cues is None else torch.cat([cues, images[len(cues) :]])
        return self.encode(torch.stack([images, asked]) + noise)

    def decode(self, codes: Tensor) -> Tensor:
        """Parameters of p(x|z) for codes (..., C), (..., channels, H, W)."""
        flat = self.decoder(codes.reshape(-1, codes.shape[-1]))
        return flat.reshape(*codes.shape[:-1], *self.image_shape)

    def use_half(self, half: bool) -> None:
        """Run the convolutions in bfloat16, or not. The parameters stay in float32."""
        self.encoder.blocks.half = self.decoder.blocks.half = half

    def prepare(self, images: Tensor, generator: torch.Generator | None) -> Tensor:
        """Images as the likelihood needs them: while training, colours get a little noise."""
        self.check_shape("images", images)
        return self.likelihood.prepare(images, generator) if self.training else images

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the parameters."""
        return next(self.parameters()).dtype

    def check_dtype(self) -> None:
        """Refuse a model in half precision: its memory computes in more."""
        if self.dtype not in (torch.float32, torch.float64):
            raise KanervaError(
                "model",
                expected="a model in float32 or float64",
                got=str(self.dtype),
                fix="Convert it back: model.float(), and images.float().",
            )

    def check_num_images(self, num_images: int, batch_shape: torch.Size = _ONE) -> None:
        """Refuse a number of images for each memory that is below 1 or fits into no machine."""
        self.check_dtype()
        numbers = math.prod(self.image_shape) * math.prod(batch_shape)
        check_integer(
            "num_images",
            num_images,
            at_most=max(1, MOST_BYTES // (4 * max(1, numbers))),
            fix="Say how many images to make, for example 16.",
        )

    def check_shape(self, argument: str, images: Tensor) -> None:
        """Refuse images of another size than this model was made for."""
        if images.dim() < 4 or tuple(images.shape[-3:]) != tuple(self.image_shape):
            raise KanervaError(
                argument,
                expected=f"shape (..., T, {', '.join(map(str, self.image_shape))})",
                got=str(tuple(images.shape)),
                fix="Resize the images, and keep the dimension of items: images[None] for one.",
            )

    def check_image(self, argument: str, image: Tensor) -> None:
        """The same for one image (..., channels, H, W)."""
        check_is_tensor(argument, image)
        self.check_images(argument, image[None])

    def check_images(self, argument: str, images: Tensor, *, at_most: float = 1.0) -> None:
        """Refuse what is not a tensor (..., T, channels, H, W) of pixels between 0 and 1."""
        check_is_tensor(argument, images)
        self.check_shape(argument, images)
        self.check_dtype()
        like = next(self.parameters())
        if images.device != like.device:
            raise KanervaError(
                argument,
                expected=f"device {like.device} like the model",
                got=str(images.device),
                fix=f"Move them: images.to({str(like.device)!r}).",
            )
        if not images.numel():
            raise KanervaError(argument, expected="at least one image", got="none", fix=_WRITE_ONE)
        check_outside_vmap(argument, images)
        if images.dtype == torch.uint8:
            fix = "Scale them: images.float() / 255; 1 minus that if the ink is dark."
        else:
            fix = f"Convert them: images.to({like.dtype})."
        if images.dtype != like.dtype:
            raise KanervaError(
                argument, expected=f"{like.dtype} pixels", got=str(images.dtype), fix=fix
            )
        low, high = images.min().item(), images.max().item()
        if not (low >= 0 and high <= at_most):
            raise KanervaError(
                argument,
                expected="pixels between 0 (background) and 1 (ink)",
                got=f"values from {low:g} to {high:g}",
                fix="Divide bytes by 255, or clamp: images.clamp(0, 1); NaN comes from elsewhere.",
            )

    def check_prepared_images(self, argument: str, images: Tensor) -> None:
        """The same for what `prepare` returned: while training, colours have a little noise."""
        self.check_images(argument, images, at_most=1 + 1 / 256 if self.training else 1.0)


def check_is_tensor(argument: str, value: object) -> None:
    """Refuse arrays and lists, and tensors that are sparse, nested or without numbers."""
    if not isinstance(value, Tensor):
        raise KanervaError(
            argument,
            expected="a tensor",
            got=type(value).__name__,
            fix="torch.from_numpy(array).float() makes one from an array.",
        )
    check_plain_tensor(argument, value)
