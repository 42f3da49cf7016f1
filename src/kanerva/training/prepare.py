"""What a training needs before its first step: its data, and a model with initial parameters."""

import hashlib
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch

from kanerva.checks import check_path
from kanerva.data import DATASETS, Dataset, EpisodeSampler, load_dataset
from kanerva.data.paths import absolute
from kanerva.errors import KanervaError
from kanerva.models.build import build_model
from kanerva.models.checkpoint import load_with_card
from kanerva.models.initialise import draw_truncated, initialise_model
from kanerva.models.model import Model
from kanerva.training.config import Config
from kanerva.training.parallel import Parallel
from kanerva.training.step import TrainingStep

NUM_INITIAL_IMAGES = 2048
"""Images from which a model is initialised."""


class Images(NamedTuple):
    """The data of a run, on its device."""

    train: Dataset
    monitor: Dataset


def load_images(
    config: Config,
    *,
    device: torch.device,
    data_folder: Path | None = None,
    show_progress: bool = False,
) -> Images:
    """The training split and the monitored split of an experiment."""
    splits = (
        load_split(
            config, split, device=device, data_folder=data_folder, show_progress=show_progress
        )
        for split in (config.data.split, config.data.monitor)
    )
    return Images(*splits)


def load_split(
    config: Config,
    split: str,
    *,
    device: torch.device,
    data_folder: Path | None = None,
    show_progress: bool = False,
) -> Dataset:
    """One split of the data of an experiment."""
    dataset = load_dataset(
        config.data.name,
        split,
        data_folder=data_folder,
        binarisation=config.data.binarisation,
        show_progress=show_progress,
    )
    check_fits(config, dataset)
    return dataset.to(device)


def with_source(config: Config, source: str | None = None) -> Config:
    """The config with the absolute path of its data, where that is a folder.

    A relative path means another folder in another place. `source` is by default what the name
    means in the present folder.
    """
    name = source or config.data.name
    if name not in DATASETS:
        name = str(absolute(check_path("--data.name", name, what="a folder")))
    return replace(config, data=replace(config.data, name=name))


def is_there(config: Config) -> bool:
    """Whether the data of an experiment is a known data set, or a folder that exists."""
    return config.data.name in DATASETS or os.path.isdir(config.data.name)


def images_checksum(dataset: Dataset) -> str | None:
    """SHA-256 of the pixels and labels of a user's own folder; None for known data sets."""
    if dataset.source is None or dataset.source in DATASETS:
        return None
    digest = hashlib.sha256(str(tuple(dataset.images.shape)).encode())
    for tensor in (dataset.images, dataset.labels):
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def check_fits(config: Config, dataset: Dataset) -> None:
    """Refuse a model for images of another shape or with another kind of pixels."""
    if tuple(dataset.image_shape) != tuple(config.model.image_shape):
        shape = " ".join(map(str, dataset.image_shape))
        raise KanervaError(
            "--model.image-shape",
            expected=f"the shape of {config.data.name}'s images, {tuple(dataset.image_shape)}",
            got=str(config.model.image_shape),
            fix=f"Pass --model.image-shape {shape}.",
        )
    if dataset.likelihood != config.model.likelihood:
        raise KanervaError(
            "--model.likelihood",
            expected=f"{dataset.likelihood}, as {config.data.name}'s pixels are",
            got=config.model.likelihood,
            fix=f"Pass --model.likelihood {dataset.likelihood}.",
        )


def episode_sampler(
    config: Config, dataset: Dataset, *, symmetries: bool = False
) -> EpisodeSampler:
    """What draws the episodes of an experiment; an error if a split has too few images."""
    return EpisodeSampler(
        dataset,
        num_items=config.data.episode_length,
        num_classes=config.data.episode_classes,
        distinct=config.data.distinct,
        symmetries=symmetries,
    )


def new_training(
    config: Config, train_set: Dataset, *, parallel: Parallel, own_stream: bool = False
) -> TrainingStep:
    """A new model on its device, ready for its first step."""
    sampler = episode_sampler(config, train_set, symmetries=config.data.symmetries)
    model = initial_model(config, sampler).to(parallel.device)
    if parallel.device.type == "cuda":
        model.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
    return TrainingStep(
        model,
        sampler,
        config.training,
        device=parallel.device,
        parallel=parallel,
        own_stream=own_stream,
    )


def initial_model(config: Config, sampler: EpisodeSampler) -> Model:
    """The model before its first step, made on the CPU: the same for every device."""
    torch.manual_seed(config.training.seed)
    model = build_model(config.model)
    if config.training.start_from is not None:
        _copy_parameters(config.training.start_from, model)
        return model
    if config.training.start == "truncated":
        draw_truncated(model)
        return model
    generator = torch.Generator(sampler.dataset.device).manual_seed(config.training.seed)
    num_episodes = math.ceil(NUM_INITIAL_IMAGES / sampler.num_items)
    initialise_model(model, sampler.sample(num_episodes, generator=generator).cpu())
    return model


def _copy_parameters(name: str, model: Model) -> None:
    """Take over the parameters of a trained model of the same sizes."""
    trained, _ = load_with_card(name)
    ours, theirs = model.state_dict(), trained.state_dict()
    if {key: value.shape for key, value in ours.items()} != {
        key: value.shape for key, value in theirs.items()
    }:
        raise KanervaError(
            "--training.start-from",
            expected="a model of the kind and the sizes of this recipe",
            got=f"{trained.config} in '{name}'",
            fix="Name a model that the same recipe gave, or leave it out.",
        )
    model.load_state_dict(theirs)


def check_held_out(config: Config) -> None:
    """Refuse to call images held out that are trained on."""
    if config.data.split == "train" and config.data.monitor == "valid":
        raise KanervaError(
            "--data.monitor",
            expected="images that are not trained on: test, or valid next to --data.split fit",
            got="valid, which is a part of train",
            fix="Add --data.split fit.",
        )
