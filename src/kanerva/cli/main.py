"""Entry point of the `kanerva` command.

Neither this module nor what it imports to answer `--help` loads torch.
"""

import os
import signal
import sys
from collections.abc import Callable, Sequence

from kanerva.cli.memory_errors import not_enough_memory
from kanerva.cli.terminal import STDOUT, open_stdout, say, silence
from kanerva.training.interrupt import Stopped


def main(args: Sequence[str] | None = None) -> None:
    """Run a command. A mistake of the user gives one line on stderr and exit code 2."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave)  # while loading there is nothing to save
    open_stdout()
    if sys.stderr is None:  # closed by the caller
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    from kanerva.cli.commands import parse
    from kanerva.errors import KanervaError

    try:
        try:
            command = parse(sys.argv[1:] if args is None else args)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # `--help | head`
        silence(sys.stdout)
        sys.exit(0)
    except OSError as error:  # `--help` on a full disk
        silence(sys.stdout)
        say(f"kanerva: {_in_words(error)}")
        sys.exit(2)
    try:
        os.getcwd()
    except OSError:  # importing torch would end the process, with a message of another library
        say("kanerva: the present folder does not exist any more. Change to another one with cd.")
        sys.exit(2)
    import torch  # noqa: F401  every command needs it; importing it swallows interrupts

    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(_run(command, KanervaError))


def _run(command: Callable[[], None], mistake: type[Exception]) -> int:
    try:
        command()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output went away
        silence(sys.stdout)
    except (mistake, OSError, MemoryError, RuntimeError) as error:
        text = str(error) if isinstance(error, mistake) else _in_words(error)
        if text is None:
            raise
        say(f"kanerva: {text}")
        try:
            sys.stdout.flush()
        except OSError:  # that was the error
            silence(sys.stdout)
        return 2
    except KeyboardInterrupt as stop:
        text, number = "stopped", signal.SIGINT
        if isinstance(stop, Stopped):
            text, number = stop.text, stop.number
        if text:
            say(f"kanerva: {text}")
        return 128 + number
    return 0


def _in_words(error: Exception) -> str | None:
    """One line about an error of the system; None for an error that is a mistake of ours."""
    if not isinstance(error, OSError):
        return not_enough_memory(error)
    if error.filename == STDOUT:
        return f"{STDOUT}: {error.strerror}; what the command printed is lost"
    return str(error)


def _leave(signal_number: int, frame: object) -> None:
    os.write(2, b"kanerva: stopped\n")
    os._exit(130)


if __name__ == "__main__":
    main()
