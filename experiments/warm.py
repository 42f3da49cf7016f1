"""Compile what the runs of a plan need, one process for each shape, into the compiler's cache.

    PYTHONPATH=experiments python experiments/warm.py experiments/plans/compare.json

Compiling is the work of one core; a plan with five shapes would otherwise wait for it five times.
Run it right before `runs.py`, with the same TORCHINDUCTOR_CACHE_DIR.
"""

import argparse
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch
from runs import read_plan
from together import Run

from kanerva.data import load_dataset
from kanerva.training.config import Config


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("plan", type=Path)
    parser.add_argument("--run", default=None, help="only this one, here")
    parser.add_argument("--data", type=Path, default=Path("data"))
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    plan, configs = read_plan(options.plan, compiled=True)
    if options.run is not None:
        compile_one(options.run, configs[options.run], plan["split"], options.data, device)
        return
    command = [sys.executable, __file__, str(options.plan), "--data", str(options.data)]
    names = {shape(config): name for name, config in configs.items()}.values()
    processes = [subprocess.Popen([*command, "--run", name]) for name in names]
    if any(process.wait() for process in processes):
        raise SystemExit("a run of the plan does not compile")


def shape(config: Config) -> Config:
    """What compiled code depends on."""
    training = replace(
        config.training, lr=1, steps=1, seed=0, warmup=0, kl_warmup=0, decay=1, eval_every=1
    )
    return replace(config, training=training)


def compile_one(name: str, config: Config, split: str, data: Path, device: torch.device) -> None:
    begin = time.perf_counter()
    train = load_dataset(config.data.name, split, data_folder=data, show_progress=False).to(device)
    Run(name, config, train, device).advance(1)
    print(f"{name}: compiled in {time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
