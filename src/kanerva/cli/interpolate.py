"""`kanerva interpolate CHECKPOINT`: a straight line between two images, in weight space."""

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
        memory: images, or folders of them, to write first; the two ends are written as well.
        start: the first image.
        end: the last image.
        steps: how many images, both ends included.
        out: where to save the picture: .png, or .gif for a film.
        device: cpu or cuda; by default a GPU where there is one.
        json: print one JSON object and nothing else.

    """
    from kanerva.cli.own import check_out, images_of, load_remembering, save_rows
    from kanerva.errors import KanervaError

    check_out(out, *memory, start, end)
    for option, path in (("--start", start), ("--end", end)):
        if path.is_dir():
            raise KanervaError(
                option, expected="one image", got=f"'{path}', a folder", fix="Name a file in it."
            )
    model, _ = load_remembering(checkpoint, device)
    ends = images_of(model, [start, end])[0]
    state = model.write(ends, model.write(images_of(model, memory)[0]))
    frames = model.interpolate(ends[0], ends[1], state, steps=steps)
    if out.suffix.lower() == ".gif":
        rows = {f"{number / (steps - 1):.0%}": frame[None] for number, frame in enumerate(frames)}
    else:
        rows = {"line": frames}
    save_rows(out, rows)
    print(jsonlib.dumps({"steps": steps, "out": str(out)}) if json else f"picture: {out}")
