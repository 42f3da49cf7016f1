"""Entry point of the `kanerva` command. Nothing here, nor in what it imports, loads torch."""

import os
import sys
from collections.abc import Callable, Sequence

import tyro

from kanerva.cli.bench import bench
from kanerva.cli.demo import demo
from kanerva.errors import KanervaError

COMMANDS: dict[str, Callable[..., None]] = {"demo": demo, "bench": bench}


def main(args: Sequence[str] | None = None) -> None:
    """Run a command; a user's mistake is one line on stderr and exit code 2."""
    try:
        tyro.extras.subcommand_cli_from_dict(
            COMMANDS,
            prog="kanerva",
            description="A generative distributed memory: exact Bayesian writing, recall from "
            "damaged cues, merging and forgetting.",
            args=args,
        )
        sys.stdout.flush()
    except KanervaError as error:
        print(f"kanerva: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        print(f"kanerva: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("kanerva: stopped", file=sys.stderr)
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
