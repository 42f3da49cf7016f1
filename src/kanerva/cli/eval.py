"""`kanerva eval CHECKPOINT`: the bound of a model on a split, as one JSON object or a few lines."""

import json as jsonlib
from pathlib import Path
from typing import Any, Literal

from tyro.conf import Positional


def evaluate_command(
    checkpoint: Positional[str],
    *,
    episodes: int = 1000,
    episode_length: int | None = None,
    num_classes: int | None = None,
    dataset: str | None = None,
    split: Literal["test", "valid", "train", "fit"] = "test",
    data: Path | None = None,
    binarisation: Literal["threshold20", "stochastic"] | None = None,
    importance: int = 0,
    seed: int = 0,
    device: str | None = None,
    json: bool = False,
) -> None:
    """Measure the variational bound (eq:vlb) of a model, in nats per image.

    Args:
        checkpoint: omniglot, omniglot-vae, a checkpoint file or a run folder.
        episodes: how many random episodes.
        episode_length: items of each; by default as the model was trained.
        num_classes: draw each episode from this many classes; by default from the whole split.
        dataset: another data set than the one the model was trained on.
        split: which part of it.
        data: the folder with the archives; by default KANERVA_DATA, else ./data.
        binarisation: how grey becomes ink; by default as the model was trained, and for another
            data set as that one is known.
        importance: also report a bound tightened by this many importance samples.
        seed: of the episodes and all sampling.
        device: cpu or cuda; by default a GPU where there is one.
        json: print one JSON object and nothing else.

    """
    import torch

    from kanerva.cli.options import check_positive, check_seed, choose_device, in_json
    from kanerva.data import load_dataset
    from kanerva.errors import KanervaError
    from kanerva.evaluation.evaluate import check_fits, evaluate, importance_bound
    from kanerva.models.checkpoint import load_with_card

    check_seed(seed)
    check_positive("--episodes", episodes)
    if importance < 0:
        raise KanervaError(
            "--importance", expected="0 for none, or more", got=str(importance), fix="Raise it."
        )
    where = torch.device(choose_device(device))
    model, card = load_with_card(checkpoint, device=where)
    length: int = card.get("episode_length", 32) if episode_length is None else episode_length
    check_positive("--episode-length", length)
    trained_on = card.get("dataset", "omniglot")
    if dataset in (None, trained_on) and card.get("binarisation") != "none":
        binarisation = binarisation or card.get("binarisation")
    images = load_dataset(
        dataset or trained_on,
        split,
        data_folder=data,
        binarisation=binarisation,
        show_progress=not json,
    ).to(where)
    check_fits(model, images)
    drawn: dict[str, Any] = {
        "episodes": episodes,
        "episode_length": length,
        "num_classes": num_classes,
        "seed": seed,
    }
    report = {
        **evaluate(model, images, **drawn)._asdict(),
        "dataset": images.name,
        "split": split,
        "binarisation": images.binarisation,
        "encoding": images.encoding,
        "num_rows": getattr(model.config, "num_rows", 0),
        "code_size": model.config.code_size,
        "noise_var": getattr(model.config, "noise_var", 1.0),
        "num_classes": num_classes,
        "seed": seed,
    }
    if importance:
        report["importance_samples"] = importance
        report["importance_bound"] = importance_bound(model, images, samples=importance, **drawn)
    print(jsonlib.dumps(in_json(report)) if json else _in_words(report))


def _in_words(report: dict[str, Any]) -> str:
    lines = [
        "{bound:.2f} +- {stderr:.2f} nats = {reconstruction:.2f} reconstruction + "
        "{kl_address:.2f} KL(y) + {kl_code:.2f} KL(z)",
        "the memory itself cost {memory_kl_per_item:.1f} nats per image"
        if report["memory_kl_per_item"] is not None
        else "this memory is no distribution: what it cost is not defined",
        "{episodes} episodes of {episode_length} from {dataset} {split}, {binarisation}; "
        "K {num_rows}, C {code_size}, noise {noise_var:g}, seed {seed}",
    ]
    if "importance_bound" in report:
        lines.insert(1, "{importance_bound:.2f} nats with {importance_samples} importance samples")
    return "\n".join(lines).format(**report)
