"""Learning rates of the omniglot recipe, chosen on the validation split; then one look at test.

    PYTHONPATH=experiments python experiments/choose.py OUT --steps 36000

Trains on drawers 1-13, looks at 14-15 while training, saves every model, and measures the one that
is best on the validation split on 1,000 test episodes.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import torch
from together import Run, train_together
from train_shipped import with_training

from kanerva.data import load_dataset
from kanerva.evaluation.evaluate import evaluate
from kanerva.models.checkpoint import save_model
from kanerva.training.recipes import RECIPES

CHOICES = ((3e-3, 0), (4e-3, 0), (6e-3, 0), (6e-3, 1))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=36_000)
    parser.add_argument("--limit", type=float, default=190)
    parser.add_argument("--episodes", type=int, default=1000)
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    fit, valid, test = (
        load_dataset("omniglot", split, data="data", show_progress=False).to(device)
        for split in ("fit", "valid", "test")
    )
    begin = time.perf_counter()
    runs = []
    for lr, seed in CHOICES:
        config = with_training(
            RECIPES["omniglot"],
            lr=lr,
            seed=seed,
            steps=options.steps,
            compile=device.type == "cuda",
        )
        config = replace(config, data=replace(config.data, split="fit", monitor="valid"))
        runs.append(Run(f"lr {lr:g} seed {seed}", config, fit, device))
        runs[-1].advance(min(100, options.steps // 3))
    print(f"ready after {time.perf_counter() - begin:.0f} s", flush=True)
    look = max(options.steps // 12, 1)
    train_together(runs, valid, look_every=look, episodes=100, limit_s=options.limit)
    results = {}
    for run in runs:
        final = evaluate(run.model, valid, episodes=options.episodes, seed=1)
        results[run.name] = {"valid": final._asdict(), "curve": run.curve, "steps": run.done}
        print(run.name, "valid", final.bound, flush=True)
        card = {
            "recipe": "omniglot",
            "command": f"kanerva train omniglot --training.lr {run.config.training.lr:g} "
            f"--training.steps {options.steps} --training.seed {run.config.training.seed} "
            "--training.compile --data.split fit --data.monitor valid",
            "dataset": "omniglot",
            "encoding": fit.encoding,
            "binarisation": fit.binarisation,
            "trained_on": f"fit ({len(fit)} images, drawers 1-13)",
            "episode_length": 32,
            "steps": run.done,
            "seed": run.config.training.seed,
            "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
            "valid_bound": final.bound,
        }
        name = run.name.replace(" ", "-")
        save_model(options.out / f"{name}.safetensors", run.model, card)
    best = min(runs, key=lambda run: results[run.name]["valid"]["bound"])
    final = evaluate(best.model, test, episodes=options.episodes)
    results["chosen"] = {"run": best.name, "test": final._asdict()}
    print("chosen on valid:", best.name, "test", final, flush=True)
    (options.out / "choose.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main()
