"""A training step of the Kanerva Machine over one of its VAE twin, side by side in one process.

    PYTHONPATH=experiments python experiments/step_ratio.py

Steps of both are taken in turn, so that a noisy machine disturbs both alike. `damaged` encodes a
quarter of the images once more (see `training.damaged`), which a VAE has no use for.
"""

import statistics
import time
from dataclasses import replace
from pathlib import Path

import torch
from together import Run

from kanerva.data import load_dataset
from kanerva.training.recipes import RECIPES

ROUNDS = 15


def main() -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train = load_dataset("glyphs", "train", data_folder=Path("data"), show_progress=False).to(
        device
    )
    runs = {}
    for name, recipe, damaged in (
        ("vae", "glyphs-vae", 0.0),
        ("kanerva", "glyphs", 0.0),
        ("kanerva, damaged", "glyphs", 0.25),
    ):
        config = RECIPES[recipe]
        training = replace(config.training, damaged=damaged, precision="float32")
        runs[name] = Run(name, replace(config, training=training), train, device)
    times: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run.advance(3)
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = time.perf_counter()
            run.advance(2)
            if device.type == "cuda":
                torch.cuda.synchronize()
            times[name].append((time.perf_counter() - start) / 2)
    vae = times.pop("vae")
    for name, own in times.items():
        each = statistics.median(a / b for a, b in zip(own, vae, strict=True))
        print(f"{name} / vae: {min(own) / min(vae):.3f} (fastest), {each:.3f} (median of rounds)")


if __name__ == "__main__":
    main()
