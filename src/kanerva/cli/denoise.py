"""`kanerva denoise CHECKPOINT`: repair damaged images by reading a memory several times."""

import json as jsonlib
from pathlib import Path
from typing import NamedTuple

from tyro.conf import Positional

from kanerva.cli.options import Damage
from kanerva.cli.reading_options import ReadingOptions


def denoise(
    checkpoint: Positional[str] = "handwriting",
    *,
    memory: tuple[Path, ...] | None = None,
    cue: tuple[Path, ...] | None = None,
    damage: Damage | None = None,
    readings: int | None = None,
    keep_cue: bool = True,
    starts: int | None = None,
    min_confidence: float | None = None,
    sample: bool = False,
    out: Path | None = None,
    sheet: Path | None = None,
    overwrite: bool = False,
    episodes: int | None = None,
    episode_length: int | None = None,
    dataset: str | None = None,
    data_folder: Path | None = None,
    seed: int = 0,
    device: str | None = None,
    json: bool = False,
) -> None:
    """Repair damaged images: your own files, or test episodes to measure the errors.

    With --memory: write these images, read the memory with the images of --cue, and save what comes
    back. Without --memory: write test episodes, damage them, read them back, and print the mean
    absolute error of pixels before and after each reading, next to looking up the nearest image.

    Args:
        checkpoint: handwriting, omniglot, a checkpoint file or a run folder.
        memory: images, or folders of images, to write.
        cue: images, or folders of images, to repair; by default those of --memory.
        damage: what to do to the cues first; by default nothing to your own images, and block12 (a
            12 x 12 block of ink) to test episodes.
        readings: how often to read; by default until nothing changes.
        keep_cue: search the memory for what the cue means. --no-keep-cue reads as algorithm 1 of
            the paper does: it asks again with what came back.
        starts: from how many places around the cue's address to search; more take longer.
        min_confidence: do not save images below this confidence, and say that they are not in
            memory; with --memory only.
        sample: draw y, z and x as algorithm 1 does, instead of taking means. Needs --no-keep-cue.
        out: where to save the repaired images: a .png for one cue, or a folder with one .png for
            each; by default the folder runs/denoise, or nothing if --sheet is given.
        sheet: also save one picture of the cues and all readings: .png, or .gif for an animation.
        overwrite: replace files that are there already.
        episodes: number of test episodes; by default 100.
        episode_length: items in a test episode; by default 32.
        dataset: data set of the test episodes; by default the one the model was trained on.
        data_folder: folder with the archives of the data set; by default KANERVA_DATA, or ./data.
        seed: seed of the episodes, the damage and all samples.
        device: cpu or cuda; by default a GPU if there is one.
        json: print one JSON object and nothing else.

    """
    from kanerva.checks import check_integer
    from kanerva.cli.options import MAX_READINGS, check_seed
    from kanerva.cli.repair import Repair, repair
    from kanerva.json_values import in_json

    check_seed(seed)
    if readings is not None:
        check_integer(
            "--readings",
            readings,
            at_most=MAX_READINGS,
            fix="Leave it out; the paper reads up to 10 times.",
        )
    reading = ReadingOptions(readings, keep_cue, starts, sample)
    reading.check()
    if memory:
        _refuse_with_memory("--episodes", episodes)
        _refuse_with_memory("--episode-length", episode_length)
        _refuse_with_memory("--dataset", dataset)
        _refuse_with_memory("--data-folder", data_folder)
        options = Repair(
            checkpoint=checkpoint,
            memory=memory,
            cue=cue,
            damage=damage,
            reading=reading,
            min_confidence=min_confidence,
            seed=seed,
            device=device,
            out=out,
            sheet=sheet,
            overwrite=overwrite,
        )
        report, lines = repair(options)
    else:
        _refuse_without_memory("--cue", cue)
        _refuse_without_memory("--out", out)
        _refuse_without_memory("--sheet", sheet)
        _refuse_without_memory("--overwrite", overwrite)
        _refuse_without_memory("--min-confidence", min_confidence)
        benchmark = _Benchmark(
            checkpoint=checkpoint,
            damage=damage or "block12",
            num_episodes=100 if episodes is None else episodes,
            episode_length=32 if episode_length is None else episode_length,
            reading=reading,
            seed=seed,
        )
        report, lines = _measure(benchmark, dataset, data_folder, device, quiet=json)
    print(jsonlib.dumps(in_json(report)) if json else "\n".join(lines))


