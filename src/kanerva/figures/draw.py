"""Curves with matplotlib, all in the same style."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, ScalarFormatter

COLOURS = ("#1f5fa8", "#c4572b", "#3d7f5f", "#8a5aa5")
"""One for each kind of run. They can be told apart in print and by colour-blind readers."""
STROKES = ("-", "--", ":", "-.")
MARKERS = ("o", "x", "+", "|")

Curve = tuple[Sequence[float], Sequence[float]]
"""Positions and values of a line."""


class ErrorCurve(NamedTuple):
    """Means with their standard errors. The colour shows the model, the stroke the setting."""

    model: str
    setting: str
    positions: Sequence[float]
    means: Sequence[float]
    stderrs: Sequence[float]

    @property
    def name(self) -> str:
        """The words of the legend."""
        return f"{self.model}, {self.setting}"


class Panel(NamedTuple):
    """One of several plots side by side."""

    y: str
    groups: Mapping[str, Sequence[Curve]]
    """For each name, one line for each seed."""
    limits: tuple[float, float] | None = None
    level: tuple[float, str] | None = None
    """The height and the name of a dashed line."""


def panels(parts: Sequence[Panel], *, x: str, log_x: bool = False) -> Figure:
    """Draw plots side by side that share their groups, with one legend below."""
    figure = Figure(figsize=(4.0 * len(parts), 3.9), layout="constrained")
    names = list(dict.fromkeys(name for part in parts for name in part.groups))
    for number, part in enumerate(parts, 1):
        axes = figure.add_subplot(1, len(parts), number)
        for name, lines in part.groups.items():
            for positions, values in lines:
                axes.plot(
                    positions, values, color=COLOURS[names.index(name) % len(COLOURS)], lw=1.2
                )
        if part.level is not None:
            axes.axhline(part.level[0], color="#777777", lw=1, ls="--")
            axes.annotate(
                part.level[1],
                (1, part.level[0]),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="bottom",
                fontsize=7,
                color="#777777",
            )
        if part.limits is not None:
            axes.set_ylim(*part.limits)
        if log_x:
            axes.set_xscale("log")
        _style(axes, x, part.y)
    seeds = {name: len(part.groups[name]) for part in parts for name in part.groups}
    handles = [
        Line2D([], [], color=COLOURS[number % len(COLOURS)], label=_with_seeds(name, seeds[name]))
        for number, name in enumerate(names)
    ]
    figure.legend(handles=handles, frameon=False, loc="outside lower center", ncols=2)
    return figure


def _with_seeds(name: str, count: int) -> str:
    return f"{name} ({count} seeds)" if count > 1 else name


def curves(
    groups: Mapping[str, Sequence[Curve]],
    *,
    x: str,
    y: str,
    limits: tuple[float, float] | None = None,
    level: tuple[float, str] | None = None,
) -> Figure:
    """Draw the lines of several runs, each group in one colour.

    Args:
        groups: for each name, one line for each seed.
        x: label of the horizontal axis.
        y: label of the vertical axis.
        limits: lowest and highest value of the vertical axis.
        level: the height and the name of a dashed line.

    """
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.add_subplot()
    for group, (name, lines) in enumerate(groups.items()):
        label = _with_seeds(name, len(lines))
        for number, (positions, values) in enumerate(lines):
            axes.plot(
                positions,
                values,
                color=COLOURS[group % len(COLOURS)],
                lw=1.3,
                label=label if number == 0 else None,
            )
    if level is not None:
        axes.axhline(level[0], color="#777777", lw=1, ls="--", label=level[1])
    if limits is not None:
        axes.set_ylim(*limits)
    _style(axes, x, y)
    axes.legend(frameon=False)
    return figure


def curves_with_errors(lines: Sequence[ErrorCurve], *, x: str, y: str, log: bool = False) -> Figure:
    """Draw means with bars for their standard errors; with `log`, on a logarithmic axis."""
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.add_subplot()
    models = list(dict.fromkeys(line.model for line in lines))
    settings = list(dict.fromkeys(line.setting for line in lines))
    for line in sorted(lines, key=lambda line: models.index(line.model)):
        axes.errorbar(
            line.positions,
            line.means,
            line.stderrs,
            label=line.name,
            color=COLOURS[models.index(line.model) % len(COLOURS)],
            ls=STROKES[settings.index(line.setting) % len(STROKES)],
            lw=1.3,
            capsize=3,
        )
    _style(axes, x, y)
    if log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(ScalarFormatter())
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.set_ylim(0, None)
    figure.legend(frameon=False, loc="outside lower center", ncols=max(len(models), 2))
    return figure


def dots(names: Sequence[str], parts: Mapping[str, Mapping[str, Sequence[float]]]) -> Figure:
    """Draw plots side by side, each with a line of dots for every name.

    Args:
        names: the names of the lines, from top to bottom.
        parts: a plot for each label of a horizontal axis. It has several kinds of dots, and of
            each kind one number for each name.

    """
    figure = Figure(figsize=(4.2 * len(parts), 1.2 + 0.28 * len(names)), layout="constrained")
    kinds = list(dict.fromkeys(kind for groups in parts.values() for kind in groups))
    for number, (x, groups) in enumerate(parts.items(), 1):
        axes = figure.add_subplot(1, len(parts), number)
        for kind, values in groups.items():
            place = kinds.index(kind)
            axes.plot(
                values,
                range(len(names)),
                MARKERS[place % len(MARKERS)],
                color=COLOURS[place % len(COLOURS)],
                alpha=0.8,
            )
        axes.set_yticks(range(len(names)), names if number == 1 else [""] * len(names))
        axes.invert_yaxis()
        axes.set_xlim(0, None)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        _style(axes, x, "")
    handles = [
        Line2D([], [], color=COLOURS[n % len(COLOURS)], marker=MARKERS[n % len(MARKERS)], ls="")
        for n in range(len(kinds))
    ]
    figure.legend(handles, kinds, frameon=False, loc="outside lower center", ncols=len(kinds))
    return figure


def _style(axes: Axes, x: str, y: str) -> None:
    axes.set(xlabel=x, ylabel=y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
