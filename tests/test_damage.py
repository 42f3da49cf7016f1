"""Damage to images: each kind does what its name says, at a random place in each image."""

import pytest
import torch

from kanerva import KanervaError
from kanerva.data.damage import DAMAGES, Damage, DamageNoise, any_damage, apply_damage, damage


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


def test_none_changes_nothing_and_colour_is_hit_in_all_channels():
    images = torch.rand(4, 3, 32, 32)
    assert damage(images, "none") is images
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
