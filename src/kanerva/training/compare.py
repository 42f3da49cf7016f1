"""Memories side by side: the same model, data and steps around each, at K x C numbers."""

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from kanerva.evaluation.capacity import measure_capacity
from kanerva.evaluation.evaluate import evaluate, ignorance
from kanerva.training.config import Config
from kanerva.training.parallel import Parallel
from kanerva.training.recipes import as_rival
from kanerva.training.run import Report, Run

CONTENDERS: dict[str, str] = {
    "Kanerva Machine": "kanerva",
    "DNC": "dnc",
    "LRUA": "lrua",
    "Dynamic Kanerva Machine": "dynamic",
}
FAILED = 1.25
"""A seed that ends this many times above the best of its memory counts as failed; so does one that
ends above what it costs to know only how often each pixel is ink."""


def contest(
    recipe: Config,
    *,
    seeds: int,
    out: Path,
    data: Path | None,
    device: str | None,
    episodes: int,
    watch: Callable[[str, Run], Report],
) -> dict[str, Any]:
    """Train each memory from every seed, or go on where a run stopped, and measure all.

    What is done is kept in folders under `out`, one for each run.
    """
    runs, capacity, knows_nothing = {}, {}, math.inf
    for name, kind in CONTENDERS.items():
        for seed in range(seeds):
            title = f"{name} seed {seed}"
            config = as_rival(recipe, kind)
            training = dataclasses.replace(config.training, seed=seed)
            config = dataclasses.replace(config, training=training)
            folder = out / title.lower().replace(" ", "-")
            run = Run(config, folder, data=data, parallel=Parallel.from_environment(device))
            if any(folder.glob("checkpoint-*.safetensors")):
                run.resume()
            else:
                run.start(name)
            if run.done < training.steps:
                run.go(watch(title, run))
            runs[title] = _measure(run, episodes)
            if config.model.likelihood == "bernoulli":
                knows_nothing = ignorance(run.monitor_set)
            if seed == 0:
                capacity[name] = measure_capacity(
                    run.model, run.monitor_set, episodes=max(episodes // 10, 4)
                )
    return {"runs": runs, "capacity": capacity, "ignorance": knows_nothing}


def _measure(run: Run, episodes: int) -> dict[str, Any]:
    """What is kept of a finished run."""
    length = run.config.data.episode_length
    final = evaluate(run.model, run.monitor_set, episodes=episodes, episode_length=length)
    rows = (run.folder / "metrics.jsonl").read_text().splitlines()
    return {
        "config": dataclasses.asdict(run.config),
        "final": final._asdict(),
        "curve": [json.loads(row) for row in rows],
        "parameters": sum(parameter.numel() for parameter in run.model.parameters()),
        "ms_per_step": 1e3 * run.seconds / run.done,
        "device": torch.cuda.get_device_name() if run.device.type == "cuda" else "cpu",
    }


def summary(runs: dict[str, dict[str, Any]], knows_nothing: float) -> list[dict[str, Any]]:
    """One row for each memory: its best seed, all of them, and how many failed."""
    rows = []
    for name in dict.fromkeys(title.split(" seed")[0] for title in runs):
        own = [run for title, run in runs.items() if title.split(" seed")[0] == name]
        bounds = [run["final"]["bound"] for run in own]
        finite = [bound for bound in bounds if math.isfinite(bound)]
        best = min(finite, default=math.nan)
        most = min(FAILED * best, knows_nothing)
        first = own[0]
        rows.append(
            {
                "memory": name,
                "best": best,
                "bounds": bounds,
                "failed": sum(not bound < most for bound in bounds),
                "memory_kl_per_item": first["final"]["memory_kl_per_item"],
                "ms_per_step": first.get("ms_per_step"),
                "parameters": first.get("parameters"),
            }
        )
    return rows
