"""Data sets: files in, tensors out. Nothing here knows about models."""

from kanerva.data.dataset import Dataset
from kanerva.data.download import fetch
from kanerva.data.episodes import EpisodeSampler
from kanerva.data.folder_contents import SkippedFilesWarning
from kanerva.data.glyphs import render_glyphs
from kanerva.data.load import DATASETS, load_dataset

__all__ = [
    "DATASETS",
    "Dataset",
    "EpisodeSampler",
    "SkippedFilesWarning",
    "fetch",
    "load_dataset",
    "render_glyphs",
]
