"""Curves and rows of images with matplotlib, in one quiet style."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, ScalarFormatter

INK = ("#1f5fa8", "#c4572b", "#3d7f5f", "#8a5aa5")
"""One colour for each kind of run: readable in print and by the colour-blind."""


def curves(
    groups: dict[str, list[tuple[list[float], list[float]]]],
    *,
    x: str,
    y: str,
    limits: tuple[float, float] | None = None,
    level: tuple[float, str] | None = None,
) -> Figure:
    """Lines of several runs, one colour for each group; `level` is a dashed line with its name."""
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.add_subplot()
    for colour, (name, lines) in zip(INK, groups.items(), strict=False):
        for number, (xs, ys) in enumerate(lines):
            label = f"{name} ({len(lines)} seeds)" if len(lines) > 1 else name
            axes.plot(xs, ys, color=colour, lw=1.3, label=label if number == 0 else None)
    if level is not None:
        axes.axhline(level[0], color="#777777", lw=1, ls="--", label=level[1])
    if limits is not None:
        axes.set_ylim(*limits)
    axes.set(xlabel=x, ylabel=y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    return figure


def lines_with_errors(
    groups: dict[str, tuple[list[float], list[float], list[float]]],
    *,
    x: str,
    y: str,
    log: bool = False,
) -> Figure:
    """Means with their standard errors, (xs, means, errors) each; what follows a comma in a name
    is told by the stroke, what stands before it by the colour.
    """
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.add_subplot()
    firsts = list(dict.fromkeys(name.split(",")[0] for name in groups))
    seconds = list(dict.fromkeys(name.split(",")[-1] for name in groups))
    for name in sorted(groups, key=lambda name: firsts.index(name.split(",")[0])):
        xs, means, errors = groups[name]
        colour = INK[firsts.index(name.split(",")[0])]
        stroke = ("-", "--", ":")[seconds.index(name.split(",")[-1])]
        axes.errorbar(xs, means, errors, label=name, color=colour, ls=stroke, lw=1.3, capsize=3)
    axes.set(xlabel=x, ylabel=y)
    if log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(ScalarFormatter())
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.set_ylim(0, None)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    figure.legend(frameon=False, loc="outside lower center", ncols=max(len(firsts), 2))
    return figure


def rows(named: dict[str, np.ndarray], *, weights: list[list[float]] | None = None) -> Figure:
    """Rows of images (N, channels, H, W) with a word before each; below them, weights as bars."""
    columns = max(len(row) for row in named.values())
    lines = len(named) + (weights is not None)
    figure = Figure(figsize=(0.75 * columns + 1.1, 0.75 * lines + 0.1))
    grid = figure.add_gridspec(
        lines, columns, left=1.05 / (0.75 * columns + 1.1), right=0.995, top=0.98, bottom=0.03,
        wspace=0.06, hspace=0.06,
    )  # fmt: skip
    for line, (label, row) in enumerate(named.items()):
        for column, image in enumerate(row):
            axes = figure.add_subplot(grid[line, column])
            _show(axes, image)
            if column == 0:
                axes.set_ylabel(label, rotation=0, ha="right", va="center", fontsize=9)
    for column, values in enumerate(weights or []):
        axes = figure.add_subplot(grid[-1, column])
        axes.bar(range(len(values)), values, width=1.0, color=INK[0])
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_color("#cccccc")
        if column == 0:
            axes.set_ylabel("weights", rotation=0, ha="right", va="center", fontsize=9)
    return figure


def _show(axes: Any, image: np.ndarray) -> None:
    """Ink is dark on paper; colours are themselves."""
    if len(image) == 1:
        axes.imshow(1 - image[0], cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    else:
        axes.imshow(image.transpose(1, 2, 0), interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_color("#cccccc")
