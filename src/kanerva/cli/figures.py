"""`kanerva figures`: the paper's figures from saved results, as files and as one page."""

import json as jsonlib
from pathlib import Path


def figures(
    *, results: Path = Path("results"), out: Path = Path("runs/figures"), json: bool = False
) -> None:
    """Draw the figures of the paper from saved results: PNG, SVG, JSON, and one HTML page.

    Args:
        results: folder with the JSON files of kanerva sweep, kanerva compare and experiments/.
        out: folder for the figures.
        json: print one JSON object and nothing else.

    """
    from kanerva.errors import KanervaError

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
    from kanerva.figures.page import make_figures

    made = make_figures(results, out)
    if json:
        report = {"made": made.names, "missing": made.missing, "page": str(made.page)}
        print(jsonlib.dumps(report))
        return
    for name, what in made.missing.items():
        print(f"left out {name}: no {what}")
    print(f"{len(made.names)} figures; page: {made.page}")
