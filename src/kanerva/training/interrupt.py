"""Ctrl-C waits until a training step is complete."""

import signal
import threading
from types import FrameType


class Interrupt:
    """A context in which the first Ctrl-C only sets `pressed`; a second one stops at once.

    Without it a KeyboardInterrupt could come in the middle of a step. A checkpoint would then hold
    neither the state before that step nor the state after it.
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
