"""Damage to images: what may have happened to a cue before the memory is asked to repair it.

Ink is 1 and background is 0. All random numbers are drawn first, as a `DamageNoise`. The rest is a
function of them, so that it can be compiled.
"""

from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from kanerva.checks import check_generator, check_one_of
from kanerva.data import damage_shapes as shapes
from kanerva.errors import KanervaError

Damage = Literal[
    "block12",
    "erase12",
    "salt",
    "half",
    "none",
    "invert12",
    "salt20",
    "flip10",
    "rotate15",
    "shift2",
    "shift3",
    "scale20",
    "thin",
    "thick",
    "line",
    "scribble",
]
"""The name of a kind of damage; `damage` says what each one does."""
DAMAGES: tuple[Damage, ...] = get_args(Damage)
"""The names of all kinds of damage."""
REPORTED_DAMAGES: tuple[Damage, ...] = tuple(kind for kind in DAMAGES if kind != "salt")
"""The kinds that recall is reported for: salt is a weaker salt20."""
TRAINED_DAMAGES: tuple[Damage, ...] = ("block12", "erase12", "salt", "half")
"""The kinds that `any_damage` chooses from."""
BLOCK = 12
"""Side of the square that the paper puts on its cues (section 4.3)."""
SALT = 0.1
"""Share of pixels that salt turns into ink."""
ANGLE = 15.0
"""Degrees of rotate15, to either side."""
SCALE = 1.2
"""Factor of scale20, up or down."""


class DamageNoise(NamedTuple):
    """The random numbers that decide how images are damaged, uniform between 0 and 1.

    Attributes:
        per_image: (..., 4). The first two decide where the damage is, or which half is lost; the
            third decides which kind it is, the fourth how much of a neighbour shines through.
        per_pixel: (..., 1, H, W), one number for each pixel.

    Example:
        >>> import torch
        >>> from kanerva.data.damage import DamageNoise
        >>> noise = DamageNoise.draw(torch.zeros(5, 1, 28, 28), torch.Generator().manual_seed(0))
        >>> noise.per_image.shape, noise.per_pixel.shape
        (torch.Size([5, 4]), torch.Size([5, 1, 28, 28]))

    """

    per_image: Tensor
    per_pixel: Tensor

    def more(self, count: int) -> Tensor:
        """More numbers for each image, (..., count), for damage that needs none for each pixel.

        Args:
            count: how many, at most as many as an image has pixels.

        Returns:
            The first numbers of `per_pixel`.

        Example:
            >>> DamageNoise.draw(torch.zeros(5, 1, 28, 28), None).more(8).shape
            torch.Size([5, 8])

        """
        return self.per_pixel.flatten(-3)[..., :count]

    @staticmethod
    def draw(images: Tensor, generator: torch.Generator | None) -> "DamageNoise":
        """Draw the random numbers for some images.

        Args:
            images: (..., channels, H, W); only their shape and device are used.
            generator: the source of random numbers, on the device of the images.

        Returns:
            Random numbers for each image.

        Raises:
            KanervaError: the images are not floating-point numbers (..., channels, H, W).

        Example:
            >>> DamageNoise.draw(torch.zeros(2, 3, 1, 8, 8), None).per_image.shape
            torch.Size([2, 3, 4])

        """
        _check_images(images)
        check_generator(generator, images.device)
        *items, _, height, width = images.shape
        options = {"device": images.device, "generator": generator}
        return DamageNoise(
            torch.rand(*items, 4, **options), torch.rand(*items, 1, height, width, **options)
        )


def damage(images: Tensor, kind: Damage, *, generator: torch.Generator | None = None) -> Tensor:
    """Damage images, each one at its own random place (section 4.3 of the paper).

    Args:
        images: (..., channels, H, W), ink 1 and background 0.
        kind: block12 puts a 12 x 12 square of ink somewhere, as the paper does; erase12 puts one
            of background there and invert12 inverts it; half erases the upper, lower, left or right
            half; salt turns a tenth of the pixels into ink, salt20 a fifth; flip10 inverts a tenth;
            rotate15 turns by 15 degrees to either side; shift2 and shift3 move by so many pixels
            along one axis or both; scale20 enlarges or shrinks by 1.2; thin takes the minimum of a
            pixel and its right and lower neighbours, thick the maximum of a pixel and its four
            neighbours; line draws one from an edge to the opposite one; scribble joins four random
            points, both 2 pixels wide; none changes nothing.
        generator: the source of random numbers, on the device of the images.

    Returns:
        The damaged images, of the same shape.

    Raises:
        KanervaError: there is no such kind of damage.

    Example:
        >>> import torch
        >>> from kanerva.data.damage import damage
        >>> blank = torch.zeros(2, 1, 28, 28)
        >>> damage(blank, "block12").sum((1, 2, 3))
        tensor([144., 144.])

    """
    _check_images(images)
    check_generator(generator, images.device)
    return apply_damage(images, kind, DamageNoise.draw(images, generator))


