"""A few statements that Ctrl-C does not separate: what was written, and the note that it was."""

import contextlib
import signal
import threading
from collections.abc import Iterator

SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let signals that raise an exception here, as Ctrl-C does, wait for the end of the block."""
    if threading.current_thread() is not threading.main_thread():  # nothing is raised in others
        yield
        return
    waiting: list[int] = []
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    raising = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in raising:
        signal.signal(number, lambda number, _: waiting.append(number))
    try:
        yield
    finally:
        for number, handler in raising.items():
            signal.signal(number, handler)
    for number in waiting:
        signal.raise_signal(number)
