"""Training without one kind of damage."""

from typing import get_args

import pytest
import torch

from kanerva.data import varied_damage as varied_damage_file
from kanerva.data.damage import DamageNoise
from kanerva.data.varied_damage import LEFT_OUT, NUM_KINDS, varied_damage
from kanerva.errors import KanervaError
from kanerva.training.config import LeftOut, TrainingConfig


def test_the_names_are_those_of_the_setting():
    assert set(LEFT_OUT) == set(get_args(LeftOut))
    assert {turn for turns in LEFT_OUT.values() for turn in turns} == set(range(NUM_KINDS))


@pytest.mark.parametrize("left_out", [None, *LEFT_OUT])
def test_what_is_left_out_does_not_happen(left_out, monkeypatch):
    images = torch.rand(2, 36, 1, 28, 28)
    noise = DamageNoise.draw(images, torch.Generator().manual_seed(0))
    turns, damaged = [], varied_damage_file._damaged

    def recorded(part, turn, *numbers):
        turns.append(turn)
        return damaged(part, turn, *numbers)

    monkeypatch.setattr(varied_damage_file, "_damaged", recorded)
    found = varied_damage(images, noise, left_out=left_out)
    assert found.shape == images.shape
    assert set(turns) == set(range(NUM_KINDS)) - set(LEFT_OUT.get(left_out, ()))
    assert (found != images).flatten(2).any(-1).double().mean() > 0.8


def test_only_varied_damage_can_leave_something_out():
    assert TrainingConfig(damage="varied", left_out="line").left_out == "line"
    with pytest.raises(KanervaError, match="left-out"):
        TrainingConfig(left_out="line")
    with pytest.raises(KanervaError, match="left-out"):
        TrainingConfig(damage="varied", left_out="lines")  # pyright: ignore[reportArgumentType]
