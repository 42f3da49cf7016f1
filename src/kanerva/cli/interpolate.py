"""`kanerva interpolate CHECKPOINT`: images on a straight line between two, in weight space."""

import json as jsonlib
from pathlib import Path

from tyro.conf import Positional


def interpolate(
    checkpoint: Positional[str] = "handwriting",
    *,
    memory: tuple[Path, ...],
    start: Path,
    end: Path,
    steps: int = 10,
    out: Path | None = None,
    overwrite: bool = False,
    device: str | None = None,
    json: bool = False,
) -> None:
    """Read the memory along the line between the weights of two images (section 4.3).

    Args:
        checkpoint: handwriting, omniglot, a checkpoint file or a run folder.
        memory: images, or folders of images, to write first; --start and --end are written as well.
        start: the first image.
        end: the last image.
        steps: number of images, both ends included.
        out: where to save the picture: .png, or .gif for an animation; by default
            runs/interpolate.png.
        overwrite: replace a file that is there already.
        device: cpu or cuda; by default a GPU if there is one.
        json: print one JSON object and nothing else.

    """
    from kanerva.checks import check_integer
    from kanerva.cli.options import MAX_IMAGES, choose_device
    from kanerva.cli.outputs import check_picture_file, say_saved
    from kanerva.cli.user_images import read_user_images, save_picture, say_skipped
    from kanerva.errors import KanervaError, printable
    from kanerva.models.checkpoint import load_memory_model

    check_integer(
        "--steps",
        steps,
        at_least=2,
        at_most=MAX_IMAGES,
        fix="The two ends count: 10 is a good start.",
    )
    inputs = (*memory, start, end)
    picture = out or Path("runs/interpolate.png")
    check_picture_file("--out", picture, inputs=inputs, overwrite=overwrite or out is None)
    for option, path in (("--start", start), ("--end", end)):
        if path.is_dir():
            raise KanervaError(
                option,
                expected="one image",
                got=f"'{path}', a folder",
                fix="Name a file in this folder.",
            )
    model, _ = load_memory_model(checkpoint, device=choose_device(device))
    ends = read_user_images(model, [start, end]).images
    found = read_user_images(model, memory)
    state = model.write(ends, model.write(found.images))
    frames = model.interpolate(ends[0], ends[1], state, steps=steps)
    if picture.suffix.lower() == ".gif":
        rows = {f"{number / (steps - 1):.0%}": frame[None] for number, frame in enumerate(frames)}
    else:
        rows = {"line": frames}
    save_picture(picture, rows)
    say_saved([picture], inputs)
    skipped = say_skipped(found)
    report = {"steps": steps, "out": str(picture), "skipped": skipped}
    print(jsonlib.dumps(report) if json else printable(f"picture: {picture}"))
