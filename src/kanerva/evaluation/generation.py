"""Are new drawings of a character really new, sharp, and of that character?

The drawings of each character are divided in a seeded order: some are given to the model, some are
compared with what it makes, and the others teach a classifier. No drawing has two of these uses.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from kanerva.data import Dataset
from kanerva.data.pixels import to_pixels
from kanerva.errors import KanervaError
from kanerva.evaluation.classifier import classify, train_classifier
from kanerva.evaluation.copies import is_copy, pixel_entropies
from kanerva.models.few_shot_machine import FewShotMachine
from kanerva.models.kanerva_machine import KanervaMachine
from kanerva.models.ladder_vae import LadderVAE
from kanerva.models.model import Model

BLURRED = 1.5
"""A drawing whose pixels have more than this many times the entropy of reconstructions is
blurred."""
NUM_REAL = 5
"""Drawings of each character that are compared with new ones."""


class Shares(NamedTuple):
    """Copies, blurred ones and new ones add up to one."""

    copies: float
    """Nearly a given drawing, after a small movement (see `copies`)."""
    blurred: float
    """Not a copy, and its pixels are not decided."""
    new: float
    """The others."""
    right_among_new: float | None
    """Share of the new ones that the classifier puts into the character's class; None if there
    are no new ones."""
    drawings: int


class DrawingSets(NamedTuple):
    """The drawings of G characters, by use: (G, number, 1, H, W), binary."""

    given: Tensor
    real: Tensor
    taught: Tensor


def divide(
    dataset: Dataset, *, num_given: int, num_characters: int | None = None, seed: int = 0
) -> DrawingSets:
    """Divide the drawings of every character of a split: given, real for comparison, the others.

    Args:
        dataset: a split whose classes have equally many drawings.
        num_given: how many are given to the model.
        num_characters: how many characters, drawn by the seed; by default all.
        seed: seed of the order.

    Returns:
        The drawings by use.

    """
    present, counts = dataset.labels.unique(return_counts=True)
    needed = num_given + NUM_REAL + 1
    if int(counts.min()) < needed:
        raise KanervaError(
            "num_given",
            expected=f"at most {int(counts.min()) - NUM_REAL - 1}: each class has "
            f"{int(counts.min())} drawings, of which {NUM_REAL} are compared",
            got=str(num_given),
            fix="Give fewer drawings.",
        )
    generator = torch.Generator().manual_seed(seed)
    if num_characters is not None:
        present = present[torch.randperm(len(present), generator=generator)[:num_characters]]
    rows = []
    for label in present.tolist():
        index = (dataset.labels == label).nonzero()[:, 0]
        rows.append(index[torch.randperm(len(index), generator=generator)[: int(counts.min())]])
    images = to_pixels(
        dataset.images[torch.stack(rows)], likelihood="bernoulli", binarisation="threshold20"
    )
    parts = images.split([num_given, NUM_REAL, images.shape[1] - num_given - NUM_REAL], dim=1)
    return DrawingSets(*parts)


def new_drawings(model: Model, given: Tensor, num: int, generator: torch.Generator) -> Tensor:
    """Chances of ink (G, num, 1, H, W) of drawings made from given ones (G, n, 1, H, W).

    A Kanerva Machine writes the given drawings and reads 8 times. A VAE does not look at them.
    """
    if isinstance(model, LadderVAE):
        flat = model.generate(len(given) * num, generator=generator)
        return flat.unflatten(0, (len(given), num))
    if isinstance(model, FewShotMachine | KanervaMachine):
        return model.generate(model.write(given), num, generator=generator)
    raise KanervaError(
        "model",
        expected="a few-shot model, a Kanerva Machine or a VAE with groups of codes",
        got=type(model).__name__,
        fix="Use kanerva.load('fewshot').",
    )


@torch.no_grad()
def reconstruction_entropies(
    model: Model, given: Tensor, real: Tensor, generator: torch.Generator
) -> Tensor:
    """The mean pixel entropies of reconstructions of real drawings, in nats, (number,).

    A few-shot model sees the given drawings before. The paper's model reads what it has written.
    """
    if isinstance(model, KanervaMachine):
        means = model.read(given, model.write(given), num_readings=1).images
        return pixel_entropies(means.flatten(0, 1))
    assert isinstance(model, FewShotMachine | LadderVAE)
    episodes = torch.cat([given, real[:, :1]], dim=1)
    parts = [
        model.reconstruct(part, model.draw_noise(part, generator=generator))[:, -1]
        for part in episodes.split(32)
    ]
    return pixel_entropies(torch.cat(parts))


def copies_of(drawings: Tensor, given: Tensor) -> Tensor:
    """Which drawings (G, n, 1, H, W) are copies of the given ones of their character, (G, n)."""
    return torch.stack([is_copy(*pair) for pair in zip(drawings, given, strict=True)])


def shares_of(
    means: Tensor,
    copied: Tensor,
    *,
    entropy: float | None,
    classifier: nn.Module | None = None,
) -> Shares:
    """Count copies, blurred and new drawings, and what a classifier says of the new ones.

    Args:
        means: chances of ink (G, n, 1, H, W); real drawings are 0 or 1.
        copied: which of them are copies (G, n), see `copies_of`.
        entropy: the pixel entropy of reconstructions; None for real drawings.
        classifier: scores of G classes, in the order of the characters.

    Returns:
        The shares.

    """
    drawings = (means > 0.5).float()
    blurred = torch.zeros_like(copied)
    if entropy is not None:
        entropies = pixel_entropies(means.flatten(0, 1)).unflatten(0, means.shape[:2])
        blurred = (entropies > BLURRED * entropy) & ~copied
    new = ~copied & ~blurred
    right = None
    if classifier is not None and new.any():
        found = classify(classifier, drawings.flatten(0, 1)).unflatten(0, means.shape[:2])
        labels = torch.arange(len(means), device=found.device)[:, None]
        right = (found == labels)[new].double().mean().item()
    parts = (part.double().mean().item() for part in (copied, blurred, new))
    return Shares(*parts, right_among_new=right, drawings=copied.numel())


def teach(sets: DrawingSets, *, steps: int = 3_000) -> tuple[nn.Module, float]:
    """A classifier of the characters, and its accuracy on the real drawings for comparison."""
    num, each = sets.taught.shape[:2]
    labels = torch.arange(num).repeat_interleave(each)
    classifier = train_classifier(sets.taught.flatten(0, 1), labels, num, steps=steps)
    found = classify(classifier, sets.real.flatten(0, 1)).unflatten(0, sets.real.shape[:2])
    return classifier, (found == torch.arange(num)[:, None]).double().mean().item()


def measure_generation(
    models: dict[str, Model],
    dataset: Dataset,
    *,
    num_given: int = 5,
    num_new: int = 10,
    num_characters: int | None = None,
    steps: int = 3_000,
    seed: int = 0,
) -> dict[str, object]:
    """Shares of copies, blurred and new drawings of several models, next to real drawings.

    Args:
        models: by name: few-shot models, Kanerva Machines and VAEs.
        dataset: characters that no model was trained on.
        num_given: drawings of each character that the models are given.
        num_new: drawings of each character that they make.
        num_characters: how many characters, drawn by the seed; by default all.
        steps: training steps of the classifier.
        seed: seed of the division and of all samples.

    Returns:
        A record for a results file.

    """
    sets = divide(dataset, num_given=num_given, num_characters=num_characters, seed=seed)
    classifier, accuracy = teach(sets, steps=steps)
    made, sharp = {"real drawings": sets.real}, {}
    for name, model in models.items():
        generator = torch.Generator().manual_seed(seed)
        parts = [new_drawings(model, part, num_new, generator) for part in sets.given.split(32)]
        made[name] = torch.cat(parts)
        sharp[name] = reconstruction_entropies(model, sets.given, sets.real, generator)
    sizes = [means.shape[1] for means in made.values()]
    drawings = (torch.cat(list(made.values()), dim=1) > 0.5).float()
    rows: dict[str, object] = {}
    for copied, (name, means) in zip(
        copies_of(drawings, sets.given).split(sizes, dim=1), made.items(), strict=True
    ):
        entropies = sharp.get(name)
        mean = None if entropies is None else entropies.mean().item()
        shares = shares_of(means, copied, entropy=mean, classifier=classifier)
        rows[name] = shares._asdict()
        if entropies is not None and mean is not None:
            blurred = (entropies > BLURRED * mean).double().mean().item()
            rows[name] = {
                **shares._asdict(),
                "reconstruction_entropy": mean,
                "reconstructions_blurred": blurred,
            }
    return {
        "dataset": dataset.name,
        "split": dataset.split,
        "characters": len(sets.given),
        "given": num_given,
        "made_each": num_new,
        "classifier_classes": len(sets.given),
        "classifier_accuracy_on_real": accuracy,
        "seed": seed,
        "shares": rows,
    }
