"""Ctrl-C, kept until a step is whole."""

import signal
import threading
from types import FrameType


class Interrupt:
    """Within it, the first Ctrl-C only sets `pressed`; a second one does not wait.

    Without it a KeyboardInterrupt could come in the middle of a step, and what is saved would be
    neither the state before it nor the one after.
    """

    def __init__(self) -> None:
        self.pressed = False
        self._before = None
        self._ours = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> "Interrupt":
        if self._ours:
            self._before = signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *_: object) -> None:
        if self._ours:
            signal.signal(signal.SIGINT, self._before)

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True
