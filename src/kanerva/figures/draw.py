"""Curves with matplotlib, all in the same style."""

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
