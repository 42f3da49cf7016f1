"""All figures: what the paper shows with each, and the function that draws ours.

A figure is drawn from the files of a results folder. If they are missing, it is left out.
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
    """Draws ours. Raises `MissingResultError` if a file or a part of it is not there."""


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
        "The KL of z falls below the VAE's as the model learns to use the memory.",
        drawings.train_kl,
    ),
    Entry(
        "memory-weights",
        "Reconstructions, and the weights that read them",
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
            "Samples look like what was written, and get sharper up to the 6th reading.",
            drawings.samples("omniglot", num),
        )
        for num in ("2", "4", "12")
    ),
    Entry(
        "prior-samples-classes",
        "Samples in the written classes",
        "The paper shows samples; here they are counted.",
        drawings.sample_classes,
    ),
    Entry(
        "iter_prior_vae",
        "Feeding a VAE's samples back",
        "The control: the samples of a VAE do not improve when they are fed back.",
        drawings.fed_back("omniglot"),
    ),
    Entry(
        "interp",
        "A straight line in weight space",
        "Images change smoothly, and every one looks like an image.",
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
        "The paper does not say when all but the diagonal was dropped; here, after every item.",
        drawings.covariance_online,
    ),
    Entry(
        "capacity-training",
        "Training, compared with the DNC",
        "Six runs each: two DNCs came close to 100, the others did not; all Kanerva Machines did.",
        drawings.memories_in_training,
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
