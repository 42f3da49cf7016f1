"""Several trainings at once on one GPU, each a CUDA graph on its own stream.

Small models leave a GPU idle between kernels; eight trainings together cost about as much time as
four alone. Each is the same `TrainingStep` that `kanerva train` runs.
"""

import time
from typing import Any

import torch

from kanerva.data import Dataset, EpisodeSampler
from kanerva.evaluation.evaluate import evaluate
from kanerva.training.config import Config
from kanerva.training.run import begin
from kanerva.training.step import TrainingStep


class Run:
    """One training among others."""

    def __init__(self, name: str, config: Config, train: Dataset, device: torch.device) -> None:
        self.name, self.config = name, config
        sampler = EpisodeSampler(train, num_items=config.data.episode_length)
        self.model = begin(config, sampler).to(device)
        if device.type == "cuda":
            self.model = self.model.to(memory_format=torch.channels_last)
        self.step = TrainingStep(self.model, sampler, config.training, device=device)
        self.stream = torch.cuda.Stream() if device.type == "cuda" else None
        self.curve: list[dict[str, Any]] = []
        self.done = 0

    def advance(self, num_steps: int) -> None:
        if self.stream is None:
            self.step.run(num_steps)
        else:
            with torch.cuda.stream(self.stream):
                self.step.run(num_steps)
        self.done += num_steps

    def look(self, dataset: Dataset, episodes: int, seconds: float) -> dict[str, Any]:
        progress = self.step.progress()
        result = evaluate(
            self.model,
            dataset,
            episodes=episodes,
            episode_length=self.config.data.episode_length,
        )
        row = {
            "step": self.done,
            "seconds": round(seconds, 2),
            "train_bound": progress.bound,
            **progress._asdict(),
            "held_out": result._asdict(),
        }
        self.curve.append(row)
        return row


def train_together(
    runs: list[Run], held_out: Dataset, *, num_looks: int, episodes: int, limit_s: float
) -> None:
    """Advance all runs side by side, so that all end together whatever their steps.

    Looks at the held-out split crowd where curves are steep: the n-th comes after (n / num_looks)^2
    of the steps. They do not count as training time.
    """
    start = time.perf_counter()
    pause = 0.0
    for number in range(1, num_looks + 1):
        goals = {run.name: _goal(run, number, num_looks) for run in runs}
        slices = max((goals[run.name] - run.done for run in runs), default=0) // 100 + 1
        for left in range(slices, 0, -1):
            for run in runs:
                run.advance(max(goals[run.name] - run.done, 0) // left)
            if torch.cuda.is_available():
                torch.cuda.synchronize()
        before = time.perf_counter()
        trained = before - start - pause
        for run in runs:
            if run.curve and run.curve[-1]["step"] == run.done:
                continue
            row = run.look(held_out, episodes, trained)
            held = row["held_out"]
            print(
                f"{trained:6.1f}s {run.name:38s} step {run.done:6d} train {row['train_bound']:7.2f}"
                f" held out {held['bound']:7.2f} = {held['reconstruction']:.1f} + "
                f"{held['kl_address']:.1f} + {held['kl_code']:.1f}  norm {row['gradient_norm']:.3g}"
                f" skipped {row['skipped']:.3g}",
                flush=True,
            )
        pause += time.perf_counter() - before
        if time.perf_counter() - start > limit_s:
            print("out of time", flush=True)
            break


def _goal(run: Run, number: int, num_looks: int) -> int:
    return round(run.config.training.steps * (number / num_looks) ** 2)
