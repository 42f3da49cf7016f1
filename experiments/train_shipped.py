"""Train the models that are shipped, beside more seeds of the same recipe, and measure them once.

    PYTHONPATH=experiments python experiments/train_shipped.py OUT [--steps 50000] [--seeds 3]

Writes OUT/omniglot.safetensors, OUT/omniglot-vae.safetensors (seed 0 of each recipe) and
OUT/omniglot-training.json: curves on the test split while training, and at the end 1,000 test
episodes. Nothing is chosen by these numbers; the recipe was chosen on the validation split.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import torch
from together import Run, train_together

from kanerva.data import Dataset, load_dataset
from kanerva.evaluation.evaluate import evaluate
from kanerva.models.checkpoint import save_model
from kanerva.training.config import Config
from kanerva.training.recipes import RECIPES


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=None)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=330)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--dataset", default="omniglot")
    parser.add_argument("--episodes", type=int, default=1000)
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    train, test = (
        load_dataset(options.dataset, split, data=options.data, show_progress=False).to(device)
        for split in ("train", "test")
    )
    compiled = device.type == "cuda"
    recipes = [(options.dataset, seed) for seed in range(options.seeds)]
    recipes.append((f"{options.dataset}-vae", 0))
    begin = time.perf_counter()
    runs = []
    for name, seed in recipes:
        config = with_training(RECIPES[name], seed=seed, compile=compiled)
        if options.steps:
            config = with_training(config, steps=options.steps)
        runs.append(Run(f"{name} seed {seed}", config, train, device))
    steps = runs[0].config.training.steps
    alone = time_alone(runs, device)
    print(f"ready after {time.perf_counter() - begin:.0f} s; alone: {alone}", flush=True)
    train_together(runs, test, look_every=max(steps // 20, 1), episodes=100, limit_s=options.limit)
    write(options.out, options.dataset, runs, test, alone, options.episodes, device)


def with_training(config: Config, **changes: object) -> Config:
    return replace(config, training=replace(config.training, **changes))


def time_alone(runs: list[Run], device: torch.device) -> dict[str, float]:
    """Milliseconds a step of one training with the GPU to itself; these steps count as training."""
    times = {}
    for run in (runs[0], runs[-1]):
        num = 300 if device.type == "cuda" else 2
        run.advance(num // 3)
        synchronise(device)
        start = time.perf_counter()
        run.advance(num)
        synchronise(device)
        times[run.name] = (time.perf_counter() - start) / num * 1e3
    return times


def synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def write(
    out: Path,
    dataset: str,
    runs: list[Run],
    test: Dataset,
    alone: dict[str, float],
    episodes: int,
    device: torch.device,
) -> None:
    results = {"ms_per_step_alone": alone, "runs": {}}
    for run in runs:
        final = evaluate(run.model, test, episodes=episodes, episode_length=32)
        print(run.name, final, flush=True)
        config = run.config
        results["runs"][run.name] = {"final_test": final._asdict(), "curve": run.curve}
        if config.training.seed == 0:
            recipe = run.name.split()[0]
            card = {
                "recipe": recipe,
                "command": f"kanerva train {recipe}",
                "dataset": test.name,
                "encoding": test.encoding,
                "binarisation": test.binarisation,
                "trained_on": "train",
                "episode_length": config.data.episode_length,
                "steps": run.done,
                "seed": config.training.seed,
                "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
                "test_bound": final.bound,
                "test_stderr": final.stderr,
            }
            save_model(out / f"{recipe}.safetensors", run.model, card)
    (out / f"{dataset}-training.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main()
