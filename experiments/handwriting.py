"""Calibrate a trained `handwriting` model on validation drawers, and save it to be shipped.

    kanerva train handwriting --out runs/handwriting
    python experiments/handwriting.py runs/handwriting src/kanerva/shipped/handwriting.safetensors

Drawers 14 and 15 were not trained on. The test drawers are not looked at. With --only-confidence
the ranking and the gate stay as they are.
"""

import argparse
import functools
import json
import multiprocessing
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from kanerva.data import Dataset, EpisodeSampler, load_dataset
from kanerva.evaluation.calibrate import (
    Readings,
    calibrate_confidence,
    calibrate_gate,
    collect_candidates,
    collect_readings,
    fit_ranking,
    joined,
)
from kanerva.evaluation.patterns import among, random_patterns
from kanerva.models.checkpoint import load_with_card, save_model
from kanerva.models.kanerva_machine import KanervaMachine


class Episodes(NamedTuple):
    """Episodes to calibrate with. Each is read with every damage."""

    images: str
    """drawings; patterns, which are no drawings: the model reads something else, or nothing; both:
    half and half."""
    length: int
    count: int
    times: tuple[int, ...] = (1,)
    """How often images are written, in turn."""

    def __str__(self) -> str:
        often = "" if self.times == (1,) else ", some written often"
        return f"{self.length} {'of both' if self.images == 'both' else self.images}{often}"


EPISODES = (
    *(Episodes("drawings", length, count) for length, count in ((1, 24), (8, 24), (32, 24))),
    Episodes("drawings", 100, 4),
    Episodes("drawings", 16, 4, times=(1, 2, 3, 10)),
    *(Episodes("patterns", length, 1) for length in (4, 32)),
    Episodes("both", 32, 1),
)
PART = {1: 24, 8: 12, 32: 4, 100: 1}
"""How many episodes of a length one process reads at once."""
RANKED = (6, 24)
"""Episodes to fit how the reader chooses between items. The first fit makes the widest stage of a
search possible, which is only for cues in doubt; the second fit has seen that stage, too."""
NUM_STEPS = 4000
"""Steps of the last fit: few readings are wrong, and it takes long to tell them from the others."""


def main() -> None:
    """Calibrate, save, and print what was fitted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="the folder of the training")
    parser.add_argument("out", type=Path, help="the file to write")
    parser.add_argument("--only-confidence", action="store_true")
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    model, card = load_with_card(arguments.run)
    assert isinstance(model, KanervaMachine)
    report: dict[str, object] = {}
    if not arguments.only_confidence:
        valid = load_dataset("omniglot", "valid")
        for number, seed in zip(RANKED, (2, 1), strict=True):
            candidates = collect_candidates(model, valid, num_episodes=number, seed=seed)
            report["ranking_nats"] = fit_ranking(model, candidates)
        calibrate_gate(model, valid)
    save_model(arguments.out, model, card)  # the other processes read it
    readings = collect_all(arguments.out, processes=arguments.processes)
    report["confidence_nats"] = calibrate_confidence(
        model, list(readings.values()), num_steps=NUM_STEPS
    )
    save_model(arguments.out, model, card)
    assert model.access.novel is not None
    report["gate"] = model.access.novel.gate.tolist()
    for name, part in readings.items():
        assert model.calibration is not None
        with torch.no_grad():
            confidence = model.calibration(part.signs)[part.is_written]
        right = part.is_right[part.is_written].float().mean().item()
        report[name] = {"right": right, "confidence": confidence.mean().item()}
    print(json.dumps(report, indent=1))


def collect_all(model: Path, *, processes: int) -> dict[str, Readings]:
    """The readings of all episodes, by the names of these."""
    jobs: list[tuple[Episodes, int]] = []
    for episodes in EPISODES:
        part = PART.get(episodes.length, 1)
        for number in range(0, episodes.count, part):
            count = min(part, episodes.count - number)
            jobs.append((episodes._replace(count=count), number))
    jobs.sort(key=lambda job: -job[0].length * job[0].count * job[0].length)
    collect = functools.partial(_collect, model)
    if processes == 1:
        found: Sequence[Readings] = [collect(job) for job in jobs]
    else:
        with multiprocessing.get_context("spawn").Pool(
            processes, torch.set_num_threads, (1,)
        ) as pool:
            found = pool.map(collect, jobs, chunksize=1)
    parts: dict[str, list[Readings]] = {str(episodes): [] for episodes in EPISODES}
    for (episodes, _), readings in zip(jobs, found, strict=True):
        parts[str(episodes)].append(readings)
    return {name: joined(several) for name, several in parts.items()}


def _collect(model: Path, job: tuple[Episodes, int]) -> Readings:
    episodes, number = job
    return collect_readings(
        _loaded(model),
        _images(episodes.images),
        episode_length=episodes.length,
        num_episodes=episodes.count,
        times=episodes.times,
        seed=1000 * episodes.length + number,
    )


@functools.cache
def _loaded(path: Path) -> KanervaMachine:
    model, _ = load_with_card(path)
    assert isinstance(model, KanervaMachine)
    return model


@functools.cache
def _images(name: str) -> Dataset:
    valid = load_dataset("omniglot", "valid")
    if name == "drawings":
        return valid
    patterns = random_patterns(1000, generator=torch.Generator().manual_seed(0))
    if name == "patterns":
        return patterns
    drawings = EpisodeSampler(valid, num_items=1000).sample(1, generator=torch.Generator())[0]
    return among(patterns, drawings)


if __name__ == "__main__":
    main()
