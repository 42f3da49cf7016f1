"""Images for the figures: reconstructions, repairs, samples, lines, from trained models.

    python experiments/exhibits.py results/exhibits.json [--cifar RUN --cifar-vae RUN] [--data data]

`kanerva figures` draws them; this is the only part of it that needs models and data.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kanerva.data import Dataset, EpisodeSampler, load_dataset
from kanerva.data.damage import damage
from kanerva.figures.packed import pack
from kanerva.models.checkpoint import load
from kanerva.models.kanerva_machine import KanervaMachine
from kanerva.models.vae import VAE

ITERATIONS = (0, 2, 4, 6, 8)
NUM = 8
"""Images in a row."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--cifar", type=Path, default=None)
    parser.add_argument("--cifar-vae", type=Path, default=None)
    options = parser.parse_args()
    exhibits = {"omniglot": exhibit("omniglot", "omniglot-vae", "omniglot", options.data)}
    if options.cifar and options.cifar_vae:
        models = (str(options.cifar), str(options.cifar_vae))
        exhibits["cifar10"] = exhibit(*models, "cifar10", options.data)
    options.out.write_text(json.dumps(exhibits))


def exhibit(machine_name: str, vae_name: str, name: str, data: Path | None) -> dict[str, Any]:
    machine, vae = load(machine_name), load(vae_name)
    assert isinstance(machine, KanervaMachine)
    assert isinstance(vae, VAE)
    test = load_dataset(name, "test", data_folder=data)
    generator = torch.Generator().manual_seed(1)
    images = EpisodeSampler(test, num_items=32).sample(1, generator=generator)[0]
    memory = machine.write(images)
    read = machine.read(images, memory, iterations=1)
    cues = damage(images, "block12", generator=generator)
    repaired = machine.read(cues, memory, iterations=3)
    lines = [machine.interpolate(images[2 * k], images[2 * k + 1], memory) for k in range(4)]
    fed_back: dict[int, Tensor] = {}
    vae.generate(NUM, iterations=10, generator=generator, watch=fed_back.__setitem__)
    return {
        "reconstruction": {
            "written": pack(images[:NUM]),
            "read": pack(read.images[:NUM]),
            "weights": read.weights[:NUM].tolist(),
            **rows_used(machine, test),
        },
        "repair": {
            "written": pack(images[:NUM]),
            "damaged": pack(cues[:NUM]),
            **{f"reading {n}": pack(step[:NUM]) for n, step in enumerate(repaired.steps, 1)},
        },
        "samples": {
            str(num): sampled(machine, test, num, generator)
            for num in (2, 4, min(12, len(test.class_names)))
        },
        "vae": {f"reading {n}": pack(fed_back[n]) for n in (*ITERATIONS, 10)},
        "line": {str(number): pack(line) for number, line in enumerate(lines)},
    }


def sampled(
    machine: KanervaMachine, test: Dataset, num_classes: int, generator: torch.Generator
) -> dict[str, Any]:
    """An episode of few classes, and what is generated from it."""
    sampler = EpisodeSampler(test, num_items=32, num_classes=num_classes)
    images, labels = (part[0] for part in sampler.sample_labelled(1, generator=generator))
    steps: dict[int, Tensor] = {}
    memory = machine.write(images)
    machine.generate(memory, NUM, generator=generator, watch=steps.__setitem__)
    order = torch.cat([torch.where(labels == label)[0][:1] for label in labels.unique()])
    rest = torch.tensor([item for item in range(32) if item not in order.tolist()])
    shown = images[torch.cat([order, rest])[:NUM]]
    return {
        "written": pack(shown),
        **{f"reading {number}": pack(steps[number]) for number in ITERATIONS},
    }


def rows_used(machine: KanervaMachine, test: Dataset) -> dict[str, float]:
    """Effective number of rows in a reading: (sum w^2)^2 / sum w^4, over 50 episodes."""
    generator = torch.Generator().manual_seed(2)
    images = EpisodeSampler(test, num_items=32).sample(50, generator=generator)
    squares = machine.read(images, machine.write(images), iterations=1).weights.square().double()
    used = (squares.sum(-1).square() / squares.square().sum(-1)).mean(-1)
    return {"rows_used": used.mean().item(), "rows_used_stderr": used.std().item() / 50**0.5}


if __name__ == "__main__":
    main()
