"""What a recall model does with damage that it was never trained on, each kind in turn.

    kanerva sweep experiments/plans/leave-one-out.json --out runs/leave-one-out
    python experiments/leave_one_out.py runs/leave-one-out results/leave_one_out.json

Each model of the sweep was trained without one kind of damage. Its choice between items is fitted
without that kind, too. Beside it stands the model of the sweep that was trained with all kinds.
"""

import argparse
import json
from pathlib import Path

from kanerva.atomic import write_atomically
from kanerva.data import Dataset, load_dataset
from kanerva.data.damage import DAMAGES, Damage
from kanerva.evaluation.calibrate import collect_candidates, fit_ranking
from kanerva.evaluation.denoise import measure_denoising
from kanerva.models.checkpoint import load
from kanerva.models.kanerva_machine import KanervaMachine

MEASURED: dict[str, tuple[Damage, ...]] = {
    "block12": ("block12",),
    "erase12": ("erase12",),
    "invert12": ("invert12",),
    "half": ("half",),
    "salt20": ("salt20",),
    "flip10": ("flip10",),
    "rotate15": ("rotate15",),
    "shift": ("shift2", "shift3"),
    "scale20": ("scale20",),
    "thin": ("thin",),
    "thick": ("thick",),
    "line": ("line",),
    "scribble": ("scribble",),
}
"""What is measured where a kind was left out."""
SAME: dict[str, tuple[Damage, ...]] = {"salt20": ("salt",)}
"""Damage of the same kind, which the choice between items must not see either."""
NUM_FITTED = 2
"""Episodes to fit the choice between items, each with every kind of damage."""


def main() -> None:
    """Measure every model of the sweep and save one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sweep", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--split", default="test")
    parser.add_argument("--episodes", type=int, default=10)
    arguments = parser.parse_args()
    fit, images = load_dataset("omniglot", "valid"), load_dataset("omniglot", arguments.split)
    with_all = _fitted(arguments.sweep / "without-nothing.safetensors", fit, DAMAGES)
    rows = {}
    for left_out, kinds in MEASURED.items():
        others = _without(kinds + SAME.get(left_out, ()))
        without = _fitted(arguments.sweep / f"without-{left_out}.safetensors", fit, others)
        for kind in kinds:
            row = {}
            for name, model in (("without", without), ("with", with_all)):
                found = measure_denoising(model, images, kind=kind, num_episodes=arguments.episodes)
                row[name], row[f"{name}_error"] = found.recognised, found.errors[-1]
                row["nearest"] = found.nearest_recognised
            rows[kind] = row
            print(kind, {key: round(value, 3) for key, value in row.items()}, flush=True)
    what = {"split": arguments.split, "episodes": arguments.episodes, "fitted_on": NUM_FITTED}
    report = {"what": what, "damages": rows}
    write_atomically(arguments.out, json.dumps(report, indent=1).encode() + b"\n")


def _without(kinds: tuple[Damage, ...]) -> tuple[Damage, ...]:
    left: list[Damage] = list(DAMAGES)
    for kind in kinds:
        left.remove(kind)
    return tuple(left)


def _fitted(path: Path, images: Dataset, kinds: tuple[Damage, ...]) -> KanervaMachine:
    model = load(str(path))
    assert isinstance(model, KanervaMachine)
    fit_ranking(model, collect_candidates(model, images, num_episodes=NUM_FITTED, kinds=kinds))
    return model


if __name__ == "__main__":
    main()
