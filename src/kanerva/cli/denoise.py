"""`kanerva denoise CHECKPOINT`: repair images by reading a memory again and again."""

import json as jsonlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tyro.conf import Positional

from kanerva.cli.options import Corruption


def denoise(
    checkpoint: Positional[str],
    *,
    memory: tuple[Path, ...] = (),
    query: tuple[Path, ...] = (),
    corruption: Corruption | None = None,
    iterations: int = 6,
    sample: bool = False,
    out: Path | None = None,
    episodes: int = 100,
    episode_length: int = 32,
    dataset: str | None = None,
    data: Path | None = None,
    seed: int = 0,
    device: str | None = None,
    json: bool = False,
) -> None:
    """Repair damaged images: your own files, or test episodes for numbers.

    With --memory and --query: write the images of the first, read by those of the second, and
    save a picture. Without: write test episodes, damage them, read them back, and print the mean
    absolute error of pixels before and after each reading.

    Args:
        checkpoint: omniglot, a checkpoint file or a run folder.
        memory: images, or folders of them, to write.
        query: images, or folders of them, to repair; by default those of --memory.
        corruption: damage to the queries; by default block12 (a 12 x 12 block of ink), or none
            for your own.
        iterations: how often to read.
        sample: draw y, z and x as algorithm 1 does, instead of taking means.
        out: where to save the picture of --memory: .png, or .gif for a film; by default
            runs/denoise.png.
        episodes: how many test episodes, without --memory.
        episode_length: items of each.
        dataset: another data set than the one the model was trained on.
        data: the folder with the archives; by default KANERVA_DATA, else ./data.
        seed: of the episodes, the damage and all sampling.
        device: cpu or cuda; by default a GPU where there is one.
        json: print one JSON object and nothing else.

    """
    from kanerva.cli.options import check_positive, check_seed, in_json
    from kanerva.cli.own import check_out, load_remembering
    from kanerva.errors import KanervaError

    check_seed(seed)
    check_positive("--iterations", iterations)
    check_positive("--episodes", episodes)
    check_positive("--episode-length", episode_length)
    if query and not memory:
        raise KanervaError(
            "--query",
            expected="--memory beside it: a query is read from what was written",
            got="none",
            fix="Add --memory FOLDER.",
        )
    if out is not None and not memory:
        raise KanervaError(
            "--out",
            expected="--memory beside it: test episodes give numbers, no picture",
            got="none",
            fix="Add --memory FOLDER, or leave --out away.",
        )
    out = out or Path("runs/denoise.png")
    if memory:
        check_out(out, *memory, *query)
    model, card = load_remembering(checkpoint, device)
    if memory:
        places = (memory, query or memory)
        report = _own(model, *places, corruption or "none", iterations, sample, out, seed)
        lines = [f"{row['query']}: confidence {row['confidence']:.2f}" for row in report["read"]]
        lines.append(f"picture: {out}")
    else:
        from kanerva.data import load_dataset
        from kanerva.evaluation.denoise import measure_denoising
        from kanerva.evaluation.evaluate import check_fits

        name = dataset or card.get("dataset", "omniglot")
        images = load_dataset(name, "test", data_folder=data, show_progress=not json)
        check_fits(model, images)
        result = measure_denoising(
            model,
            images.to(next(model.parameters()).device),
            kind=corruption or "block12",
            episodes=episodes,
            episode_length=episode_length,
            iterations=iterations,
            sample=sample,
            seed=seed,
        )
        report = {
            **result._asdict(),
            "corruption": corruption or "block12",
            "episodes": episodes,
            "episode_length": episode_length,
            "dataset": images.name,
            "split": "test",
            "sample": sample,
            "seed": seed,
        }
        lines = [
            f"damaged: {result.corrupted_error:.4f}",
            "read:    " + "  ".join(f"{error:.4f}" for error in result.errors),
            f"nearest to themselves, at the end: {result.recognised:.1%}",
        ]
    print(jsonlib.dumps(in_json(report)) if json else "\n".join(lines))


def _own(
    model: Any,
    memory: Sequence[Path],
    query: Sequence[Path],
    corruption: Corruption,
    iterations: int,
    sample: bool,
    out: Path,
    seed: int,
) -> dict[str, Any]:
    import torch

    from kanerva.cli.own import images_of, memory_of, save_rows
    from kanerva.data.damage import damage

    state, _ = memory_of(model, memory)
    images, names = images_of(model, query)
    generator = torch.Generator(images.device).manual_seed(seed)
    cues = damage(images, corruption, generator=generator)
    read = model.read(cues, state, iterations=iterations, sample=sample, generator=generator)
    rows = {"query": cues}
    rows |= {f"reading {number}": step for number, step in enumerate(read.steps, 1)}
    save_rows(out, rows)
    pairs = zip(names, read.confidence.tolist(), strict=True)
    return {
        "read": [{"query": name, "confidence": confidence} for name, confidence in pairs],
        "corruption": corruption,
        "iterations": iterations,
        "out": str(out),
    }
