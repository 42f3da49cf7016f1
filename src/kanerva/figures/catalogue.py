"""All figures: what the paper shows with each, and the function that draws ours.

A figure is drawn from the files of a results folder. If they are missing, it is left out.
"""

from collections.abc import Callable
from typing import NamedTuple

from kanerva.figures import curve_drawings as curves
from kanerva.figures import image_drawings as images
from kanerva.figures import recall_drawings as recall
from kanerva.figures.drawings import OTHER_DATA, Drawn
from kanerva.figures.results import Results


class Entry(NamedTuple):
    """A figure of the paper, or one that belongs next to it."""

    name: str
    title: str
    paper: str
    """What the paper shows, in our words."""
    draw: Callable[[Results], Drawn]
    """Draws ours. Raises `MissingResultError` if a file or a part of it is not there."""


PUBLISHED = f"The paper: 68.3 against 112.7 ({OTHER_DATA})."
PUBLISHED_CIFAR = (
    "The paper gives curves without numbers, of the original CIFAR; ours is a JPEG copy."
)
NOT_JUDGED = "Nobody has judged this picture yet."

CATALOGUE = (
    Entry(
        "learning_curves",
        "Learning curves, Omniglot, our recipe",
        "The Kanerva Machine falls far below the VAE and ends at 68.3 nats; the VAE at 112.7. The "
        "KL dips from about step 2,000 on.",
        curves.learning_curves(curves.own_omniglot, published=PUBLISHED, limit=140),
    ),
    Entry(
        "learning_curves-paper",
        "Learning curves, Omniglot, the paper's settings",
        "The same, with the settings of the paper's text.",
        curves.learning_curves(
            curves.with_paper_settings("paper-omniglot", "omniglot-paper"),
            published=PUBLISHED,
            limit=200,
        ),
    ),
    Entry(
        "train_kl",
        "KL of addresses and codes, our recipe",
        "The KL of z falls below the VAE's as the model learns to use the memory.",
        curves.train_kl(curves.own_omniglot),
    ),
    Entry(
        "train_kl-paper",
        "KL of addresses and codes, the paper's settings",
        "The KL of z collapses to near zero; the KL of y is much lower than the VAE's KL of z.",
        curves.train_kl(curves.with_paper_settings("paper-omniglot", "omniglot-paper")),
    ),
    Entry(
        "memory-weights",
        "Reconstructions, and the weights that read them",
        "Weights are spread widely over the rows of the memory.",
        images.reconstruction,
    ),
    Entry(
        "memory-denoising",
        "Denoising by iterative reading, a model that was trained for it",
        "Characters under a 12 x 12 block come back over three readings.",
        images.repair,
    ),
    Entry(
        "memory-denoising-paper",
        "Denoising by iterative reading, not trained for it and trained for it",
        "Characters under a 12 x 12 block come back, though the model was not trained for it.",
        images.repair_with_and_without,
    ),
    Entry(
        "denoising-errors",
        "Errors of denoising over readings",
        "The paper shows images; here their errors are measured.",
        curves.denoising_errors,
    ),
    Entry(
        "recall-by-damage",
        "Recall under every kind of damage, the model handwriting",
        "Only blocks are shown, and no other method.",
        recall.recall_by_damage,
    ),
    Entry(
        "recall-images",
        "What comes back from damaged cues, failures included",
        "Only blocks are shown, and no failures.",
        recall.recall_images,
    ),
    Entry(
        "prior-samples",
        "One-shot generation from 12 examples, our recipe",
        "Samples look like the examples, and get better up to the 6th reading.",
        images.one_shot(
            "omniglot",
            ("2", "4", "12"),
            verdict="By eye, reproduced in part: most samples settle on the written characters by "
            "the second reading, close to copies of them. A few stay a grey blur. The VAE's, fed "
            "back as often, get cleaner lines.",
        ),
    ),
    Entry(
        "prior-samples-paper",
        "One-shot generation from 12 examples, the paper's settings",
        "Samples look like the examples, and get better up to the 6th reading.",
        images.one_shot("omniglot-paper", ("2", "4", "12"), verdict=NOT_JUDGED),
    ),
    Entry(
        "prior-samples-classes",
        "Samples in the written classes",
        "The paper shows samples; here they are counted.",
        curves.sample_classes,
    ),
    Entry(
        "iter_prior_vae",
        "Feeding a VAE's samples back",
        "The control: the samples of a VAE do not improve when they are fed back.",
        images.fed_back(
            "omniglot",
            verdict="By eye, different: feeding back cleans the samples of our VAE (stray marks "
            "go, lines close), where the paper sees no gain. Nothing of an episode can appear.",
        ),
    ),
    Entry(
        "interp",
        "A straight line in weight space",
        "Images change smoothly, and every one looks like an image.",
        images.line(
            "omniglot",
            "cifar10",
            verdict="By eye, reproduced in part: changes are smooth, and both ends are right. In "
            "the middle, characters are blends, and CIFAR images fade into each other.",
        ),
    ),
    Entry(
        "cov",
        "Full and diagonal covariance, episodes written at once",
        "The full covariance between rows learns faster and ends lower.",
        curves.covariance(
            "omniglot", "omniglot", "diagonal", about="All but the diagonal dropped at the end."
        ),
    ),
    Entry(
        "cov-online",
        "Full and diagonal covariance, item by item",
        "The paper does not say when all but the diagonal was dropped; here, after every item.",
        curves.covariance(
            "covariance",
            "full",
            "diagonal after every item",
            about="All but the diagonal dropped after every item. Short runs, 4 episodes a step.",
        ),
    ),
    Entry(
        "capacity-training",
        "Training, compared with the DNC",
        "Six runs each: two DNCs came close to 100, the others did not; all Kanerva Machines did.",
        curves.memories_in_training,
    ),
    Entry(
        "capacity",
        "Capacity: longer episodes, fewer classes",
        "The Kanerva Machine stays below the DNC up to 200 items; fewer classes are easier.",
        curves.capacity,
    ),
    Entry(
        "cifar-train",
        "Learning curves, CIFAR-10, our recipe",
        "The Kanerva Machine is below the VAE, and the gap grows with training.",
        curves.learning_curves(curves.own_cifar, published=PUBLISHED_CIFAR, limit=None),
    ),
    Entry(
        "cifar-train-paper",
        "Learning curves, CIFAR-10, the paper's settings",
        "The same, with the settings of the paper's text.",
        curves.learning_curves(
            curves.with_paper_settings("paper-cifar10", "cifar10-paper"),
            published=PUBLISHED_CIFAR,
            limit=None,
        ),
    ),
    Entry(
        "cifar-prior-samples",
        "Samples from CIFAR-10 after 24 images",
        "Samples gain local detail over the readings; the VAE's are blurred.",
        images.one_shot("cifar10", ("24",), verdict=NOT_JUDGED),
    ),
    Entry(
        "cifar-iter_prior_vae",
        "Feeding a VAE's samples back, CIFAR-10",
        "The control: they do not improve.",
        images.fed_back(
            "cifar10",
            verdict="By eye, reproduced: samples do not improve. They drift to stripes of "
            "saturated colours.",
        ),
    ),
)
