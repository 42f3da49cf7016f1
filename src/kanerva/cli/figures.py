"""`kanerva figures`: the paper's figures from saved results, as files and one page."""

import json as jsonlib
from pathlib import Path


def figures(
    *, results: Path = Path("results"), out: Path = Path("runs/figures"), json: bool = False
) -> None:
    """Draw every figure of the paper from saved results: PNG, SVG, JSON, and one HTML page.

    Args:
        results: the folder of JSON files that experiments/ and kanerva commands wrote.
        out: where the figures go.
        json: print one JSON object and nothing else.

    """
    from kanerva.errors import KanervaError

    if not list(results.glob("*.json")):
        raise KanervaError(
            "--results",
            expected="a folder with JSON files of results",
            got=f"'{results}'",
            fix="Run this in a clone of kanerva, or name its results folder.",
        )
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise KanervaError(
            "matplotlib",
            expected="to be installed",
            got="nothing",
            fix="pip install 'kanerva[plots]'",
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
