"""`kanerva sweep PLAN`: many trainings side by side on one device, and one file of results."""

import json as jsonlib
import math
from pathlib import Path
from typing import TYPE_CHECKING

from tyro.conf import Positional

if TYPE_CHECKING:
    from kanerva.training.records import RunRecord, SweepRecord


def sweep(
    plan: Positional[Path],
    *,
    out: Path | None = None,
    limit: float | None = None,
    episodes: int | None = None,
    steps: int | None = None,
    data_folder: Path | None = None,
    device: str | None = None,
    precompile: bool = False,
    json: bool = False,
) -> None:
    """Train the runs of a plan side by side on one device, and write one file of results.

    Each run has a folder under --out, with checkpoints. The same command continues a sweep that was
    stopped, and does not train finished runs again. The results are in OUT/PLAN.json.

    Args:
        plan: a JSON file; see the documentation, and experiments/plans for examples.
        out: folder of the sweep; by default runs/PLAN.
        limit: stop training after this many seconds, and measure the runs as they are.
        episodes: episodes of each final measurement; by default the plan's.
        steps: train every run for this many steps, to try a plan out.
        data_folder: folder with the archives; by default KANERVA_DATA, else ./data.
        device: cpu or cuda; by default a GPU where there is one.
        precompile: compile all shapes of models first, at the same time in several processes.
        json: print one JSON object and nothing else.

    """
    import dataclasses

    import torch

    from kanerva.checks import check_integer, check_number
    from kanerva.cli.options import choose_device
    from kanerva.cli.show import SweepDisplay
    from kanerva.json_values import in_json
    from kanerva.training.plan_file import read_plan
    from kanerva.training.precompile import precompile as compile_ahead
    from kanerva.training.sweep import run_sweep

    if limit is not None:
        check_number("--limit", limit, above=0, fix="It is in seconds: 480, for example.")
    if episodes is not None:
        check_integer("--episodes", episodes, fix="Use 1000 for numbers to report.")
    if steps is not None:
        check_integer("--steps", steps, fix="Use 20 to try a plan out.")
    where = torch.device(choose_device(device))
    parsed = read_plan(plan, compiled=where.type == "cuda", steps=steps)
    if episodes is not None:
        parsed = dataclasses.replace(parsed, episodes=episodes)
    with SweepDisplay(parsed, quiet=json) as display:
        if precompile:
            compile_ahead(parsed, device=where, display=display, data_folder=data_folder)
        result = run_sweep(
            parsed,
            out or Path("runs") / plan.stem,
            name=plan.stem,
            command=_command(plan, limit=limit, episodes=episodes, steps=steps),
            display=display,
            device=where,
            data_folder=data_folder,
            limit_s=limit or math.inf,
        )
    if json:
        report = {
            "results": str(result.path),
            "finished": result.is_finished,
            "best": result.record["best"],
            "runs": [_short(run) for run in result.record["runs"]],
        }
        print(jsonlib.dumps(in_json(report)))
        return
    _print_table(result.record)
    if not result.is_finished:
        print("the time was up before all runs ended: the same command continues them")
    print(f"all numbers: {result.path}")


def _command(plan: Path, **options: float | None) -> str:
    flags = (f" --{name} {value:g}" for name, value in options.items() if value is not None)
    return f"kanerva sweep {plan} --out OUT{''.join(flags)}"


def _short(run: "RunRecord") -> dict[str, object]:
    """A record without its config and curve."""
    return {key: value for key, value in run.items() if key not in ("config", "curve")}


def _print_table(record: "SweepRecord") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("run", "seed", "steps", f"{record['report']} nats", "memory KL", "ms per step")
    for run in record["runs"]:
        final, time_ms = run["final"], run["ms_per_step"]
        cost = final["memory_kl_per_item"]
        table.add_row(
            run["label"],
            str(run["seed"]),
            f"{run['num_steps']:,}",
            f"{final['bound']:.2f} ± {final['stderr']:.2f}",
            "none" if cost is None else f"{cost:.0f}",
            "" if time_ms is None else f"{time_ms:.2f}",
        )
    Console().print(table)
    for recipe, label in record["best"].items():
        print(f"best by {record['monitor']}, {recipe}: {label}")
