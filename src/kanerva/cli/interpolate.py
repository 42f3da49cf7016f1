"""`kanerva interpolate CHECKPOINT`: images on a straight line between two, in weight space."""

import json as jsonlib
from pathlib import Path

from tyro.conf import Positional


def interpolate(
    checkpoint: Positional[str],
    *,
    memory: tuple[Path, ...],
    start: Path,
    end: Path,
    steps: int = 10,
    out: Path = Path("runs/interpolate.png"),
    device: str | None = None,
    json: bool = False,
) -> None:
    """Read the memory along the line between the weights of two images (section 4.3).

    Args:
        checkpoint: omniglot, a checkpoint file or a run folder.
        memory: images, or folders of images, to write first; --start and --end are written as well.
        start: the first image.
        end: the last image.
        steps: number of images, both ends included.
        out: where to save the picture: .png, or .gif for an animation.
        device: cpu or cuda; by default a GPU if there is one.
        json: print one JSON object and nothing else.

    """
    from kanerva.checks import check_integer
    from kanerva.cli.options import choose_device
    from kanerva.cli.user_images import check_output, read_user_images, save_picture
    from kanerva.errors import KanervaError
    from kanerva.models.checkpoint import load_memory_model

    check_integer("--steps", steps, at_least=2, fix="The two ends count: 10 is a good start.")
    check_output(out, *memory, start, end)
    for option, path in (("--start", start), ("--end", end)):
        if path.is_dir():
            raise KanervaError(
                option,
                expected="one image",
                got=f"'{path}', a folder",
                fix="Name a file in this folder.",
            )
    model, _ = load_memory_model(checkpoint, device=choose_device(device))
    ends, _ = read_user_images(model, [start, end])
    images, _ = read_user_images(model, memory)
    state = model.write(ends, model.write(images))
    frames = model.interpolate(ends[0], ends[1], state, steps=steps)
    if out.suffix.lower() == ".gif":
        rows = {f"{number / (steps - 1):.0%}": frame[None] for number, frame in enumerate(frames)}
    else:
        rows = {"line": frames}
    save_picture(out, rows)
    print(jsonlib.dumps({"steps": steps, "out": str(out)}) if json else f"picture: {out}")
