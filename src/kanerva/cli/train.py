"""`kanerva train RECIPE`: a run folder with config, metrics and checkpoints."""

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING

from kanerva.cli.options import choose_device
from kanerva.json_values import in_json
from kanerva.training.config import Config

if TYPE_CHECKING:
    from kanerva.training.parallel import Parallel


def train(
    config: Config,
    recipe: str,
    *,
    out: Path | None = None,
    data: Path | None = None,
    resume: bool = False,
    device: str | None = None,
    tensorboard: bool = False,
    json: bool = False,
) -> None:
    """Run, or go on with, a training; the command line calls it for the recipe of that name."""
    from kanerva.training.parallel import Parallel

    folder = out or Path("runs") / recipe
    _check_folder(folder, resume)
    parallel = Parallel.from_environment(device and choose_device(device))
    quiet = json or not parallel.is_first
    try:
        agree = _train(config, recipe, folder, data, resume, parallel, quiet, tensorboard)
    finally:
        parallel.close()
    if json and parallel.is_first:
        last = (folder / "metrics.jsonl").read_text().splitlines()[-1]
        report = {"folder": str(folder), **jsonlib.loads(last), "parameters_agree": agree}
        print(jsonlib.dumps(in_json(report)))


def _train(
    config: Config,
    recipe: str,
    folder: Path,
    data: Path | None,
    resume: bool,
    parallel: "Parallel",
    quiet: bool,
    tensorboard: bool,
) -> bool:
    """The training itself; returns whether all processes ended with the same parameters."""
    from kanerva.cli.show import TrainingDisplay
    from kanerva.training.run import Run

    run = Run(config, folder, data=data, parallel=parallel)
    if resume:
        run.resume()
    else:
        run.start(recipe)
    with TrainingDisplay(run, quiet=quiet, tensorboard=tensorboard) as display:
        run.go(display.row)
    return parallel.agree(run.step.flat.vector)


def _check_folder(folder: Path, resume: bool) -> None:
    from kanerva.errors import KanervaError

    begun = any(folder.glob("checkpoint-*.safetensors"))
    if begun and not resume:
        raise KanervaError(
            "--out",
            expected="a folder without checkpoints",
            got=f"'{folder}', where a run has begun",
            fix="Add --resume to go on with it, or name another folder with --out.",
        )
    left = [name for name in ("config.json", "metrics.jsonl") if (folder / name).exists()]
    if left and not begun and not resume:
        raise KanervaError(
            "--out",
            expected="a new folder",
            got=f"'{folder}', which has {' and '.join(left)} but no checkpoint",
            fix="Take them away, or name another folder with --out.",
        )
    if resume and not begun:
        raise KanervaError(
            "--resume",
            expected="a folder with a checkpoint",
            got=f"'{folder}', which has none",
            fix="Leave --resume out to start, in a folder of its own.",
        )
