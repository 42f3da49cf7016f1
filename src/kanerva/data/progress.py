"""A progress bar on stderr for what takes more than a moment."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")


@contextmanager
def progress_bar(
    description: str, *, total: int | None, show: bool, done: int = 0, in_bytes: bool = False
) -> Iterator[Callable[[int], None]]:
    """A bar that goes away at the end, however that comes; silent where nobody is looking.

    What it gives is called with how much more is done.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    count = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), count, TimeRemainingColumn())
    off = not (show and console.is_terminal)
    with Progress(*columns, console=console, transient=True, disable=off) as progress:
        task = progress.add_task(description, total=total, completed=done)
        yield lambda more: progress.advance(task, more)


@contextmanager
def tracked(
    items: Iterable[Item], *, total: int | None, description: str, show: bool
) -> Iterator[Iterator[Item]]:
    """The items, counted by a bar."""

    def counted() -> Iterator[Item]:
        for item in items:
            yield item
            advance(1)

    with progress_bar(description, total=total, show=show) as advance:
        yield counted()
