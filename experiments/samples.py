"""Do samples look like what was written? A classifier of characters counts (fig. prior-samples).

    python experiments/samples.py OUT.json [--machine MODEL --vae MODEL] [--data-folder data]

A small convolutional network learns all characters from the training drawers. Then episodes of 32
test images from 2, 4 or 12 classes are written, and images are generated. After 0, 2, 4, 6 and 8
readings we count the images that the network puts into the written classes. The VAE's samples are
fed back as often, and are counted against the same classes. Real test images of these classes show
what the network can do.
"""

import argparse
import json
import math
from pathlib import Path

import torch
from torch import Tensor, nn

from kanerva.data import Dataset, EpisodeSampler, load_dataset
from kanerva.evaluation.classifier import classify, train_classifier
from kanerva.models.checkpoint import load
from kanerva.models.kanerva_machine import KanervaMachine
from kanerva.models.vae import VAE

READINGS = (0, 2, 4, 6, 8)
CLASSES = (2, 4, 12)
BATCH = 256
INK = 20
"""Grey values above this are ink, as everywhere."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path, help="the results file")
    parser.add_argument("--data-folder", type=Path)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--num", type=int, default=32, help="samples after each episode")
    parser.add_argument("--machine", default="omniglot", help="a name or a checkpoint")
    parser.add_argument("--vae", default="omniglot-vae", help="a name or a checkpoint")
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train, test = (
        load_dataset("omniglot", split, data_folder=options.data_folder, show_progress=False).to(
            device
        )
        for split in ("train", "test")
    )
    classifier = train_classifier(
        (train.images > INK).float(),
        train.labels,
        len(train.class_names),
        steps=options.epochs * (len(train) // BATCH),
        batch=BATCH,
        widths=(64, 128, 256),
    )
    accuracy = correct(classifier, test)
    print(f"classifier: {accuracy:.3f} of the test drawers' images", flush=True)
    machine = load(options.machine, device=device)
    vae = load(options.vae, kind=VAE, device=device)
    classes: dict[int, dict[str, dict[str, list[float]]]] = {}
    results = {
        "what": "Share of samples that a classifier puts into the classes that were written",
        "command": f"python experiments/samples.py OUT --epochs {options.epochs}",
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "classifier_accuracy": accuracy,
        "episodes": options.episodes,
        "samples_each": options.num,
        "readings": READINGS,
        "classes": classes,
    }
    for num_classes in CLASSES:
        shares = count(machine, vae, classifier, test, num_classes, options.episodes, options.num)
        classes[num_classes] = shares
        print(num_classes, json.dumps(shares), flush=True)
    options.out.write_text(json.dumps(results, indent=1))


@torch.no_grad()
def correct(classifier: nn.Module, test: Dataset) -> float:
    """Share of images whose class is found."""
    found = classify(classifier, (test.images > INK).float())
    return (found == test.labels).float().mean().item()


@torch.no_grad()
def count(
    machine: KanervaMachine,
    vae: VAE,
    classifier: nn.Module,
    test: Dataset,
    num_classes: int,
    num_episodes: int,
    num_samples: int,
) -> dict[str, dict[str, list[float]]]:
    """Means and standard errors over episodes, for both models and for real images."""
    sampler = EpisodeSampler(test, num_items=32, num_classes=num_classes)
    generator = torch.Generator(test.images.device).manual_seed(0)
    shares: dict[str, list[list[float]]] = {"kanerva": [], "vae": [], "real": []}
    for _ in range(num_episodes):
        images, labels = (part[0] for part in sampler.sample_labelled(1, generator=generator))
        written = labels.unique()

        def share(samples: Tensor, written: Tensor = written) -> float:
            found = classifier((samples > 0.5).float()).argmax(-1)
            return torch.isin(found, written).float().mean().item()

        steps: dict[int, Tensor] = {}
        machine.generate(
            machine.write(images),
            num_samples,
            num_readings=max(READINGS),
            generator=generator,
            on_reading=steps.__setitem__,
        )
        shares["kanerva"].append([share(steps[number]) for number in READINGS])
        vae.generate(
            num_samples,
            num_readings=max(READINGS),
            generator=generator,
            on_reading=steps.__setitem__,
        )
        shares["vae"].append([share(steps[number]) for number in READINGS])
        shares["real"].append([share(images)])
    report = {}
    for name, rows in shares.items():
        table = torch.tensor(rows, dtype=torch.float64)
        error = table.std(0) / math.sqrt(len(table))
        report[name] = {"mean": table.mean(0).tolist(), "stderr": error.tolist()}
    return report


if __name__ == "__main__":
    main()