class _Benchmark(NamedTuple):
    """What to measure on test episodes."""

    checkpoint: str
    damage: Damage
    num_episodes: int
    episode_length: int
    reading: ReadingOptions
    seed: int


def _measure(
    options: _Benchmark,
    dataset: str | None,
    data_folder: Path | None,
    device: str | None,
    *,
    quiet: bool,
) -> tuple[dict[str, object], list[str]]:
    """Write test episodes, damage them, read them, measure the errors."""
    from kanerva.checks import check_integer
    from kanerva.cli.options import MAX_EPISODES, MAX_IMAGES, choose_device
    from kanerva.cli.trained_with import trained_with
    from kanerva.data import load_dataset
    from kanerva.evaluation.denoise import measure_denoising
    from kanerva.evaluation.evaluate import check_image_shape
    from kanerva.models.checkpoint import load_memory_model

    check_integer(
        "--episodes",
        options.num_episodes,
        at_most=MAX_EPISODES,
        fix="100 is enough for two digits of the error.",
    )
    check_integer(
        "--episode-length", options.episode_length, at_most=MAX_IMAGES, fix="The paper uses 32."
    )
    model, card = load_memory_model(options.checkpoint, device=choose_device(device))
    images = load_dataset(
        dataset or trained_with(card).dataset,
        "test",
        data_folder=data_folder,
        show_progress=not quiet,
    )
    check_image_shape(model, images)
    result = measure_denoising(
        model,
        images.to(model.device),
        kind=options.damage,
        num_episodes=options.num_episodes,
        episode_length=options.episode_length,
        seed=options.seed,
        **options.reading.keywords(),
    )
    report: dict[str, object] = {
        **result._asdict(),
        "damage": options.damage,
        "episodes": options.num_episodes,
        "episode_length": options.episode_length,
        "dataset": images.name,
        "split": "test",
        "keep_cue": options.reading.keep_cue,
        "sample": options.reading.sample,
        "seed": options.seed,
    }
    lines = [
        f"damaged: {result.cue_error:.4f}",
        "read:    " + "  ".join(f"{error:.4f}" for error in result.errors),
        f"closest to their own original after the last reading: {result.recognised:.1%}",
        f"nearest stored image instead: {result.nearest_error:.4f}, "
        f"{result.nearest_recognised:.1%} their own; it keeps {result.image_bytes:,} bytes",
        f"modern Hopfield network instead: {result.hopfield_error:.4f}, "
        f"{result.hopfield_recognised:.1%} their own; it keeps as much",
        f"the memory keeps {result.memory_bytes:,} bytes, however many images there are",
    ]
    return report, lines


def _refuse_with_memory(option: str, value: object) -> None:
    """An option of test episodes, which --memory replaces."""
    from kanerva.errors import KanervaError

    if value is not None:
        raise KanervaError(
            option,
            expected="no --memory next to it: it is about test episodes, not your own images",
            got=f"{option} {value} and --memory",
            fix=f"Remove {option}, or remove --memory to measure errors on test episodes.",
        )


def _refuse_without_memory(option: str, value: object) -> None:
    """An option of a user's own images, which need --memory."""
    from kanerva.errors import KanervaError

    if value:
        raise KanervaError(
            option,
            expected="--memory next to it: it is about your own images, not test episodes",
            got=f"only {option}",
            fix=f"Add --memory FOLDER, or remove {option}.",
        )
