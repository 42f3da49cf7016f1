"""`kanerva compare`: the Kanerva Machine against DNC, LRUA and the Dynamic Kanerva Machine."""

import json as jsonlib
import math
from pathlib import Path
from typing import TYPE_CHECKING

from kanerva.checks import check_integer, check_one_of
from kanerva.training.recipes import RECIPES

if TYPE_CHECKING:
    from kanerva.training.compare import SummaryRow


def compare(
    *,
    recipe: str = "tiny",
    seeds: int = 1,
    steps: int | None = None,
    episodes: int = 200,
    out: Path = Path("runs/compare"),
    data_folder: Path | None = None,
    device: str | None = None,
    json: bool = False,
) -> None:
    """Train memories of the same size in the same model, and measure what each holds.

    z comes from the memory alone, so that nothing makes up for it. Runs that are finished in --out
    are not trained again, and stopped ones continue. Writes compare.json there, from which
    `kanerva figures --results OUT` draws the two panels of the paper's fig. capacity.

    Args:
        recipe: the experiment around the memories: tiny, glyphs, omniglot or cifar10.
        seeds: runs of each memory.
        steps: steps of each run; by default the recipe's.
        episodes: episodes of each final measurement. Points of the capacity curves take a tenth.
        out: folder of the runs.
        data_folder: folder with the archives; by default KANERVA_DATA, else ./data.
        device: cpu or cuda; by default a GPU where there is one.
        json: print one JSON object and nothing else.

    """
    check_integer("--seeds", seeds, fix="Use 1 for a first look, 6 for the paper's figure.")
    check_integer("--episodes", episodes, fix="Use 200.")
    if steps is not None:
        check_integer("--steps", steps, fix="Leave it out for the recipe's steps.")
    machines = [name for name, config in RECIPES.items() if config.model.kind == "kanerva"]
    quick = "Leave it out for tiny, which takes a quarter of an hour on a CPU."
    check_one_of("--recipe", recipe, machines, fix=quick)
    import torch

    from kanerva.cli.options import choose_device
    from kanerva.cli.show import SweepDisplay
    from kanerva.evaluation.evaluate import pixel_entropy
    from kanerva.json_values import in_json
    from kanerva.training.compare import CompareRecord, compare_plan, summary
    from kanerva.training.prepare import load_split
    from kanerva.training.records import write_record
    from kanerva.training.sweep import run_sweep

    where = torch.device(choose_device(device))
    plan = compare_plan(recipe, seeds=seeds, steps=steps, episodes=episodes)
    command = f"kanerva compare --recipe {recipe} --seeds {seeds} --episodes {episodes}"
    with SweepDisplay(plan, quiet=json) as display:
        result = run_sweep(
            plan,
            out,
            name="compare",
            command=command + (f" --steps {steps}" if steps else ""),
            display=display,
            device=where,
            data_folder=data_folder,
        )
    knows_ink_only = math.inf
    if RECIPES[recipe].model.likelihood == "bernoulli":
        config = plan.runs[0].config
        dataset = load_split(config, plan.report, device=where, data_folder=data_folder)
        knows_ink_only = pixel_entropy(dataset)
    rows = summary(result.record["runs"], pixel_entropy=knows_ink_only)
    record = CompareRecord(**result.record, summary=rows, pixel_entropy=knows_ink_only)
    write_record(result.path, record)
    if json:
        report = {"summary": rows, "capacity": record["capacity"]}
        print(jsonlib.dumps(in_json(report)))
        return
    _print_table(rows)
    print(f"all numbers: {result.path}; figures: kanerva figures --results {out}")


def _print_table(rows: list["SummaryRow"]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("memory", "best nats", "all seeds", "failed", "memory KL", "ms", "parameters")
    for row in rows:
        cost, time_ms = row["memory_kl_per_item"], row["ms_per_step"]
        table.add_row(
            row["memory"],
            f"{row['best']:.1f}",
            ", ".join(f"{bound:.1f}" for bound in row["bounds"]),
            str(row["failed"]),
            "none" if cost is None else f"{cost:.0f}",
            "" if time_ms is None else f"{time_ms:.1f}",
            f"{row['num_parameters']:,}",
        )
    Console().print(table)
