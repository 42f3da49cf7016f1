"""Saved results: files of a folder, and the runs in them."""

import json
from pathlib import Path
from typing import Any

from kanerva.errors import KanervaError

Results = dict[str, Any]
"""File names without .json, and what is in them."""


def load_results(folder: Path) -> Results:
    """Every JSON object of a folder, by the name of its file."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        try:
            found[path.stem] = json.loads(path.read_text())
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise broken(path, str(error)) from None
        if not isinstance(found[path.stem], dict):
            raise broken(path, type(found[path.stem]).__name__)
    return found


def broken(path: Path, what: str) -> KanervaError:
    """The error for results that are there but of another form."""
    return KanervaError(
        "--results",
        expected="JSON objects in its files",
        got=f"{what} in '{path}'",
        fix="Make the file again, or take it away.",
    )


def runs(results: Results, file: str, recipe: str) -> list[dict[str, Any]]:
    """The seeds of a recipe; where several settings were tried, the one that was chosen."""
    wanted = results[file].get("best", {}).get(recipe, recipe)
    found = [run for name, run in results[file]["runs"].items() if name.split(" seed")[0] == wanted]
    if not found:
        raise KeyError(f"{file}: {recipe}")
    return found


def lines(found: list[dict[str, Any]], term: str) -> list[tuple[list[float], list[float]]]:
    """Steps and held-out values of each run."""
    return [
        ([row["step"] for row in run["curve"]], [row["held_out"][term] for row in run["curve"]])
        for run in found
    ]


def finals(found: list[dict[str, Any]]) -> str:
    values = sorted(run["final"]["bound"] for run in found)
    if len(values) == 1:
        return f"{values[0]:.1f} nats"
    return f"{values[0]:.1f} to {values[-1]:.1f} nats over {len(values)} seeds"
