"""Damage to images: each kind does what its name says, at a random place in each image."""

import pytest
import torch

from kanerva import KanervaError
from kanerva.data.damage import (
    DAMAGES,
    TRAINED_DAMAGES,
    Damage,
    DamageNoise,
    any_damage,
    apply_damage,
    damage,
)
from kanerva.data.varied_damage import NUM_KINDS, varied_damage


def blank(*items, value=0.0, channels=1):
    return torch.full((*items, channels, 28, 28), value)


def seeded():
    return torch.Generator().manual_seed(0)


def test_a_block_is_a_block():
    ink = damage(blank(500), "block12", generator=seeded())
    assert (ink.sum((-3, -2, -1)) == 144).all()
    rows, columns = ink[:, 0].amax(-1), ink[:, 0].amax(-2)
    for edges in (rows, columns):
        assert (edges.sum(-1) == 12).all()
        first = edges.argmax(-1)
        assert set(first.tolist()) == set(range(17))  # wherever it fits, and nowhere else
    wiped = damage(blank(500, value=1.0), "erase12", generator=seeded())
    assert torch.equal(1 - wiped, ink)


def test_half_is_one_of_four_halves():
    left = damage(blank(200, value=1.0), "half", generator=seeded())
    assert (left.sum((-3, -2, -1)) == 28 * 14).all()
    assert len({tuple(image.flatten().tolist()) for image in left}) == 4


def test_salt_only_adds_ink():
    images = (torch.rand(100, 1, 28, 28, generator=seeded()) < 0.2).float()
    salted = damage(images, "salt", generator=seeded())
    assert (salted >= images).all()
    share = (salted > images).sum() / (images == 0).sum()
    assert 0.09 < share < 0.11


def test_the_result_is_a_copy():
    images = torch.zeros(2, 1, 28, 28)
    for kind in DAMAGES:
        assert damage(images, kind).data_ptr() != images.data_ptr()


def test_none_changes_nothing_and_colour_is_hit_in_all_channels():
    images = torch.rand(4, 3, 32, 32)
    assert torch.equal(damage(images, "none"), images)
    hit = damage(images, "block12", generator=seeded()) != images
    assert torch.equal(hit.any(1), hit.all(1))


def test_training_sees_every_kind_and_a_faint_neighbour():
    images = (torch.rand(20, 8, 1, 28, 28, generator=seeded()) < 0.2).float()
    noise = DamageNoise.draw(images, seeded())
    damaged = any_damage(images, noise)
    kinds: list[Damage] = list(TRAINED_DAMAGES)
    left = torch.ones(20, 8, dtype=torch.bool)
    for kind in kinds:
        same = (damaged == apply_damage(images, kind, noise)).flatten(2).all(-1)
        assert 0.1 < same.float().mean() < 0.3
        left &= ~same
    share = (noise.per_image[..., 3, None, None, None] / 2)[left]
    faint = (1 - share) * images[left] + share * images.roll(1, 1)[left]
    torch.testing.assert_close(damaged[left], faint)


def test_unknown_damage():
    with pytest.raises(KanervaError, match="block12"):
        damage(blank(1), "blok", generator=seeded())  # pyright: ignore[reportArgumentType]


def test_an_inverted_block_is_its_own_inverse():
    images = (torch.rand(50, 1, 28, 28, generator=seeded()) < 0.2).float()
    once = damage(images, "invert12", generator=seeded())
    assert ((once != images).flatten(1).sum(-1) == 144).all()
    assert torch.equal(damage(once, "invert12", generator=seeded()), images)


def test_pixels_are_turned_and_flipped_at_their_rates():
    ink = damage(blank(200), "salt20", generator=seeded()).mean()
    assert 0.19 < ink < 0.21
    for value in (0.0, 1.0):
        flipped = damage(blank(200, value=value), "flip10", generator=seeded())
        assert 0.09 < (flipped - value).abs().mean() < 0.11


@pytest.mark.parametrize(("kind", "pixels"), [("shift2", 2), ("shift3", 3)])
def test_a_shift_moves_by_whole_pixels(kind, pixels):
    image = blank(400)
    image[..., 14, 14] = 1
    moved = damage(image, kind, generator=seeded())
    rows, columns = moved[:, 0].nonzero(as_tuple=True)[1:]
    moves = {
        (row - 14, column - 14) for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
    }
    steps = (-pixels, 0, pixels)
    assert moves == {(a, b) for a in steps for b in steps} - {(0, 0)}


def test_rotation_and_scale_keep_the_middle_and_move_the_rest():
    image = blank(50)
    image[..., 4:24, 13:15] = 1  # a vertical bar through the middle
    turned = damage(image, "rotate15", generator=seeded())
    assert turned[..., 13:15, 13:15].min() == 1
    top = turned[:, 0, 5].nonzero()[:, 1].float()
    assert ((top - 13.5).abs() - 8.5 * 0.268 < 1.5).all(), "tan(15 degrees) is 0.268"
    assert {True, False} == set((top > 13.5).tolist()), "to either side"
    heights = damage(image, "scale20", generator=seeded())[:, 0, :, 13].sum(-1)
    assert set(heights.tolist()) <= {16.0, 17.0, 24.0}, "20 / 1.2 and 20 * 1.2"
    assert len(set(heights.tolist())) == 2


def test_thin_and_thick_strokes():
    image = blank(1)
    image[..., 10:13, 10:13] = 1
    thin, thick = damage(image, "thin"), damage(image, "thick")
    assert torch.equal(thin[0, 0].nonzero().amax(0), torch.tensor([11, 11]))
    assert thin.sum() == 4
    assert thick.sum() == 9 + 12


def test_lines_and_scribbles_add_ink_across_the_image():
    lines = damage(blank(200), "line", generator=seeded())[:, 0]
    upright = lines.amax(-1).sum(-1) == 28
    flat = lines.amax(-2).sum(-1) == 28
    assert (upright | flat).all(), "from an edge to the opposite one"
    assert 40 < lines.sum((-2, -1)).mean() < 80, "two pixels wide"
    scribbles = damage(blank(200), "scribble", generator=seeded())
    assert 50 < scribbles.sum((-3, -2, -1)).mean() < 150


@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_keeps_pixels_and_shape(kind):
    images = (torch.rand(3, 4, 1, 28, 28, generator=seeded()) < 0.2).float()
    damaged = damage(images, kind, generator=seeded())
    assert damaged.shape == images.shape
    assert set(damaged.unique().tolist()) <= {0.0, 1.0}


def test_varied_damage_takes_turns():
    images = (torch.rand(NUM_KINDS * 4, 1, 28, 28, generator=seeded()) < 0.2).float()
    damaged = varied_damage(images, DamageNoise.draw(images, seeded()))
    changed = (damaged != images).flatten(1).any(-1).reshape(4, NUM_KINDS).float().mean(0)
    assert (changed > 0).sum() == NUM_KINDS
    assert (changed == 1).sum() >= NUM_KINDS - 4, "small movements may change nothing"
