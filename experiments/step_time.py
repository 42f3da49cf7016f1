"""How long one training step of a recipe takes, compiled and captured as one CUDA graph.

    python experiments/step_time.py omniglot-fewshot --change model.num_filters 64

The median of 20 measurements of 50 steps each, on the GPU if there is one. A process that uses the
same GPU disturbs it. On a CPU the times are only good for trying this program. `--inductor NAME
VALUE` sets an option of torch._inductor.config, to find out what the compiler leaves on the table.
"""

import argparse
import json
import statistics
import time

import torch
import torch._inductor.config

from kanerva.training.changes import with_changes
from kanerva.training.config import Config
from kanerva.training.parallel import Parallel
from kanerva.training.prepare import load_split, new_training
from kanerva.training.recipes import RECIPES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe", choices=RECIPES)
    parser.add_argument("--change", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"))
    parser.add_argument(
        "--inductor", nargs=2, action="append", default=[], metavar=("NAME", "VALUE")
    )
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    changes = {name: json.loads(value) for name, value in options.change}
    if device.type == "cuda":
        changes = {"training.compile": True, "training.compile_from": 0, **changes}
    tuned = {name: json.loads(value) for name, value in options.inductor}
    for name, value in tuned.items():
        setattr(torch._inductor.config, name, value)
    config = with_changes(RECIPES[options.recipe], changes)
    times = measure(config, device=device, steps=options.steps, rounds=options.rounds)
    print(
        f"{options.recipe} {json.dumps({**changes, **tuned})}: {statistics.median(times):.3f} ms "
        f"for a step (median of {len(times)}; {min(times):.3f} to {max(times):.3f})"
    )


def measure(config: Config, *, device: torch.device, steps: int, rounds: int) -> list[float]:
    """Milliseconds for a step, in each round of this many steps."""
    train_set = load_split(config, config.data.split, device=device)
    training = new_training(config, train_set, parallel=Parallel(device))
    training.run(10)
    times = []
    for _ in range(rounds):
        training.synchronise()
        start = time.perf_counter()
        training.run(steps)
        training.synchronise()
        times.append((time.perf_counter() - start) / steps * 1e3)
    return times


if __name__ == "__main__":
    main()
