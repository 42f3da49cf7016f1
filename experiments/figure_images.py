"""Images for the figures: reconstructions, repairs, recall, samples and interpolations.

    python experiments/figure_images.py results/figure_images.json \
        [--paper MODEL --paper-vae MODEL] [--cifar MODEL --cifar-vae MODEL] [--data-folder data]

`kanerva figures` draws them from that file. This is the only part of the figures that needs models
and data. Data sets whose models are not named keep the images that the file has.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kanerva.data import Dataset, EpisodeSampler, load_dataset
from kanerva.data.damage import REPORTED_DAMAGES, damage
from kanerva.evaluation.baselines import nearest_images
from kanerva.evaluation.denoise import is_recognised
from kanerva.models.checkpoint import load
from kanerva.models.kanerva_machine import KanervaMachine
from kanerva.models.vae import VAE
from kanerva.rendering.image_json import ImageJson, images_to_json

READINGS = (0, 2, 4, 6, 8)
NUM_IMAGES = 8
"""Images in a row."""
EPISODE_LENGTH = 32
MOST_EPISODES = 40
"""In how many episodes a failure of recall is looked for."""
ALGORITHM_1: dict[str, Any] = {"keep_cue": False}
"""Reading as the paper's algorithm 1 has it, whatever the default of `read` is."""


def main() -> None:
    """Write the images of Omniglot, and of CIFAR-10 if its models are named."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--data-folder", type=Path, default=None)
    parser.add_argument("--paper", type=Path, default=None)
    parser.add_argument("--paper-vae", type=Path, default=None)
    parser.add_argument("--cifar", type=Path, default=None)
    parser.add_argument("--cifar-vae", type=Path, default=None)
    options = parser.parse_args()
    models = {"omniglot": ("omniglot", "omniglot", "omniglot-vae")}
    if options.paper and options.paper_vae:
        models["omniglot-paper"] = ("omniglot", str(options.paper), str(options.paper_vae))
    if options.cifar and options.cifar_vae:
        models["cifar10"] = ("cifar10", str(options.cifar), str(options.cifar_vae))
    images = json.loads(options.out.read_text()) if options.out.exists() else {}
    images |= {
        name: figure_images(
            load(machine),
            load(vae, kind=VAE),
            load_dataset(data_set, "test", data_folder=options.data_folder),
        )
        for name, (data_set, machine, vae) in models.items()
    }
    reader = load("handwriting")
    assert isinstance(reader, KanervaMachine)
    test = load_dataset("omniglot", "test", data_folder=options.data_folder)
    images["handwriting"] = recall_images(reader, test)
    options.out.write_text(json.dumps(images))


def figure_images(machine: KanervaMachine, vae: VAE, test: Dataset) -> dict[str, object]:
    """All images of one data set, ready for JSON."""
    generator = torch.Generator().manual_seed(1)
    sampler = EpisodeSampler(test, num_items=EPISODE_LENGTH)
    images = sampler.sample(1, generator=generator)[0]
    memory = machine.write(images)
    read = machine.read(images, memory, num_readings=1, **ALGORITHM_1)
    cues = damage(images, "block12", generator=generator)
    repaired = machine.read(cues, memory, num_readings=3, **ALGORITHM_1)
    lines = [machine.interpolate(images[2 * k], images[2 * k + 1], memory) for k in range(4)]
    fed_back: dict[int, Tensor] = {}
    vae.generate(NUM_IMAGES, num_readings=10, generator=generator, on_reading=fed_back.__setitem__)
    return {
        "reconstruction": {
            "written": images_to_json(images[:NUM_IMAGES]),
            "read": images_to_json(read.images[:NUM_IMAGES]),
            "weights": read.weights[:NUM_IMAGES].tolist(),
            **rows_used(machine, test),
        },
        "repair": {
            "written": images_to_json(images[:NUM_IMAGES]),
            "damaged": images_to_json(cues[:NUM_IMAGES]),
            **{
                f"reading {number}": images_to_json(step[:NUM_IMAGES])
                for number, step in enumerate(repaired.steps, 1)
            },
        },
        "samples": {
            str(num_classes): sample_images(machine, test, 12, num_classes, generator)
            for num_classes in (2, 4, 12)
            if num_classes <= len(test.class_names)
        }
        | {"24": sample_images(machine, test, 24, None, generator)},
        "vae": {
            f"reading {number}": images_to_json(fed_back[number]) for number in (*READINGS, 10)
        },
        "line": {str(number): images_to_json(line) for number, line in enumerate(lines)},
    }


def sample_images(
    machine: KanervaMachine,
    test: Dataset,
    num_items: int,
    num_classes: int | None,
    generator: torch.Generator,
) -> dict[str, ImageJson]:
    """An episode of few classes, or of any, and what is generated after it was written."""
    sampler = EpisodeSampler(test, num_items=num_items, num_classes=num_classes)
    images = sampler.sample(1, generator=generator)[0]
    steps: dict[int, Tensor] = {}
    memory = machine.write(images)
    machine.generate(memory, NUM_IMAGES, generator=generator, on_reading=steps.__setitem__)
    return {
        "written": images_to_json(images),
        **{f"reading {number}": images_to_json(steps[number]) for number in READINGS},
    }


@torch.no_grad()
def recall_images(
    machine: KanervaMachine, test: Dataset, num_episodes: int = MOST_EPISODES
) -> dict[str, dict[str, ImageJson]]:
    """For each kind of damage the first two cues and the first failure, if there is one.

    Each is four images: written, cue, what the memory returns, and the nearest stored image.
    """
    sampler = EpisodeSampler(test, num_items=EPISODE_LENGTH)
    examples: dict[str, ImageJson] = {}
    failures: dict[str, ImageJson] = {}
    for kind in REPORTED_DAMAGES:
        generator = torch.Generator().manual_seed(0)
        for number in range(num_episodes):
            written = sampler.sample(1, generator=generator)
            cues = damage(written, kind, generator=generator)
            read = machine.read(cues, machine.write(written)).images
            four = torch.stack([written, cues, read, nearest_images(cues, written)], dim=2)
            if number == 0:
                examples[kind] = images_to_json(four[0, :2].flatten(0, 1))
            is_failure = ~is_recognised(read, written)
            if is_failure.any():
                failures[kind] = images_to_json(four[is_failure][0])
                break
    return {"recall": examples, "failures": failures}


def rows_used(machine: KanervaMachine, test: Dataset) -> dict[str, float]:
    """Effective number of rows in a reading: (sum w^2)^2 / sum w^4, over 50 episodes."""
    generator = torch.Generator().manual_seed(2)
    images = EpisodeSampler(test, num_items=EPISODE_LENGTH).sample(50, generator=generator)
    read = machine.read(images, machine.write(images), num_readings=1, **ALGORITHM_1)
    squares = read.weights.square().double()
    used = (squares.sum(-1).square() / squares.square().sum(-1)).mean(-1)
    return {"rows_used": used.mean().item(), "rows_used_stderr": used.std().item() / 50**0.5}


if __name__ == "__main__":
    main()
