"""What is kept of a training: rows of metrics, records of runs and sweeps, model cards.

Every file with results of a training holds these types, and only the functions here make them.
Times are in seconds, bounds in nats per item.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NotRequired, TypedDict

import torch

from kanerva.atomic import write_atomically
from kanerva.data import Dataset
from kanerva.evaluation.evaluate import Evaluation
from kanerva.json_values import in_json
from kanerva.training.config import ConfigJSON
from kanerva.training.settings import Extension, Settings
from kanerva.training.step import Progress

SCHEMA = 2
"""Version of the files that sweeps write."""


class EvaluationRow(TypedDict):
    """The fields of an `Evaluation`."""

    bound: float
    stderr: float
    reconstruction: float
    kl_address: float
    kl_code: float
    memory_kl_per_item: float | None
    episodes: int
    episode_length: int


class HeldOutRow(EvaluationRow):
    """An evaluation on the monitored split."""

    split: str


class MetricsRow(TypedDict):
    """One report of a run: means over the training steps since the last report."""

    step: int
    seconds: float
    bound: float
    reconstruction: float
    kl_address: float
    kl_code: float
    gradient_norm: float
    skipped: float
    held_out: NotRequired[HeldOutRow]


class ModelCard(TypedDict):
    """How a model came about: saved with every checkpoint."""

    dataset: str
    source: NotRequired[str]
    """The name of a known data set, or the absolute path of a folder."""
    encoding: str
    binarisation: str
    trained_on: str
    images_checksum: NotRequired[str]
    """SHA-256 of the images, where they come from a folder of the user's."""
    episode_length: int
    episode_classes: NotRequired[int]
    """Classes of an episode, where not the whole split."""
    distinct: NotRequired[bool]
    """Whether episodes were drawn without replacement."""
    steps: int
    seconds: float
    device: str
    seed: int
    recipe: NotRequired[str]
    command: NotRequired[str]
    """The commands that lead to the model."""
    extended: NotRequired[list[Extension]]
    """How a run got more steps than it began with."""
    trained_by: NotRequired[str]
    runs_together: NotRequired[int]
    test_bound: NotRequired[float]
    test_stderr: NotRequired[float]
    valid_bound: NotRequired[float]
    valid_stderr: NotRequired[float]
    memory_kl_per_item: NotRequired[float | None]


class RunRecord(TypedDict):
    """One run of a sweep. (label, seed) is its identity."""

    label: str
    seed: int
    recipe: str
    config: ConfigJSON
    final: EvaluationRow
    curve: list[MetricsRow]
    num_steps: int
    seconds: float
    device: str
    num_parameters: int
    ms_per_step: float | None


class RaceRecord(TypedDict):
    """How long one run trained alone until its monitored bound was below a number."""

    label: str
    seed: int
    below: float
    bound: float
    steps: int
    seconds: float


Capacity = dict[str, list[dict[str, float | None]]]
"""Evaluations at several episode lengths, by the number of classes ("all" for no limit)."""


class SweepRecord(TypedDict):
    """Everything a sweep measured: the contents of its results file."""

    schema: int
    what: str
    command: str
    device: str
    torch: str
    split: str
    monitor: str
    report: str
    binarisation: str
    encoding: str
    runs: list[RunRecord]
    best: dict[str, str]
    capacity: dict[str, Capacity]
    race: RaceRecord | None


def evaluation_row(evaluation: Evaluation) -> EvaluationRow:
    """An evaluation as a row."""
    return EvaluationRow(
        bound=evaluation.bound,
        stderr=evaluation.stderr,
        reconstruction=evaluation.reconstruction,
        kl_address=evaluation.kl_address,
        kl_code=evaluation.kl_code,
        memory_kl_per_item=evaluation.memory_kl_per_item,
        episodes=evaluation.episodes,
        episode_length=evaluation.episode_length,
    )


def held_out_row(split: str, evaluation: Evaluation) -> HeldOutRow:
    """An evaluation on a held-out split as a row."""
    return HeldOutRow(split=split, **evaluation_row(evaluation))


def metrics_row(step: int, seconds: float, progress: Progress) -> MetricsRow:
    """A report without an evaluation."""
    return MetricsRow(
        step=step,
        seconds=round(seconds, 3),
        bound=progress.bound,
        reconstruction=progress.reconstruction,
        kl_address=progress.kl_address,
        kl_code=progress.kl_code,
        gradient_norm=progress.gradient_norm,
        skipped=progress.skipped,
    )


def model_card(
    settings: Settings,
    train_set: Dataset,
    *,
    checksum: str | None,
    steps: int,
    seconds: float,
    device: torch.device,
) -> ModelCard:
    """What a reader of a model's numbers must know. `checksum` is that of the images, if known."""
    config = settings.config
    card = ModelCard(
        dataset=train_set.name,
        encoding=train_set.encoding,
        binarisation=train_set.binarisation,
        trained_on=f"{config.data.split} ({len(train_set)} images)",
        episode_length=config.data.episode_length,
        steps=steps,
        seconds=round(seconds, 1),
        device=device_name(device),
        seed=config.training.seed,
    )
    if config.data.episode_classes is not None:
        card["episode_classes"] = config.data.episode_classes
    if config.data.distinct:
        card["distinct"] = True
    if train_set.source is not None:
        card["source"] = train_set.source
    if checksum is not None:
        card["images_checksum"] = checksum
    if settings.recipe is not None:
        card["recipe"] = settings.recipe
    if settings.command is not None:
        card["command"] = settings.command
    if settings.extended:
        card["extended"] = list(settings.extended)
    return card


def device_name(device: torch.device) -> str:
    """The name of the GPU, or cpu."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def last_bound(curve: Sequence[MetricsRow]) -> float:
    """The monitored bound at the end of a curve; infinite where there is none."""
    held = [row["held_out"]["bound"] for row in curve if "held_out" in row]
    is_number = bool(held) and held[-1] is not None and held[-1] == held[-1]  # null in a file
    return held[-1] if is_number else float("inf")


def write_record(path: Path, record: SweepRecord) -> None:
    """Write a results file, whole or not at all."""
    write_atomically(path, json.dumps(in_json(record)).encode())
