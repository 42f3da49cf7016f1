"""Recall of a model under every damage, next to the nearest stored image and a Hopfield network.

    python experiments/recall.py results/recall_damages.json --model handwriting --split valid

Validation drawers are for choices; use `--split test` once, for a report.
"""

import argparse
import json
from pathlib import Path

from kanerva.atomic import write_atomically
from kanerva.data import load_dataset
from kanerva.data.damage import DAMAGES
from kanerva.evaluation.denoise import measure_denoising
from kanerva.models.checkpoint import load


def main() -> None:
    """Measure and save one row for each damage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", default="handwriting")
    parser.add_argument("--dataset", default="omniglot")
    parser.add_argument("--split", default="valid")
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--episode-length", type=int, default=32)
    parser.add_argument("--readings", type=int, default=None)
    arguments = parser.parse_args()
    model = load(arguments.model)
    dataset = load_dataset(arguments.dataset, arguments.split)
    rows = {}
    for kind in DAMAGES:
        result = measure_denoising(
            model,
            dataset,
            kind=kind,
            num_episodes=arguments.episodes,
            episode_length=arguments.episode_length,
            num_readings=arguments.readings,
        )
        rows[kind] = result._asdict()
        print(
            f"{kind:9s} cue {result.cue_error:.4f}  read {result.errors[-1]:.4f} "
            f"{result.recognised:.1%}  nearest {result.nearest_error:.4f} "
            f"{result.nearest_recognised:.1%}  confidence {result.confidence:.2f}",
            flush=True,
        )
    what = {name: value for name, value in vars(arguments).items() if name != "out"}
    report = {"what": what, "damages": rows}
    write_atomically(arguments.out, json.dumps(report, indent=1).encode() + b"\n")


if __name__ == "__main__":
    main()