def apply_damage(images: Tensor, kind: Damage, noise: DamageNoise) -> Tensor:
    """Damage images with random numbers that were drawn before.

    Args:
        images: (..., channels, H, W), ink 1 and background 0.
        kind: as in `damage`.
        noise: what `DamageNoise.draw(images, generator)` returned.

    Returns:
        The damaged images, of the same shape.

    Raises:
        KanervaError: there is no such kind of damage, or the noise was drawn for other images.

    Example:
        >>> images = torch.ones(1, 1, 4, 4)
        >>> noise = DamageNoise(torch.full((1, 4), 0.9), torch.rand(1, 1, 4, 4))
        >>> apply_damage(images, "half", noise)
        tensor([[[[0., 0., 0., 0.],
                  [0., 0., 0., 0.],
                  [1., 1., 1., 1.],
                  [1., 1., 1., 1.]]]])

    """
    if not isinstance(kind, str) or kind not in DAMAGES:
        check_one_of("damage", kind, DAMAGES, fix="The paper uses block12.")
    _check_images(images)
    _check_noise(noise, images)
    size = (images.shape[-2], images.shape[-1])
    first, second = noise.per_image[..., 0], noise.per_image[..., 1]
    if kind == "none":
        return images.clone()
    if kind in ("salt", "salt20"):
        return torch.where(noise.per_pixel < (SALT if kind == "salt" else 2 * SALT), 1.0, images)
    if kind == "flip10":
        return torch.where(noise.per_pixel < 0.1, 1 - images, images)
    if kind == "half":
        return torch.where(shapes.half_mask(noise.per_image, *size), 0.0, images)
    if kind == "thin":
        return shapes.thinned(images)
    if kind == "thick":
        return shapes.thickened(images)
    if kind in ("shift2", "shift3"):
        return shapes.shifted(images, first, 2 if kind == "shift2" else 3)
    if kind in ("rotate15", "scale20"):
        zero, one, up = torch.zeros_like(first), torch.ones_like(first), second > 0.5
        angle = torch.where(up, ANGLE, -ANGLE) if kind == "rotate15" else zero
        scale = torch.where(up, SCALE, 1 / SCALE) if kind == "scale20" else one
        return shapes.moved(images, angle=angle, scale=scale, down=zero, right=zero)
    if kind == "line":
        return torch.where(shapes.line_mask(noise.per_image, *size), 1.0, images)
    if kind == "scribble":
        return torch.where(shapes.scribble_mask(noise.more(8), *size), 1.0, images)
    mask = shapes.block_mask(noise.per_image, *size, BLOCK)
    if kind == "invert12":
        return torch.where(mask, 1 - images, images)
    return torch.where(mask, float(kind == "block12"), images)


def any_damage(images: Tensor, noise: DamageNoise) -> Tensor:
    """Damage every image with a kind chosen at random, to train on.

    One more kind is added: another image of the episode shines through, with less than half of the
    weight. A memory that is not sure reads such mixtures. Training that leads them to the stronger
    of the two images makes written images attract what is read.

    Args:
        images: episodes (..., T, channels, H, W), ink 1 and background 0.
        noise: what `DamageNoise.draw(images, generator)` returned.

    Returns:
        The damaged images, of the same shape.

    Raises:
        KanervaError: the images are not episodes, or the noise was drawn for other images.

    Example:
        >>> images = torch.zeros(8, 32, 1, 28, 28)
        >>> noise = DamageNoise.draw(images, torch.Generator().manual_seed(0))
        >>> any_damage(images, noise).shape
        torch.Size([8, 32, 1, 28, 28])

    """
    _check_images(images, num_dimensions=4)
    _check_noise(noise, images)
    kinds = TRAINED_DAMAGES
    which, share = (noise.per_image[..., number, None, None, None] for number in (2, 3))
    damaged = torch.lerp(images, images.roll(1, dims=-4), 0.5 * share)
    for number, kind in enumerate(kinds):
        chosen = (which * (len(kinds) + 1)).floor() == number
        damaged = torch.where(chosen, apply_damage(images, kind, noise), damaged)
    return damaged


def _check_images(images: Tensor, *, num_dimensions: int = 3) -> None:
    if (
        not isinstance(images, Tensor)
        or not images.is_floating_point()
        or images.dim() < num_dimensions
        or images.numel() == 0
    ):
        shape = "(..., T, channels, H, W)" if num_dimensions == 4 else "(..., channels, H, W)"
        raise KanervaError(
            "images",
            expected=f"floating-point numbers {shape}, ink 1 and background 0",
            got=f"{images.dtype} {tuple(images.shape)}"
            if isinstance(images, Tensor)
            else type(images).__name__,
            fix="Turn bytes into such numbers first, for example (images > 20).float().",
        )


def _check_noise(noise: DamageNoise, images: Tensor) -> None:
    if isinstance(noise, DamageNoise):
        shape = (*images.shape[:-3], 1, *images.shape[-2:])
        if noise.per_pixel.shape == shape and noise.per_image.shape == (*images.shape[:-3], 4):
            return
    raise KanervaError(
        "noise",
        expected=f"the random numbers for images {tuple(images.shape)}",
        got=f"those for {tuple(noise.per_pixel.shape)}"
        if isinstance(noise, DamageNoise)
        else type(noise).__name__,
        fix="Draw them for these images: DamageNoise.draw(images, generator).",
    )
