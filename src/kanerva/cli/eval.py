"""`kanerva eval CHECKPOINT`: the bound of a model on a split of a data set."""

import json as jsonlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tyro.conf import Positional

if TYPE_CHECKING:
    from kanerva.evaluation.evaluate import Evaluation


def evaluate_command(
    checkpoint: Positional[str],
    *,
    episodes: int | None = None,
    episode_length: int | None = None,
    num_classes: int | None = None,
    dataset: str | None = None,
    split: Literal["test", "valid", "train", "fit"] = "test",
    data_folder: Path | None = None,
    binarisation: Literal["threshold20", "stochastic"] | None = None,
    importance: int = 0,
    prequential: bool = False,
    samples: int = 0,
    sampled_episodes: int | None = None,
    orders: int | None = None,
    beside: str | None = None,
    seed: int = 0,
    device: str | None = None,
    json: bool = False,
) -> None:
    """Measure the variational bound (eq:vlb) of a model, in nats per image.

    Args:
        checkpoint: omniglot, omniglot-vae, a checkpoint file or a run folder.
        episodes: number of random episodes, by default 1000; --prequential has --orders instead.
        episode_length: items in an episode; by default as the model was trained.
        num_classes: draw each episode from this many classes, 0 for the whole split; by default as
            the model was trained.
        dataset: data set; by default the one the model was trained on.
        split: part of the data set.
        data_folder: folder with the archives of the data set; by default KANERVA_DATA, or ./data.
        binarisation: how grey becomes ink; by default as the model was trained, and for another
            data set as it is usually done there.
        importance: also report a bound that is tightened by this many importance samples;
            --prequential has --samples instead.
        prequential: what the next image costs after 0, 1, 2, ... images: each is read from a memory
            of those before it, so that the memory is paid for.
        samples: with --prequential: also the version with this many importance samples; 1000 is
            usual.
        sampled_episodes: episodes for --samples, which take long, by default 100; drawn by the
            seed.
        orders: with --prequential: episodes for each class of the split, by default 4.
        beside: with --prequential: a model to put next to it, on the same episodes; by default the
            VAE twin in the package.
        seed: seed of the episodes and of all samples.
        device: cpu or cuda; by default a GPU if there is one.
        json: print one JSON object and nothing else.

    """
    from kanerva.checks import check_integer
    from kanerva.cli.curves import (
        Prequential,
        curves_in_words,
        measure_prequential,
        refuse_with,
        refuse_without,
    )
    from kanerva.cli.options import MAX_EPISODES, MAX_IMAGES, check_seed, choose_device
    from kanerva.cli.terminal import say
    from kanerva.cli.trained_with import say_changes, trained_with
    from kanerva.data import load_dataset
    from kanerva.evaluation.evaluate import check_image_shape, evaluate, importance_bound
    from kanerva.json_values import in_json
    from kanerva.models.checkpoint import load_with_card
    from kanerva.models.config import MemoryModelConfig

    check_seed(seed)
    num_episodes = 1000 if episodes is None else episodes
    check_integer(
        "--episodes",
        num_episodes,
        at_most=MAX_EPISODES,
        fix="Use 1000 for numbers to report, 50 for a quick look.",
    )
    check_integer("--importance", importance, at_least=0, fix="Use 0 for none, or 100.")
    if prequential:
        refuse_with("--prequential", "--orders", episodes=episodes)
        refuse_with("--prequential", "--samples", importance=importance or None)
    else:
        only = {"samples": samples or None, "sampled_episodes": sampled_episodes}
        refuse_without("--prequential", **only, orders=orders, beside=beside)
    if not samples:
        refuse_without("--samples", sampled_episodes=sampled_episodes)
    model, card = load_with_card(checkpoint, device=choose_device(device))
    trained = trained_with(card)
    length = trained.episode_length if episode_length is None else episode_length
    check_integer("--episode-length", length, at_most=MAX_IMAGES, fix="The paper uses 32.")
    as_trained: str | None = binarisation
    if trained.is_dataset(dataset) and trained.binarisation != "none":
        as_trained = binarisation or trained.binarisation
    images = load_dataset(
        dataset or trained.dataset,
        split,
        data_folder=data_folder,
        binarisation=as_trained,
        show_progress=not json,
    ).to(model.device)
    check_image_shape(model, images)
    say_changes(trained, dataset)
    if trained.split == "train" and split == "valid" and trained.is_dataset(dataset):
        say("note: the model was trained on the whole training split, these images among them")
    if len(images) < length:
        say(
            f"note: {images.name} has {len(images)} images, so episodes of {length} repeat some, "
            f"which are easier to remember; --episode-length {len(images)} at most tells more"
        )
    classes = trained.episode_classes if num_classes is None else num_classes or None
    if prequential:
        options = Prequential(
            checkpoint=checkpoint,
            length=length,
            num_classes=classes,
            orders=4 if orders is None else orders,
            samples=samples,
            sampled_episodes=100 if sampled_episodes is None else sampled_episodes,
            beside=beside,
            seed=seed,
        )
        curves = measure_prequential(model, images, options)
        print(jsonlib.dumps(in_json(curves)) if json else curves_in_words(curves))
        return
    evaluation = evaluate(
        model,
        images,
        num_episodes=num_episodes,
        episode_length=length,
        num_classes=classes,
        distinct=trained.distinct,
        seed=seed,
    )
    config = model.config
    has_memory = isinstance(config, MemoryModelConfig)
    report: dict[str, object] = {
        **evaluation._asdict(),
        "dataset": images.name,
        "split": split,
        "binarisation": images.binarisation,
        "encoding": images.encoding,
        "num_rows": config.num_rows if has_memory else 0,
        "code_size": config.code_size,
        "noise_var": config.noise_var if has_memory else 1.0,
        "num_classes": classes,
        "total_with_memory": _total(evaluation),
        "seed": seed,
    }
    if importance:
        report["importance_samples"] = importance
        report["importance_bound"] = importance_bound(
            model,
            images,
            num_samples=importance,
            num_episodes=num_episodes,
            episode_length=length,
            num_classes=classes,
            distinct=trained.distinct,
            seed=seed,
        )
    print(jsonlib.dumps(in_json(report)) if json else _in_words(report))


def _total(evaluation: "Evaluation") -> float | None:
    """The bound and what the memory cost, in nats per image; None if that is not defined."""
    cost = evaluation.memory_kl_per_item
    return None if cost is None else evaluation.bound + cost


def _in_words(report: Mapping[str, object]) -> str:
    lines = [
        "{bound:.2f} +- {stderr:.2f} nats = {reconstruction:.2f} reconstruction + "
        "{kl_address:.2f} KL(y) + {kl_code:.2f} KL(z)",
        "the memory itself cost {memory_kl_per_item:.1f} nats per image: "
        "{total_with_memory:.1f} nats per image in all"
        if report["memory_kl_per_item"] is not None
        else "this memory is not a distribution, so its cost in nats is not defined",
        "{episodes} episodes of {episode_length} from {dataset} {split}, {binarisation}; "
        "K {num_rows}, C {code_size}, noise {noise_var:g}, seed {seed}",
    ]
    if "importance_bound" in report:
        lines.insert(1, "{importance_bound:.2f} nats with {importance_samples} importance samples")
    return "\n".join(lines).format(**report)
