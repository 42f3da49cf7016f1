"""Train the runs of a plan together on one GPU; keep curves, final numbers and models.

    PYTHONPATH=experiments python experiments/runs.py experiments/plans/omniglot.json OUT

A plan names its runs, and for each what differs from a recipe. Choices are made with plans that fit
without the validation images and look at those ("split": "fit", "monitor": "valid"). With "report",
the final numbers are of another split, and the best by the monitored one are named in "best".
"""

import argparse
import json
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from together import Run, train_together

from kanerva.data import Dataset, load_dataset
from kanerva.evaluation.capacity import measure_capacity
from kanerva.evaluation.evaluate import evaluate
from kanerva.models.checkpoint import save_model
from kanerva.training.config import Config
from kanerva.training.recipes import RECIPES

PAPER = 68.3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("plan", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--limit", type=float, default=480, help="seconds of training at most")
    parser.add_argument("--episodes", type=int, default=1000, help="of the final measurement")
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--steps", type=int, default=None, help="fewer steps, to try it out")
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    plan, configs = read_plan(options.plan, compiled=device.type == "cuda", steps=options.steps)
    name = next(iter(configs.values())).data.name
    plan.setdefault("report", plan["monitor"])
    train, held_out, report = (
        load_dataset(name, plan[key], data_folder=options.data, show_progress=False).to(device)
        for key in ("split", "monitor", "report")
    )
    begin = time.perf_counter()
    runs = []
    for name, config in configs.items():
        runs.append(Run(name, config, train, device))
        runs[-1].advance(4)
        print(f"{name}: ready after {time.perf_counter() - begin:.0f} s", flush=True)
    results: dict[str, Any] = {
        "what": plan["what"],
        "command": " ".join(
            ["python", *("OUT" if Path(a) == options.out else a for a in sys.argv)]
        ),
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "torch": torch.__version__,
        "split": plan["split"],
        "monitor": plan["monitor"],
        "report": plan["report"],
        "binarisation": train.binarisation,
        "encoding": train.encoding,
        "runs_together": len(runs),
        "ms_per_step_alone": {
            name: alone(Run(name, configs[name], train, device), device) for name in plan["alone"]
        },
    }
    print("alone:", results["ms_per_step_alone"], flush=True)
    if plan.get("race"):
        results["race"] = race(configs[plan["race"]], train, held_out, device)
        print("race:", results["race"], flush=True)
    looks = plan.get("looks", 24)
    train_together(runs, held_out, num_looks=looks, episodes=100, limit_s=options.limit)
    results["best"] = best(runs, plan) if plan["report"] != plan["monitor"] else {}
    plan["keep"] |= {run: recipe for recipe, run in results["best"].items()}
    results["runs"] = {}
    for run in runs:
        final = evaluate(run.model, report, episodes=options.episodes)
        results["runs"][run.name] = {
            "config": asdict(run.config),
            "final": final._asdict(),
            "curve": run.curve,
            "parameters": sum(parameter.numel() for parameter in run.model.parameters()),
            "ms_per_step": results["ms_per_step_alone"].get(run.name),
        }
        print(f"{run.name}: {final.bound:.3f} +- {final.stderr:.3f}", flush=True)
        if run.name in plan["keep"]:
            path = options.out / f"{plan['keep'][run.name]}.safetensors"
            save_model(path, run.model, card(run, train, results, plan))
    save_results(results, options)
    results["capacity"] = {
        run.name.split(" seed")[0]: measure_capacity(run.model, report, episodes=100)
        for run in runs
        if run.name in plan.get("capacity", [])
    }
    save_results(results, options)


def save_results(results: dict[str, Any], options: argparse.Namespace) -> None:
    (options.out / f"{options.plan.stem}.json").write_text(json.dumps(results))


def read_plan(
    path: Path, *, compiled: bool, steps: int | None = None
) -> tuple[dict[str, Any], dict[str, Config]]:
    """A plan, and the config of each of its runs."""
    plan = json.loads(path.read_text())
    here: dict[str, Any] = {
        "training.compile": compiled,
        "data.split": plan["split"],
        "data.monitor": plan["monitor"],
    }
    if steps:
        here["training.steps"] = steps
    configs = {}
    for name, changes in plan["runs"].items():
        differs = {key: value for key, value in changes.items() if key != "recipe"}
        configs[name] = changed(RECIPES[changes["recipe"]], {**differs, **here})
    return plan, configs


def changed(config: Config, changes: dict[str, Any]) -> Config:
    """A config with fields like `training.lr` replaced."""
    for path, value in changes.items():
        part, field = path.split(".")
        config = replace(config, **{part: replace(getattr(config, part), **{field: value})})
    return config


def best(runs: list[Run], plan: dict[str, Any]) -> dict[str, str]:
    """For each recipe, the run whose last look at the monitored split was best."""
    worst_first = sorted(runs, key=lambda run: -run.curve[-1]["held_out"]["bound"])
    return {plan["runs"][run.name]["recipe"]: run.name for run in worst_first}


def alone(run: Run, device: torch.device) -> float:
    """Milliseconds a step with the GPU to itself."""
    num = 300 if device.type == "cuda" else 2
    run.advance(num)
    times = []
    for _ in range(3):
        synchronise(device)
        start = time.perf_counter()
        run.advance(num)
        synchronise(device)
        times.append((time.perf_counter() - start) / num * 1e3)
    return sorted(times)[1]


def race(config: Config, train: Dataset, test: Dataset, device: torch.device) -> dict[str, Any]:
    """Seconds of training, alone, until 100 test episodes are below the paper's number.

    Building and compiling come before the clock starts, looking at the test split stops it.
    """
    run = Run("race", config, train, device)
    run.advance(4)
    seconds, bound = 0.0, float("inf")
    while run.done < config.training.steps:
        synchronise(device)
        start = time.perf_counter()
        run.advance(100)
        synchronise(device)
        seconds += time.perf_counter() - start
        bound = evaluate(run.model, test, episodes=100).bound
        if bound < PAPER:
            break
    return {"below": PAPER, "bound": bound, "steps": run.done, "seconds": seconds}


def synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def card(run: Run, train: Dataset, results: dict[str, Any], plan: dict[str, Any]) -> dict[str, Any]:
    """What a reader of the numbers must know."""
    final = results["runs"][run.name]["final"]
    return {
        "recipe": plan["keep"][run.name],
        "command": f"kanerva train {plan['keep'][run.name]} --training.compile",
        "trained_by": results["command"],
        "dataset": train.name,
        "encoding": train.encoding,
        "binarisation": train.binarisation,
        "trained_on": f"{plan['split']} ({len(train)} images)",
        "episode_length": run.config.data.episode_length,
        "steps": run.done,
        "seconds": run.curve[-1]["seconds"],
        "runs_together": results["runs_together"],
        "device": results["device"],
        "seed": run.config.training.seed,
        f"{plan['report']}_bound": final["bound"],
        f"{plan['report']}_stderr": final["stderr"],
        "memory_kl_per_item": final["memory_kl_per_item"],
    }


if __name__ == "__main__":
    main()
