"""`kanerva compare`: the Kanerva Machine against DNC, LRUA and its own successor."""

import dataclasses
import json as jsonlib
from pathlib import Path
from typing import Any

from kanerva.cli.options import check_positive, choose_device, in_json
from kanerva.errors import KanervaError
from kanerva.training.recipes import RECIPES


def compare(
    *,
    recipe: str = "tiny",
    seeds: int = 1,
    steps: int | None = None,
    episodes: int = 200,
    out: Path = Path("runs/compare"),
    data: Path | None = None,
    device: str | None = None,
    json: bool = False,
) -> None:
    """Train memories of the same size in the same model, and measure what each holds.

    z comes from the memory alone, so that nothing makes up for it. Runs that are finished in --out
    are not trained again; stopped ones go on. Writes compare.json there, from which
    `kanerva figures --results OUT` draws the two panels of the paper's fig. capacity.

    Args:
        recipe: the experiment around the memories: tiny, glyphs, omniglot or cifar10.
        seeds: runs of each memory.
        steps: of each run; by default the recipe's.
        episodes: of each final measurement; a tenth of them for each point of the capacity curves.
        out: folder of the runs.
        data: folder with the archives; by default KANERVA_DATA, else ./data.
        device: cpu or cuda; by default a GPU where there is one.
        json: print one JSON object and nothing else.

    """
    for option, value in (("--seeds", seeds), ("--steps", steps), ("--episodes", episodes)):
        if value is not None:
            check_positive(option, value)
    if recipe not in RECIPES or RECIPES[recipe].model.kind != "kanerva":
        raise KanervaError(
            "--recipe",
            expected="an experiment of the Kanerva Machine: tiny, glyphs, omniglot or cifar10",
            got=f"'{recipe}'",
            fix="Leave it out for tiny, which takes a quarter of an hour on a CPU.",
        )
    from kanerva.atomic import write_atomically
    from kanerva.cli.show import TrainingDisplay
    from kanerva.training.compare import contest, summary

    config = RECIPES[recipe]
    steps_each = steps or config.training.steps
    training = dataclasses.replace(
        config.training, steps=steps_each, eval_every=max(steps_each // 12, 1)
    )
    displays: list[TrainingDisplay] = []

    def watch(title: str, run: Any) -> Any:
        for display in displays:
            display.__exit__()
        displays[:] = [TrainingDisplay(run, quiet=json, tensorboard=False)]
        displays[0].console.print(title)
        return displays[0].__enter__().row

    try:
        results = contest(
            dataclasses.replace(config, training=training),
            seeds=seeds,
            out=out,
            data=data,
            device=choose_device(device),
            episodes=episodes,
            watch=watch,
        )
    finally:
        for display in displays:
            display.__exit__()
    rows = summary(results["runs"], results["ignorance"])
    command = f"kanerva compare --recipe {recipe} --seeds {seeds} --episodes {episodes}"
    command += f" --steps {steps}" if steps else ""
    report = {"command": command, "summary": rows, **results}
    write_atomically(out / "compare.json", jsonlib.dumps(in_json(report)).encode())
    if json:
        print(jsonlib.dumps(in_json({"summary": rows, "capacity": results["capacity"]})))
        return
    _print_table(rows)
    print(f"all numbers: {out / 'compare.json'}; figures: kanerva figures --results {out}")


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("memory", "best nats", "all seeds", "failed", "memory KL", "ms", "parameters")
    for row in rows:
        cost = row["memory_kl_per_item"]
        table.add_row(
            row["memory"],
            f"{row['best']:.1f}",
            ", ".join(f"{bound:.1f}" for bound in row["bounds"]),
            str(row["failed"]),
            "none" if cost is None else f"{cost:.0f}",
            f"{row['ms_per_step']:.1f}",
            f"{row['parameters']:,}",
        )
    Console().print(table)
