"""Compiles the steps of a plan's runs ahead of time, one process for each shape of a model.

Compiling is the work of one CPU core. A plan with five shapes would wait for it five times. The
compiled code is found again through the compiler's cache on disk (TORCHINDUCTOR_CACHE_DIR).
"""

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

import torch

from kanerva.errors import KanervaError
from kanerva.training.config import Config
from kanerva.training.parallel import Parallel
from kanerva.training.plan import Plan, RunId
from kanerva.training.prepare import load_split, new_training
from kanerva.training.sweep import Display


def precompile(
    plan: Plan, *, device: torch.device, display: Display, data_folder: Path | None = None
) -> None:
    """Compile every shape of the plan, all at the same time."""
    shapes = compiled_shapes(plan)
    if not shapes:
        raise KanervaError(
            "--precompile",
            expected="a plan with compiled runs",
            got="none: on a CPU steps are not compiled unless a run asks for it",
            fix='Leave it out, or add "training.compile": true to the changes of a run.',
        )
    # Processes that are forked from one with CUDA cannot use CUDA.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=len(shapes), mp_context=spawn) as pool:
        jobs = {
            pool.submit(_compile, config, str(device), data_folder): id
            for config, id in shapes.items()
        }
        for job in as_completed(jobs):
            display.say(f"{jobs[job]}: compiled in {job.result():.0f} s")


def compiled_shapes(plan: Plan) -> dict[Config, RunId]:
    """Configs that compile to different code, each with the first run that needs it.

    Settings that compiled code does not depend on have the same value in all of them.
    """
    shapes: dict[Config, RunId] = {}
    for run in plan.runs:
        if run.config.training.compile:
            same = replace(
                run.config.training,
                **{"lr": 1.0, "steps": 1, "seed": 0, "warmup": 0, "kl_warmup": 0, "decay": 1.0},
                **{"eval_every": 1, "eval_episodes": 1, "checkpoint_every": 1},
                search_convolutions=False,
            )
            shapes.setdefault(replace(run.config, training=same), run.id)
    return shapes


def _compile(config: Config, device: str, data_folder: Path | None) -> float:
    """Make one step in this process; returns the seconds it took."""
    start = time.perf_counter()
    where = torch.device(device)
    train_set = load_split(config, config.data.split, device=where, data_folder=data_folder)
    new_training(config, train_set, parallel=Parallel(where)).run(1)
    return time.perf_counter() - start
