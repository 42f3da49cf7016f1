"""Models on disk: safetensors with their config in the metadata. Nothing loaded can run code."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from kanerva.atomic import write_atomically
from kanerva.errors import KanervaError
from kanerva.models.build import build_model
from kanerva.models.coder import Coder
from kanerva.models.config import ModelConfig

SCHEMA = "1"
SHIPPED_FOLDER = Path(__file__).parent.parent / "shipped"
SHIPPED = ("omniglot", "omniglot-vae")
"""Models inside the package; their cards are in the README beside them."""


def save_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, Any]) -> None:
    """Write a safetensors file whole or not at all: a temporary file, fsync, rename."""
    words = {"schema": SCHEMA, **{name: json.dumps(value) for name, value in metadata.items()}}
    contents = {name: _own(tensor) for name, tensor in tensors.items()}
    write_atomically(path, to_bytes(contents, words))


def _own(tensor: Tensor) -> Tensor:
    """A copy that shares no memory: parameters are views of one vector while training."""
    return tensor.detach().cpu().contiguous().clone()


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and metadata of a file that `save_tensors` wrote."""
    if not path.is_file():
        raise KanervaError(
            "checkpoint",
            expected="a checkpoint file or a run folder",
            got=f"'{path}'",
            fix=f"Name {' or '.join(SHIPPED)}, a checkpoint-*.safetensors, or the folder of a run.",
        )
    try:
        path.open("rb").close()  # safetensors calls what may not be read missing
        with safe_open(path, framework="pt") as file:
            words = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except PermissionError:
        raise KanervaError(
            "checkpoint",
            expected="a file that may be read",
            got=f"'{path}', which may not",
            fix="Change its permissions, or copy it.",
        ) from None
    except (SafetensorError, OSError) as error:
        raise KanervaError(
            "checkpoint",
            expected="a whole safetensors file",
            got=f"'{path}': {' '.join(str(error).split())}",
            fix="It is cut short or of another kind: copy it again, or take an earlier one.",
        ) from None
    if words.get("schema") != SCHEMA:
        raise KanervaError(
            "checkpoint",
            expected=f"schema {SCHEMA}",
            got=f"{words.get('schema', 'none')} in '{path}'",
            fix="Load it with the version of kanerva that wrote it, or train again.",
        )
    try:
        metadata = {name: json.loads(word) for name, word in words.items() if name != "schema"}
    except json.JSONDecodeError as error:
        raise not_ours(path, str(error)) from None
    if not all(isinstance(metadata.get(name, {}), dict) for name in ("model", "card", "config")):
        raise not_ours(path, "a model, card or config that is no object")
    return tensors, metadata


def not_ours(path: Path, what: str) -> KanervaError:
    """The error for a file that is whole but holds something else."""
    return KanervaError(
        "checkpoint",
        expected="metadata as kanerva writes it",
        got=f"{what} in '{path}'",
        fix="Copy the file again, or take an earlier one.",
    )


def save_model(path: Path, model: Coder, card: Mapping[str, Any]) -> None:
    """Parameters, config, and a card that says how they came about."""
    metadata = {"model": dataclasses.asdict(model.config), "card": dict(card)}
    save_tensors(Path(path), model.state_dict(), metadata)


def model_from(tensors: Mapping[str, Tensor], metadata: Mapping[str, Any]) -> Coder:
    """A model with these parameters, ready to use."""
    fields = dict(metadata.get("model", {}))
    try:
        fields["image_shape"] = tuple(fields["image_shape"])
        model = build_model(ModelConfig(**fields))
        model.load_state_dict(dict(tensors))
    except (TypeError, KeyError, RuntimeError) as error:
        raise KanervaError(
            "checkpoint",
            expected="the parameters of the model it describes",
            got=" ".join(str(error).split())[:200],
            fix="It was written by another version of kanerva: load it there, or train again.",
        ) from None
    return model.eval()


def load(name: str | Path, *, device: str | torch.device = "cpu") -> Coder:
    """A model of the package ("omniglot", "omniglot-vae"), a checkpoint file, or a run folder."""
    return load_with_card(name, device=device)[0]


def load_with_card(
    name: str | Path, *, device: str | torch.device = "cpu"
) -> tuple[Coder, dict[str, Any]]:
    """The model, and what its file says of its making."""
    tensors, metadata = read_tensors(find(name))
    parameters = {key: value for key, value in tensors.items() if not key.startswith("training.")}
    return model_from(parameters, metadata).to(device), metadata.get("card", {})


def find(name: str | Path) -> Path:
    """The file itself, the newest checkpoint of a run folder, or a model of the package by name."""
    path = Path(name)
    if str(name) in SHIPPED and not path.exists():
        return SHIPPED_FOLDER / f"{name}.safetensors"
    if path.is_dir():
        checkpoints = sorted(path.glob("checkpoint-*.safetensors"))
        if not checkpoints:
            raise KanervaError(
                "checkpoint",
                expected="a run folder with checkpoint-*.safetensors",
                got=f"'{path}', which has none",
                fix="Train into it first, or name a file.",
            )
        return checkpoints[-1]
    return path
