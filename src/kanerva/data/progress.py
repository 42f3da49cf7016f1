"""A progress bar on stderr for work that takes more than a moment."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")


@contextmanager
def progress_bar(
    description: str, *, total: int | None, show: bool, done: int = 0, in_bytes: bool = False
) -> Iterator[Callable[[int], None]]:
    """Show a bar while the block runs, if stderr is a terminal. It disappears at the end.

    The block gets a function to call with how much more is done.
    """
    if not show:
        yield lambda more: None
        return
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
    off = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=off) as progress:
        task = progress.add_task(description, total=total, completed=done)
        yield lambda more: progress.advance(task, more)


@contextmanager
def tracked(
    items: Iterable[Item], *, total: int | None, description: str, show: bool
) -> Iterator[Iterator[Item]]:
    """Give the block the same items, and count them on a progress bar as it takes them."""

    def counted() -> Iterator[Item]:
        for item in items:
            yield item
            advance(1)

    with progress_bar(description, total=total, show=show) as advance:
        yield counted()
