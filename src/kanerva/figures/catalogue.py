"""Every figure: what the paper shows with it, and what draws ours.

A figure is made from the files of a results folder; one whose files are missing is left out.
"""

from collections.abc import Callable
from typing import NamedTuple

from kanerva.figures import drawings
from kanerva.figures.drawings import Drawn
from kanerva.figures.results import Results


class Entry(NamedTuple):
    """A figure of the paper."""

    name: str
    title: str
    paper: str
    """What the paper shows, in our words."""
    draw: Callable[[Results], Drawn]
    """Raises KeyError where a file or a part of it is missing."""


CATALOGUE = (
    Entry(
        "learning_curves",
        "Learning curves, Omniglot",
        "The Kanerva Machine falls far below the VAE and ends at 68.3 nats; the VAE at 112.7.",
        drawings.learning_curves,
    ),
    Entry(
        "train_kl",
        "KL of addresses and codes",
        "The KL of z falls as the memory is learned to be used, below the VAE's.",
        drawings.train_kl,
    ),
    Entry(
        "memory-weights",
        "Reconstructions and the weights that read them",
        "Weights are spread widely over the rows of the memory.",
        drawings.reconstruction,
    ),
    Entry(
        "memory-denoising",
        "Denoising by iterative reading",
        "Characters under a 12 x 12 block come back over three readings.",
        drawings.repair,
    ),
    *(
        Entry(
            f"prior-samples-{num}",
            f"One-shot generation from {num} classes",
            "Samples take after what was written, and sharpen up to the 6th reading.",
            drawings.samples("omniglot", num),
        )
        for num in ("2", "4", "12")
    ),
    Entry(
        "prior-samples-classes",
        "Samples in the written classes",
        "Shown by pictures in the paper; counted here.",
        drawings.sample_classes,
    ),
    Entry(
        "iter_prior_vae",
        "Feeding a VAE's samples back",
        "The control: a VAE's samples do not improve when they are fed back.",
        drawings.fed_back("omniglot"),
    ),
    Entry(
        "interp",
        "A line in weight space",
        "Images change smoothly, and stay images.",
        drawings.line,
    ),
    Entry(
        "cov",
        "Full and diagonal covariance",
        "The full covariance between rows learns faster and ends lower.",
        drawings.covariance,
    ),
    Entry(
        "cov-online",
        "Full and diagonal covariance, item by item",
        "The paper does not say when the rest was dropped; here it is after every item.",
        drawings.covariance_online,
    ),
    Entry(
        "capacity-training",
        "Training against the DNC",
        "Six instances each: two DNCs came near 100, the others did not; Kanerva Machines all did.",
        drawings.contest,
    ),
    Entry(
        "capacity",
        "Capacity: longer episodes, fewer classes",
        "The Kanerva Machine stays below the DNC up to 200 items; fewer classes are easier.",
        drawings.capacity,
    ),
    Entry(
        "cifar-train",
        "Learning curves, CIFAR-10",
        "The Kanerva Machine is below the VAE, and the gap grows with training.",
        drawings.cifar_curves,
    ),
    Entry(
        "cifar-prior-samples",
        "Samples from CIFAR-10, 4 classes",
        "Samples gain local detail over the readings.",
        drawings.samples("cifar10", "4"),
    ),
    Entry(
        "cifar-iter_prior_vae",
        "Feeding a VAE's samples back, CIFAR-10",
        "The control: they do not improve.",
        drawings.fed_back("cifar10"),
    ),
)
