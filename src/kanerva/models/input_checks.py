"""Checks of what the models are called with: noise and cues of a bound, options of a reading.

They look at shapes and types only, so that no device is waited for. While a model is compiled they
are skipped.
"""

import torch
from torch import Tensor

from kanerva.errors import KanervaError
from kanerva.memory.tensor_checks import check_flag, check_generator
from kanerva.models.coder import Coder, check_is_tensor
from kanerva.models.ladder_coder import LadderCoder
from kanerva.models.model import Noise


def check_bound_inputs(
    coder: Coder,
    images: Tensor,
    noise: Noise,
    cues: Tensor | None = None,
    address_code_size: int | None = None,
) -> None:
    """Refuse images, noise and cues that do not belong together.

    Args:
        coder: the coders of the model.
        images: episodes (B, T, channels, H, W).
        noise: what `draw_noise` returned.
        cues: damaged images (n, T, channels, H, W), with n of at most B.
        address_code_size: Y; None for a model without addresses.

    """
    if torch.compiler.is_compiling():
        return
    check_is_tensor("images", images)
    coder.check_shape("images", images)
    if not isinstance(noise, Noise):
        raise _noise_error("noise", "what draw_noise(images) returned", type(noise).__name__)
    items, code_size = tuple(images.shape[:-3]), coder.code_size
    _check_noise("noise.code", noise.code, (*items, code_size))
    if address_code_size is not None:
        _check_noise("noise.written_code", noise.written_code, (*items, code_size))
        _check_noise("noise.address", noise.address, (2, *items, address_code_size))
        on_images = (
            isinstance(noise.embedding, Tensor) and noise.embedding.dim() == images.dim() + 1
        )
        noisy = tuple(images.shape[-3:]) if on_images else (2 * code_size,)
        if noise.embedding is not None:
            _check_noise("noise.embedding", noise.embedding, (2, *items, *noisy))
    if cues is not None:
        _check_cues(images, cues)


def check_next_image_inputs(
    coder: LadderCoder, images: Tensor, noise: Noise, address_code_size: int | None = None
) -> None:
    """The same for a model whose codes are drawn in groups, and which has no cues.

    Args:
        coder: the coder of the model.
        images: episodes (B, T, channels, H, W).
        noise: what `draw_noise` returned.
        address_code_size: Y; None for a model without addresses.

    """
    if torch.compiler.is_compiling():
        return
    check_is_tensor("images", images)
    coder.check_shape("images", images)
    if images.dim() != 5:
        raise KanervaError(
            "images",
            expected="episodes (B, T, channels, H, W)",
            got=f"shape {tuple(images.shape)}",
            fix="images[None] makes one episode of (T, channels, H, W); flatten(0, -5) joins "
            "several dimensions of episodes.",
        )
    if not isinstance(noise, Noise):
        raise _noise_error("noise", "what draw_noise(images) returned", type(noise).__name__)
    items = tuple(images.shape[:2])
    _check_noise("noise.code", noise.code, (*items, coder.noise_size))
    if address_code_size is None:
        return
    _check_noise("noise.address", noise.address, (2, *items, address_code_size))
    if noise.embedding is not None:
        _check_noise("noise.embedding", noise.embedding, (2, *items, 2 * coder.code_size))
    if noise.forget is not None:
        _check_noise("noise.forget", noise.forget, items)


def refuse_cues(cues: Tensor | None, *, why: str, fix: str) -> None:
    """Refuse the cues of a bound for a model that does not read."""
    if cues is not None:
        check_is_tensor("cues", cues)
        raise KanervaError(
            "cues", expected=f"none: {why}", got=f"a tensor {tuple(cues.shape)}", fix=fix
        )


def check_noise_inputs(coder: Coder, images: Tensor, generator: object) -> None:
    """Refuse what noise cannot be drawn for; only the shape and the device of images count."""
    if torch.compiler.is_compiling():
        return
    check_is_tensor("images", images)
    coder.check_shape("images", images)
    check_generator(generator, images.device)


def check_reading_options(
    sample: object, on_reading: object, generator: object, device: torch.device
) -> None:
    """Refuse what is not True or False, what cannot be called, and a generator elsewhere."""
    check_flag("sample", sample)
    check_generator(generator, device)
    if on_reading is not None and not callable(on_reading):
        raise KanervaError(
            "on_reading",
            expected="a function of a number and images, or None",
            got=repr(on_reading),
            fix="Pass for example lambda number, images: print(number).",
        )


def check_same_shape(start: Tensor, end: Tensor) -> None:
    """Refuse two images of different shapes."""
    if start.shape != end.shape:
        raise KanervaError(
            "end",
            expected=f"the shape of start, {tuple(start.shape)}",
            got=str(tuple(end.shape)),
            fix="Pass two images of the same shape.",
        )


def _check_noise(argument: str, value: object, shape: tuple[int, ...]) -> None:
    if isinstance(value, Tensor) and tuple(value.shape) == shape:
        return
    got = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else repr(value)
    raise _noise_error(argument, f"a tensor of shape {shape}", got)


def _noise_error(argument: str, expected: str, got: str) -> KanervaError:
    return KanervaError(
        argument,
        expected=expected,
        got=got,
        fix="Draw it with this model for these images: noise = model.draw_noise(images).",
    )


def _check_cues(images: Tensor, cues: Tensor) -> None:
    check_is_tensor("cues", cues)
    if cues.dim() > 4 and cues.shape[1:] == images.shape[1:] and len(cues) <= len(images):
        return
    most = len(images) if images.dim() > 4 else 1
    shape = images.shape[1:] if images.dim() > 4 else images.shape
    raise KanervaError(
        "cues",
        expected=f"a shape (n, {', '.join(map(str, shape))}) with n of at most {most}",
        got=str(tuple(cues.shape)),
        fix="Cues are damaged images of the first n episodes: cues[None] makes one episode of "
        "them, and images must have that dimension too.",
    )
