"""Compares a training step of the Kanerva Machine with one of its VAE twin, in one process.

    python experiments/step_ratio.py [--rounds 15]

Steps of both are taken in turn, so that a noisy machine disturbs both alike. `damaged` encodes a
quarter of the images once more (see `training.damaged`), which a VAE has no use for.
"""

import argparse
import statistics
import time
from collections.abc import Mapping
from dataclasses import replace

import torch

from kanerva.data import load_dataset
from kanerva.training.config import Config
from kanerva.training.parallel import Parallel
from kanerva.training.prepare import new_training
from kanerva.training.recipes import RECIPES


def main() -> None:
    """Print the ratios for the sizes of the glyphs recipe."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    times = measure(
        {
            "vae": with_damaged(RECIPES["glyphs-vae"], 0.0),
            "kanerva": with_damaged(RECIPES["glyphs"], 0.0),
            "kanerva, damaged": with_damaged(RECIPES["glyphs"], 0.25),
        },
        device=device,
        rounds=rounds,
    )
    vae = times.pop("vae")
    for name, own in times.items():
        each = statistics.median(a / b for a, b in zip(own, vae, strict=True))
        print(f"{name} / vae: {min(own) / min(vae):.3f} (fastest), {each:.3f} (median of rounds)")


def with_damaged(config: Config, share: float) -> Config:
    """The experiment in float32, with this share of its episodes read with damaged images."""
    return replace(config, training=replace(config.training, damaged=share, precision="float32"))


def measure(
    configs: Mapping[str, Config], *, device: torch.device, rounds: int
) -> dict[str, list[float]]:
    """Seconds for a step of each experiment in each round."""
    train_set = load_dataset("glyphs", "train", show_progress=False).to(device)
    trainings = {
        name: new_training(config, train_set, parallel=Parallel(device))
        for name, config in configs.items()
    }
    times: dict[str, list[float]] = {name: [] for name in configs}
    for training in trainings.values():
        training.run(3)
    for _ in range(rounds):
        for name, training in trainings.items():
            training.synchronise()
            start = time.perf_counter()
            training.run(2)
            training.synchronise()
            times[name].append((time.perf_counter() - start) / 2)
    return times


if __name__ == "__main__":
    main()
