"""All figures as files, and as one HTML page that needs no other file."""

import base64
import html
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure
from PIL import Image

from kanerva.atomic import write_atomically
from kanerva.errors import KanervaError
from kanerva.figures.captions import captioned
from kanerva.figures.catalogue import CATALOGUE, Entry
from kanerva.figures.drawings import Drawn
from kanerva.figures.results import MissingResultError, Results
from kanerva.json_values import in_json
from kanerva.rendering.image_grid import png, svg

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; margin: 0 auto; max-width: 60rem;
       padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .3rem; }
figure { margin: 0; overflow-x: auto; } img { max-width: 100%; height: auto; }
dl { display: grid; grid-template-columns: 6rem 1fr; gap: .2rem 1rem; margin: .4rem 0; }
dt { color: #666; } dd { margin: 0; }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; } dt { font-size: .85rem; } }
"""


class Made(NamedTuple):
    """The figures that were made, and what is missing for the others."""

    names: list[str]
    missing: dict[str, str]
    """For each figure that was left out, the file or the part of it that is not there."""
    page: Path


def make_figures(
    results: Path, out: Path, *, on_figure: Callable[[int, str], None] | None = None
) -> Made:
    """Write PNG, SVG and JSON of every figure whose results are there, and index.html.

    Args:
        results: folder with the files of results.
        out: folder for the figures. Files with the names of figures are replaced.
        on_figure: called before each figure with its number, from 1, and its name.

    """
    found = Results.load(results)
    drawn: dict[str, dict[str, bytes]] = {}
    missing: dict[str, str] = {}
    parts: list[str] = []
    for number, entry in enumerate(CATALOGUE, 1):
        if on_figure is not None:
            on_figure(number, entry.name)
        try:
            figure = entry.draw(found)
            picture = captioned(figure.figure, entry.title, figure.verdict)
            files = {suffix: _encode(picture, suffix) for suffix in ("png", "svg")}
        except MissingResultError as error:
            missing[entry.name] = str(error)
            continue
        except KanervaError:
            raise
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise _not_drawable(entry.name, results, error) from None
        files["json"] = json.dumps(in_json(figure.data)).encode()
        drawn[entry.name] = files
        parts.append(_section(entry, figure, files["png"]))
    if not drawn:
        raise KanervaError(
            "--results",
            expected="results of at least one figure",
            got=f"'{results}', which has no {', no '.join(sorted(set(missing.values())))}",
            fix="Name the folder of a comparison, or see docs/how-to/figures.md.",
        )
    for name, files in drawn.items():
        for suffix, contents in files.items():
            write_atomically(out / f"{name}.{suffix}", contents)
    page = out / "index.html"
    write_atomically(page, _page(parts, missing).encode())
    return Made(list(drawn), missing, page)


def possible_files(out: Path) -> list[Path]:
    """All files that `make_figures` may write in a folder."""
    names = [f"{entry.name}.{end}" for entry in CATALOGUE for end in ("png", "svg", "json")]
    return [out / name for name in ("index.html", *names)]


def _not_drawable(name: str, results: Path, error: Exception) -> KanervaError:
    """The error for numbers that do not fit together, which matplotlib or Pillow notices."""
    return KanervaError(
        "--results",
        expected=f"results that fit together, to draw {name}",
        got=f"{type(error).__name__} ({' '.join(str(error).split())[:150]}) in '{results}'",
        fix="Make the results again, or move them out of the folder.",
    )


def _encode(figure: Figure | Image.Image, suffix: str) -> bytes:
    if isinstance(figure, Image.Image):
        return png(figure) if suffix == "png" else svg(figure)
    stream = io.BytesIO()
    no_date = {"Date": None} if suffix == "svg" else {}
    figure.savefig(stream, format=suffix, dpi=150, metadata=no_date)
    return stream.getvalue()


def _section(entry: Entry, drawn: Drawn, picture: bytes) -> str:
    image = base64.b64encode(picture).decode()
    texts = (entry.title, entry.paper, drawn.ours, drawn.verdict)
    title, paper, ours, verdict = (html.escape(text) for text in texts)
    return (
        f'<h2 id="{entry.name}">{title}</h2>\n'
        f'<figure><img alt="{title}" src="data:image/png;base64,{image}"></figure>\n'
        f"<dl><dt>the paper</dt><dd>{paper}</dd><dt>here</dt><dd>{ours}</dd>"
        f"<dt>verdict</dt><dd>{verdict}</dd></dl>\n"
    )


def _page(parts: list[str], missing: dict[str, str]) -> str:
    left_out = "".join(
        f"<li>{html.escape(name)}: no {html.escape(what)}</li>" for name, what in missing.items()
    )
    note = f"<h2>Not made</h2><ul>{left_out}</ul>" if missing else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>The Kanerva Machine: figures</title><style>{STYLE}</style></head><body>\n"
        "<h1>The Kanerva Machine: the paper's figures, made again</h1>\n"
        f"{''.join(parts)}{note}</body></html>\n"
    )
