"""Entry point of the `kanerva` command.

Neither this module nor what it imports to answer `--help` loads torch.
"""

import os
import signal
import sys
from collections.abc import Callable, Sequence


def main(args: Sequence[str] | None = None) -> None:
    """Run a command. A mistake of the user gives one line on stderr and exit code 2."""
    signal.signal(signal.SIGINT, _leave)  # while loading there is nothing to save
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    from kanerva.cli.commands import parse
    from kanerva.errors import KanervaError

    try:
        try:
            command = parse(sys.argv[1:] if args is None else args)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # `--help | head`
        _silence()
        sys.exit(0)
    except OSError as error:  # `--help` on a full disk
        _silence()
        print(f"kanerva: {error}", file=sys.stderr)
        sys.exit(2)
    import torch  # noqa: F401  every command needs it; importing it swallows interrupts

    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(_run(command, KanervaError))


def _run(command: Callable[[], None], mistake: type[Exception]) -> int:
    try:
        command()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output went away
        _silence()
    except (mistake, OSError) as error:
        print(f"kanerva: {error}", file=sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:  # that was the error
            _silence()
        return 2
    except KeyboardInterrupt:
        print("kanerva: stopped", file=sys.stderr)
        return 130
    return 0


def _silence() -> None:
    """Send what is left of the output nowhere, because nobody reads it any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _leave(signal_number: int, frame: object) -> None:
    os.write(2, b"kanerva: stopped\n")
    os._exit(130)


if __name__ == "__main__":
    main()
