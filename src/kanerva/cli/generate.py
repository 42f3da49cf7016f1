"""`kanerva generate`: new images like those that were written."""

import json as jsonlib
from pathlib import Path

from tyro.conf import Positional


def generate(
    checkpoint: Positional[str] = "fewshot",
    *,
    memory: tuple[Path, ...] | None = None,
    num: int = 16,
    readings: int | None = None,
    sample: bool = False,
    out: Path | None = None,
    overwrite: bool = False,
    seed: int = 0,
    device: str | None = None,
    json: bool = False,
) -> None:
    """Make new images like those of --memory.

    The default model, fewshot, draws new versions of a character from 1 to 10 drawings of it. The
    paper's model, omniglot, draws an address code from its prior and reads repeatedly (section
    3.5): mostly it comes back to one of the images that were written.

    Args:
        checkpoint: fewshot, omniglot, a checkpoint file or a run folder.
        memory: images, or folders of images, to write first; without them the learned prior is
            read.
        num: number of new images.
        readings: how often to read, by default 8; a few-shot model draws without readings.
        sample: draw z and x as well, instead of taking means; not for a few-shot model, which
            always draws.
        out: where to save the picture: .png with a row for every second reading, or .gif for an
            animation; by default runs/generate.png.
        overwrite: replace a file that is there already.
        seed: seed of all samples.
        device: cpu or cuda; by default a GPU if there is one.
        json: print one JSON object and nothing else.

    """
    import torch

    from kanerva.checks import check_integer
    from kanerva.cli.options import MAX_IMAGES, MAX_READINGS, check_seed, choose_device
    from kanerva.cli.outputs import check_picture_file, say_saved
    from kanerva.cli.terminal import say
    from kanerva.cli.user_images import save_picture, say_skipped, write_user_images
    from kanerva.errors import KanervaError, printable
    from kanerva.models.checkpoint import load_memory_model
    from kanerva.models.few_shot_machine import FewShotMachine

    check_seed(seed)
    check_integer("--num", num, at_most=MAX_IMAGES, fix="16 is a good start.")
    inputs = memory or ()
    picture = out or Path("runs/generate.png")
    check_picture_file("--out", picture, inputs=inputs, overwrite=overwrite or out is None)
    model, _ = load_memory_model(checkpoint, device=choose_device(device))
    draws = isinstance(model, FewShotMachine)
    if draws and readings:
        raise KanervaError(
            "--readings",
            expected="none: a few-shot model draws new images at once",
            got=str(readings),
            fix="Leave it out, or use the model omniglot.",
        )
    if draws and sample:
        raise KanervaError(
            "--sample",
            expected="nothing: a few-shot model always draws",
            got="--sample",
            fix="Leave it out, or use the model omniglot.",
        )
    if readings is None:
        readings = 0 if draws else 8
    check_integer(
        "--readings",
        readings,
        at_least=0,
        at_most=MAX_READINGS,
        fix="8 is a good start; 0 shows the first images.",
    )
    state, written = write_user_images(model, memory)
    generator = torch.Generator(model.device).manual_seed(seed)
    steps: dict[str, torch.Tensor] = {}
    model.generate(
        state,
        num,
        num_readings=readings,
        sample=sample or draws,  # a few-shot model that draws nothing repeats one image
        generator=generator,
        on_reading=lambda number, images: steps.update({f"reading {number}": images}),
    )
    every = 1 if picture.suffix.lower() == ".gif" else 2
    rows = dict(list(steps.items())[readings % every :: every])
    if draws:
        rows = {"new": steps["reading 0"]}
        if written is not None and picture.suffix.lower() != ".gif":
            rows = {"given": written.images, **rows}
    save_picture(picture, rows)
    say_saved([picture], inputs)
    skipped = say_skipped(written)
    if written is None:
        say("no --memory: the memory is the learned prior, nothing was written")
    report = {
        "num": num,
        "readings": readings,
        "written": len(written.names) if written else 0,
        "out": str(picture),
        "skipped": skipped,
    }
    print(jsonlib.dumps(report) if json else printable(f"picture: {picture}"))
