"""Ctrl-C, SIGTERM and SIGHUP wait until a training step is complete."""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, a polite kill, and a terminal that is closed."""
SAME_S = 1.0
"""Signals within this many seconds count as one: a shell and its terminal may both send SIGHUP,
and torchrun passes on a Ctrl-C that has reached its processes already."""


class Stopped(KeyboardInterrupt):
    """A signal ended the work.

    Args:
        number: the signal; the process ends with code 128 + number.
        text: what was kept and how to continue; empty if another process says so.
        saved: whether the work was saved after the signal.

    """

    def __init__(self, number: int, text: str = "stopped", *, saved: bool = False) -> None:
        super().__init__(text)
        self.number = number
        self.text = text
        self.saved = saved


class Interrupt:
    """A context in which the first signal only sets `number`; a later one stops at once.

    Without it a KeyboardInterrupt could come in the middle of a step. A checkpoint would then hold
    neither the state before that step nor the state after it. Signals that the caller told this
    process to ignore stay ignored, for example SIGHUP by `nohup`.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._time = 0.0
        self._at_once = False
        self._before: dict[int, signal.Handlers] = {}

    @property
    def pressed(self) -> bool:
        """Whether a signal came."""
        return self.number is not None

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                before = signal.getsignal(number)
                if before not in (signal.SIG_IGN, None):
                    self._before[number] = before  # pyright: ignore[reportArgumentType]
                    signal.signal(number, self._press)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """While the work is saved and something takes long: the first signal does not wait."""
        self._at_once = True
        try:
            yield
        finally:
            self._at_once = False

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self._at_once:
            raise Stopped(number, saved=True)
        if self.number is None:
            self.number, self._time = number, time.monotonic()
        elif time.monotonic() - self._time > SAME_S:
            raise Stopped(number)
