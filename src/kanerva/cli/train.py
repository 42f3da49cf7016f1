"""`kanerva train RECIPE`: one training, with its settings, metrics and checkpoints in a folder."""

import contextlib
import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING

from kanerva.errors import KanervaError
from kanerva.training.config import Config

if TYPE_CHECKING:
    from kanerva.training.parallel import Parallel


def train(
    config: Config,
    recipe: str,
    *,
    out: Path | None = None,
    data_folder: Path | None = None,
    resume: bool = False,
    device: str | None = None,
    tensorboard: bool = False,
    json: bool = False,
) -> None:
    """Train a model, or continue a training; the command line calls it with a recipe's config."""
    from kanerva.cli.options import choose_device
    from kanerva.json_values import in_json
    from kanerva.training.lock import locked
    from kanerva.training.parallel import Parallel, is_first_process
    from kanerva.training.run_folder import RunFolder

    folder = out or Path("runs") / recipe
    # The processes of one torchrun share the lock of the first.
    with locked(folder) if is_first_process() else contextlib.nullcontext():
        _check_folder(folder, resume)
        parallel = Parallel.from_environment(device and choose_device(device))
        quiet = json or not parallel.is_first
        try:
            agree = _train(
                config,
                recipe,
                folder,
                data_folder,
                parallel,
                resume,
                quiet=quiet,
                board=tensorboard,
            )
        finally:
            parallel.close()
        if json and parallel.is_first:
            last = RunFolder(folder).rows()[-1]
            report = {"folder": str(folder), **last, "parameters_agree": agree}
            print(jsonlib.dumps(in_json(report)))


def _train(
    config: Config,
    recipe: str,
    folder: Path,
    data_folder: Path | None,
    parallel: "Parallel",
    resume: bool,
    *,
    quiet: bool,
    board: bool,
) -> bool:
    """Train; returns whether all processes ended with the same parameters."""
    from kanerva.cli.show import TrainingDisplay
    from kanerva.training.prepare import load_images
    from kanerva.training.run import Run

    images = load_images(
        config,
        device=parallel.device,
        data_folder=data_folder,
        show_progress=parallel.is_first,
    )
    run = Run(config, folder, images=images, parallel=parallel)
    if resume:
        run.resume()
    else:
        run.start(recipe)
    with TrainingDisplay(run, quiet=quiet, tensorboard=board) as display:
        run.train(display.row)
    return parallel.agree(run.step.flat.vector)


def _check_folder(folder: Path, resume: bool) -> None:
    """Refuse to overwrite another run, and to resume where there is none."""
    from kanerva.training.run_folder import RunFolder

    begun, left = RunFolder(folder).has_checkpoint(), RunFolder(folder).leftovers()
    if begun and not resume:
        raise KanervaError(
            "--out",
            expected="a folder without checkpoints",
            got=f"'{folder}', where a run has begun",
            fix="Add --resume to continue it, or name another folder with --out.",
        )
    if left and not begun and not resume:
        raise KanervaError(
            "--out",
            expected="a new folder",
            got=f"'{folder}', which has {' and '.join(left)} but no checkpoint",
            fix="Remove these files, or name another folder with --out.",
        )
    if resume and not begun:
        raise KanervaError(
            "--resume",
            expected="a folder with a checkpoint",
            got=f"'{folder}', which has none",
            fix="Leave --resume out to start a new run.",
        )
