"""Drawings photographed in uneven light read nearly as their clean versions do."""

import numpy as np
import pytest
import torch
from PIL import Image

from kanerva import KanervaError, read_images
from kanerva.data.image_files import border
from photographs import LIGHTS, drawings, photograph, scan

MIN_AGREEMENT = {"soft shadow": 0.985, "hard shadow": 0.96, "hand": 0.97}
"""Mean share of pixels that must agree with the clean version; 0.99 in other lights. The edge of a
shadow crosses strokes, and pixels on it are mixtures."""


def read(folder, files: list[bytes]) -> torch.Tensor:
    folder.mkdir()
    for number, data in enumerate(files):
        (folder / f"{number:03d}.png").write_bytes(data)
    return read_images(folder)


@pytest.mark.parametrize("kind", LIGHTS)
@pytest.mark.parametrize(("background", "ink"), [(230, 45), (50, 220)], ids=["paper", "board"])
def test_photographs(tmp_path, kind, background, ink):
    shapes = drawings(16, seed=1)
    rng = np.random.default_rng(1)
    clean = read(tmp_path / "clean", [scan(shape) for shape in shapes])
    files = [photograph(shape, kind, rng, background=background, ink=ink) for shape in shapes]
    photographed = read(tmp_path / "photographs", files)
    agreement = (photographed == clean).float().mean((1, 2, 3))
    assert agreement.mean() > MIN_AGREEMENT.get(kind, 0.99 if ink < background else 0.985)
    assert agreement.min() > 0.9
    both, either = (photographed * clean).sum(), (photographed + clean > 0).sum()
    assert both / either > 0.75  # of the ink alone


@pytest.mark.parametrize("kind", ["even", "gradient", "steep gradient", "dark corners"])
def test_a_blank_sheet_has_no_ink(tmp_path, kind):
    path = tmp_path / "blank.jpg"
    path.write_bytes(photograph(np.zeros((400, 400)), kind, np.random.default_rng(0)))
    with pytest.raises(KanervaError, match=r"blank\.jpg: .*no ink found in blank\.jpg"):
        read_images(path)


@pytest.mark.parametrize("grey", [0, 128, 255])
def test_one_grey_has_no_ink(tmp_path, grey):
    Image.new("L", (100, 100), grey).save(tmp_path / "a.png")
    with pytest.raises(KanervaError, match=r"no ink found in a\.png"):
        read_images(tmp_path)
    assert read_images(tmp_path, binary=False).shape == (1, 1, 28, 28)


def in_even_light(array: np.ndarray) -> np.ndarray:
    """Ink by one background and one threshold for the whole image."""
    edge = border(array).astype(float)
    background = np.median(edge)
    darker, lighter = background - array, array - background
    ink = darker if darker.max() >= lighter.max() else lighter
    grain = 6 * np.median(np.abs(edge - background))
    return ink > max(ink.max() * 20 / 255, grain)


@pytest.mark.parametrize(("background", "ink"), [(255, 0), (0, 255), (230, 40), (128, 0)])
@pytest.mark.parametrize("part", [slice(None), slice(60, 220)], ids=["whole", "touching"])
def test_clean_drawings_are_not_treated_as_photographs(tmp_path, background, ink, part):
    """Pixel for pixel as with one threshold, also where strokes touch the border."""
    shapes = drawings(20, size=280, seed=2)[:, part, part]
    files = [scan((background + (ink - background) * shape - 255) / -255) for shape in shapes]
    images = read(tmp_path / "clean", files)
    for number, image in enumerate(images):
        clean = Image.open(tmp_path / "clean" / f"{number:03d}.png")
        small = np.asarray(clean.resize((28, 28), Image.Resampling.LANCZOS))
        assert np.array_equal(image[0].numpy(), in_even_light(small))


def test_large_solid_shapes_stay_solid(tmp_path):
    """A filled disc is larger than any window in which the background is estimated."""
    y, x = np.mgrid[-1:1:300j, -1:1:300j]
    for radius in (0.3, 0.6, 0.9):
        (ink,) = read(tmp_path / f"{radius}", [scan((np.hypot(x, y) < radius) * 1.0)])
        assert ink[0, 14, 14] == 1
        assert ink.mean() == pytest.approx((np.hypot(x, y) < radius).mean(), abs=0.06)


def test_other_sizes(tmp_path):
    """The light is estimated at one size, whatever the size of the model's images."""
    shapes = drawings(6, seed=3)
    rng = np.random.default_rng(3)
    for number, shape in enumerate(shapes):
        (tmp_path / f"{number}a.png").write_bytes(scan(shape))
        (tmp_path / f"{number}b.png").write_bytes(photograph(shape, "gradient", rng))
    for size in (20, 64):
        images = read_images(tmp_path, image_shape=(1, size, size))
        assert (images[0::2] == images[1::2]).float().mean() > 0.98
