"""Labelled rows of images: pixels where they belong, the same for arrays and tensors."""

import io
import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from PIL import Image

from kanerva.errors import KanervaError
from kanerva.rendering.bar_chart import bar_chart
from kanerva.rendering.image_grid import animation, image_grid, png, svg
from kanerva.rendering.image_json import images_from_json, images_to_json


def test_rows_and_columns_are_where_they_belong():
    ink = np.zeros((2, 1, 4, 4))
    ink[1] = 1
    pixels = np.asarray(image_grid({"": ink, " ": 1 - ink}, scale=2))
    height, width, _ = pixels.shape
    cells = 8 + 3
    assert height == 2 * cells + 3
    left = width - 2 * cells - 3
    for row in range(2):
        for column in range(2):
            top, start = 3 + row * cells, left + column * cells
            cell = pixels[top : top + 8, start : start + 8]
            assert (cell == (0 if row != column else 255)).all()


def test_colours_stay_colours():
    red = np.zeros((1, 3, 4, 4))
    red[:, 0] = 1
    assert (255, 0, 0) in {colour for _, colour in image_grid({"": red}).getcolors() or []}


def test_a_tensor_gives_the_picture_of_its_array():
    images = torch.rand(3, 1, 8, 8, generator=torch.Generator().manual_seed(0)) * 1.4 - 0.2
    rows = [
        image_grid({"new": kind}) for kind in (images, images.requires_grad_(), images.tolist())
    ]
    assert len({png(row) for row in rows}) == 1


def test_long_rows_are_broken_into_lines():
    ink = np.zeros((5, 1, 8, 8))
    broken, whole = image_grid({"a": ink}, num_columns=2), image_grid({"a": ink})
    assert broken.height == 3 * (whole.height - 3) + 3
    assert broken.width < whole.width


def test_bars_stand_below_the_images():
    plain = image_grid({"a": np.zeros((2, 1, 8, 8))})
    weights = torch.tensor([[1.0, -1.0], [0.0, 2.0]])
    both = image_grid({"a": np.zeros((2, 1, 8, 8))}, bars={"w": weights})
    assert both.height == 2 * plain.height - 3


def test_bars_go_up_and_down_from_zero():
    pixels = np.asarray(bar_chart(np.array([1.0, -1.0, 0.0]), width=3, height=10))
    dark = pixels[..., 0] < 200
    assert dark[:5, 0].all()
    assert not dark[5:, 0].any()
    assert dark[5:, 1].all()
    assert not dark[:5, 1].any()
    assert not dark[:, 2].any()


def test_an_animation_has_a_frame_for_each_row():
    rows = {f"reading {n}": torch.full((9 + n, 1, 8, 8), n / 3) for n in range(3)}
    with Image.open(io.BytesIO(animation(rows))) as film:
        assert getattr(film, "n_frames", 1) == 3
        assert film.height > 2 * 16


def test_svg_holds_the_picture():
    text = svg(image_grid({"a": np.zeros((2, 1, 8, 8))})).decode()
    assert text.startswith("<?xml")
    assert "data:image/png;base64," in text


def test_json_keeps_images():
    images = np.random.default_rng(0).integers(0, 256, (3, 1, 5, 4)) / 255
    saved = json.loads(json.dumps(images_to_json(images)))
    assert np.array_equal(images_from_json(saved), images)
    tensor = torch.from_numpy(images)
    assert images_to_json(tensor)["shape"] == [3, 1, 5, 4]


@pytest.mark.parametrize(
    "saved",
    [
        {},
        {"shape": [2, 2], "bytes": "AP8="},
        {"shape": "2", "bytes": "AP8="},
        {"shape": [2], "bytes": "not base64"},
        {"shape": [2], "bytes": 3},
    ],
)
def test_what_holds_no_images_is_refused(saved):
    with pytest.raises(KanervaError, match="images_to_json"):
        images_from_json(saved)


def test_rendering_and_results_need_no_torch():
    code = (
        "import sys, kanerva.rendering.image_grid, kanerva.rendering.image_json\n"
        "import kanerva.figures.results\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
