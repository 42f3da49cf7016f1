"""`kanerva figures`: the paper's figures from saved results, as files and as one page."""

import json as jsonlib
from pathlib import Path


def figures(
    *,
    results: Path = Path("results"),
    out: Path | None = None,
    overwrite: bool = False,
    json: bool = False,
) -> None:
    """Draw the figures of the paper from saved results: PNG, SVG, JSON, and one HTML page.

    Args:
        results: folder with the JSON files of kanerva sweep, kanerva compare and experiments/.
        out: folder for the figures; by default runs/figures.
        overwrite: replace files that are there already.
        json: print one JSON object and nothing else.

    """
    import os

    from kanerva.cli.outputs import check_file, check_folder
    from kanerva.errors import KanervaError, printable

    folder = out or Path("runs/figures")
    check_folder("--out", folder)
    if not list(results.glob("*.json")):
        raise KanervaError(
            "--results",
            expected="a folder with JSON files of results",
            got=f"'{results}'",
            fix="Run this in a clone of kanerva, or name a folder that kanerva sweep wrote to.",
        )
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise KanervaError(
            "matplotlib",
            expected="this package to be installed",
            got="none",
            fix="Install it: pip install 'kanerva[plots]'.",
        ) from None
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    from kanerva.figures.page import make_figures, possible_files

    files = possible_files(folder)
    for file in files:
        if os.path.lexists(file):
            check_file("--out", file, overwrite=overwrite or out is None)
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("drawing {task.description}"),
        BarColumn(),
        TextColumn("{task.completed} of {task.total}"),
        console=console,
        transient=True,
        disable=json or not console.is_terminal,
    )
    with bar:
        task = bar.add_task("", total=len(files) // 3)
        made = make_figures(
            results,
            folder,
            on_figure=lambda number, name: bar.update(task, completed=number, description=name),
        )
    if json:
        report = {"made": made.names, "missing": made.missing, "page": str(made.page)}
        print(jsonlib.dumps(report))
        return
    for name, what in made.missing.items():
        print(f"left out {name}: no {what}")
    count = "1 figure" if len(made.names) == 1 else f"{len(made.names)} figures"
    print(printable(f"{count}; page: {made.page}"))
