"""The part of `kanerva denoise` that repairs a user's own images."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kanerva.checks import check_number
from kanerva.errors import KanervaError, printable

if TYPE_CHECKING:
    from kanerva.cli.options import Damage
    from kanerva.cli.reading_options import ReadingOptions

SCALE = 10
"""Side of the square that a pixel becomes in a repaired image: 28 x 28 become 280 x 280."""
DEFAULT_FOLDER = Path("runs/denoise")


@dataclass(frozen=True)
class Repair:
    """What to repair, and how."""

    checkpoint: str
    memory: tuple[Path, ...]
    cue: tuple[Path, ...] | None
    damage: Damage | None
    reading: ReadingOptions
    min_confidence: float | None
    seed: int
    device: str | None
    out: Path | None
    sheet: Path | None
    overwrite: bool

    @property
    def cues(self) -> tuple[Path, ...]:
        """The files and folders with the cues; by default what is written."""
        return self.cue or self.memory

    @property
    def inputs(self) -> tuple[Path, ...]:
        """Everything that is read."""
        return self.memory + self.cues

    @property
    def target(self) -> Path | None:
        """The file or folder for the repaired images; none if only a sheet is wanted."""
        return self.out or (None if self.sheet else DEFAULT_FOLDER)


def repair(options: Repair) -> tuple[dict[str, object], list[str]]:
    """Write files, read the memory with others, save what comes back; say what was done."""
    import torch

    from kanerva.atomic import write_atomically
    from kanerva.cli.options import choose_device
    from kanerva.cli.outputs import say_saved
    from kanerva.cli.user_images import (
        read_user_images,
        save_picture,
        say_skipped,
        write_user_images,
    )
    from kanerva.data.damage import damage
    from kanerva.models.checkpoint import load_memory_model
    from kanerva.rendering.image_grid import enlarged, png

    _check_outputs(options)
    model, _ = load_memory_model(options.checkpoint, device=choose_device(options.device))
    if options.min_confidence is not None and not model.addressing.finds_items:
        raise KanervaError(
            "--min-confidence",
            expected="a model that says how sure it is, for example handwriting",
            got=f"'{options.checkpoint}', which knows what drawings have in common",
            fix="Leave it out, or choose another model.",
        )
    found = read_user_images(model, options.cues)
    files = _files(options, found.names)
    if options.cue is None:
        state, written = model.write(found.images), None
    else:
        state, written = write_user_images(model, options.memory)
    generator = torch.Generator(model.device).manual_seed(options.seed)
    kind = options.damage or "none"
    cues = damage(found.images, kind, generator=generator)
    result = model.read(cues, state, generator=generator, **options.reading.keywords())
    confidences: list[float] = result.confidence.tolist()
    known = [not confidence < (options.min_confidence or 0) for confidence in confidences]
    files = [file for file, is_known in zip(files, known, strict=False) if is_known]
    images = [image for image, is_known in zip(result.images, known, strict=True) if is_known]
    for file, image in zip(files, images, strict=False):  # no files: only a sheet
        write_atomically(file, png(enlarged(image, scale=SCALE)))
    if options.sheet:
        rows = {"cue": cues}
        rows |= {f"reading {number}": step for number, step in enumerate(result.steps, 1)}
        save_picture(options.sheet, rows)
    say_saved([*files, *([options.sheet] if options.sheet else [])], options.inputs)
    skipped = say_skipped(found, written)
    saved = iter(files)
    outs = [str(next(saved)) if is_known and files else None for is_known in known]
    answers = list(zip(found.names, confidences, known, outs, strict=True))
    report: dict[str, object] = {
        "read": [
            {"cue": name, "confidence": confidence, "known": is_known, "out": out}
            for name, confidence, is_known, out in answers
        ],
        "damage": kind,
        "readings": len(result.steps),
        "out": str(options.target) if options.target and any(outs) else None,
        "sheet": str(options.sheet) if options.sheet else None,
        "skipped": skipped,
    }
    lines = [printable(_line(*answer)) for answer in answers]
    if options.sheet:
        lines.append(printable(f"sheet: {options.sheet}"))
    return report, lines


def _line(name: str, confidence: float, is_known: bool, out: str | None) -> str:
    """What is said about one cue."""
    if not is_known:
        return f"{name}: not in memory (confidence {confidence:.2f})"
    says = "read" if math.isnan(confidence) else f"confidence {confidence:.2f}"
    return f"{name}: {says}" + (f", repaired: {out}" if out else "")


def _check_outputs(options: Repair) -> None:
    """Refuse what can be seen to be wrong before anything is read."""
    if options.min_confidence is not None:
        check_number(
            "--min-confidence", options.min_confidence, at_least=0, at_most=1, fix="Try 0.5."
        )
    from kanerva.cli.outputs import check_file, check_folder, check_picture_file

    if options.sheet:
        check_picture_file(
            "--sheet", options.sheet, inputs=options.inputs, overwrite=options.overwrite
        )
    target = options.target
    if target is None:
        return
    if _is_file(target):
        check_file("--out", target, inputs=options.inputs, overwrite=options.overwrite)
    elif not target.suffix or os.path.isdir(target):
        check_folder("--out", target)
    else:
        raise KanervaError(
            "--out",
            expected="a file name that ends in .png, or a folder",
            got=f"'{target}'",
            fix=f"For an animation of all readings use --sheet {target}."
            if target.suffix.lower() == ".gif"
            else f"Write --out {target.with_suffix('.png')}, or make the folder first.",
        )


def _is_file(target: Path) -> bool:
    return target.suffix.lower() == ".png" and not os.path.isdir(target)


def _files(options: Repair, names: Sequence[str]) -> list[Path]:
    """The file for each repaired image; empty if only a sheet is wanted."""
    from kanerva.cli.outputs import check_file
    from kanerva.data.paths import absolute

    target = options.target
    if target is None:
        return []
    if _is_file(target) and len(names) > 1:
        raise KanervaError(
            "--out",
            expected=f"a folder, because there are {len(names)} cues",
            got=f"'{target}'",
            fix=f"Write --out {target.with_suffix('')}, or --sheet {target} for one picture.",
        )
    files = [target] if _is_file(target) else [target / _name(one, options) for one in names]
    taken: dict[Path, str] = {}
    for file, name in zip(files, names, strict=True):
        if file in taken:
            raise KanervaError(
                "--cue",
                expected="images with different names, because all go into one folder",
                got=f"'{taken[file]}' and '{name}'",
                fix="Rename one of them, or name the folder that both are in.",
            )
        taken[file] = name
        overwrite = options.overwrite or options.out is None
        check_file("--out", file, inputs=options.inputs, overwrite=overwrite)
    if options.sheet and absolute(options.sheet) in [absolute(file) for file in files]:
        raise KanervaError(
            "--sheet",
            expected="another file than those of --out",
            got=f"'{options.sheet}' for both",
            fix="Name another file.",
        )
    return files


def _name(cue: str, options: Repair) -> Path:
    """The name of a repaired image: that of its cue, in the folder that was given."""
    from kanerva.data.folder_contents import IMAGE_ENDINGS

    path = Path(cue)
    folders = [given for given in options.cues if given != path and path.is_relative_to(given)]
    name = path.relative_to(folders[0]) if folders else Path(path.name)
    if name.suffix.lower() in IMAGE_ENDINGS:
        return name.with_suffix(".png")
    return name.with_name(f"{name.name}.png")
