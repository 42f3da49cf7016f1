"""Models on disk: safetensors with their config in the metadata. Nothing loaded can run code."""

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeVar, overload

import torch
from torch import Tensor

from kanerva.checks import check_device, check_path
from kanerva.errors import KanervaError
from kanerva.models.build import build_model
from kanerva.models.config import AnyModelConfig, config_from_dict, config_to_dict
from kanerva.models.few_shot_machine import FewShotMachine
from kanerva.models.kanerva_machine import KanervaMachine
from kanerva.models.ladder_vae import LadderVAE
from kanerva.models.memory_model import MemoryModel
from kanerva.models.model import Model
from kanerva.models.vae import VAE
from kanerva.tensor_file import Metadata, read_tensor_file, write_tensor_file

SHIPPED_FOLDER = Path(__file__).parent.parent / "shipped"
SHIPPED = ("handwriting", "fewshot", "fewshot-vae", "omniglot", "omniglot-vae")
"""Models inside the package; the README next to their files describes them."""
SHIPPED_KINDS: dict[str, type[Model]] = {
    "omniglot-vae": VAE,
    "fewshot": FewShotMachine,
    "fewshot-vae": LadderVAE,
}
"""The classes of the models that are not a `KanervaMachine`."""
OTHER_FILES: dict[object, str] = {
    "memory": "kanerva.load_memory",
    "sparse memory": "SparseMemory.load",
    "memory sums": "MemoryStore.merge",
}
"""Kinds of files that hold no model, and what reads them."""
OPTIONAL = "ranking."
"""Parameters that older checkpoints do not have: what is fitted after training."""
OLD_NAMES = {
    "encoder.": "coder.encoder.",
    "decoder.": "coder.decoder.",
    "likelihood.": "coder.likelihood.",
    "memory.key_net.": "access.addressing.table.key_net.",
    "memory.addresses": "access.addressing.table.addresses",
    "memory.": "access.memory.",
    "address_net.": "access.addressing.address_net.",
    "code_net.": "access.code_net.",
    "log_var": "access.addressing.log_var",
}
"""How parameters of schema 1 begin, and how they begin today. The first match counts."""

Card = Mapping[str, object]
"""What a file says about how its model was made."""
ModelT = TypeVar("ModelT", bound=Model)


@overload
def load(  # pyright: ignore[reportOverlappingOverload]
    name: Literal["omniglot-vae"], *, device: str | torch.device = "cpu"
) -> VAE: ...
@overload
def load(  # pyright: ignore[reportOverlappingOverload]
    name: Literal["fewshot"], *, device: str | torch.device = "cpu"
) -> FewShotMachine: ...
@overload
def load(  # pyright: ignore[reportOverlappingOverload]
    name: Literal["fewshot-vae"], *, device: str | torch.device = "cpu"
) -> LadderVAE: ...
@overload
def load(name: str | Path, *, device: str | torch.device = "cpu") -> KanervaMachine: ...
@overload
def load(name: str | Path, *, kind: type[ModelT], device: str | torch.device = "cpu") -> ModelT: ...
def load(
    name: str | Path, *, kind: type[Model] | None = None, device: str | torch.device = "cpu"
) -> Model:
    """Load a trained model: one of the package by its name, or one from a file.

    Args:
        name: a model of the package ("handwriting", "fewshot", "fewshot-vae", "omniglot",
            "omniglot-vae"), a checkpoint file, or a run folder, whose newest checkpoint is taken.
        kind: the class of the model; by default that of a model of the package, else
            `KanervaMachine`. Pass `kanerva.VAE` for a VAE that you trained yourself.
        device: where to put it.

    Returns:
        The model, ready to use.

    Raises:
        KanervaError: if there is no such checkpoint, or if it holds another kind of model.

    Example:
        >>> import kanerva
        >>> km = kanerva.load("omniglot")
        >>> km.config.num_rows
        64

    """
    if kind is None:
        kind = SHIPPED_KINDS.get(str(name), KanervaMachine)
    if not (isinstance(kind, type) and issubclass(kind, Model)):
        raise KanervaError(
            "kind",
            expected="the class of a model",
            got=repr(kind),
            fix="Pass kind=kanerva.VAE, without quotes, or leave it out for a Kanerva Machine.",
        )
    model, _ = load_with_card(name, device=device)
    if not isinstance(model, kind):
        raise KanervaError(
            "name",
            expected=f"a checkpoint of a {kind.__name__}",
            got=f"a {type(model).__name__} in '{name}'",
            fix=f"Pass kind={type(model).__name__}, from {type(model).__module__}.",
        )
    return model


def load_with_card(
    name: str | Path, *, device: str | torch.device = "cpu"
) -> tuple[Model, dict[str, object]]:
    """A model of any kind, and what its file says about how it was made."""
    device = check_device("device", device)
    tensors, metadata = read_checkpoint(find_checkpoint(name))
    parameters = {key: value for key, value in tensors.items() if not key.startswith("training.")}
    card = metadata.get("card", {})
    assert isinstance(card, dict)
    return model_from(parameters, metadata).to(device), card


def load_memory_model(
    name: str | Path, *, device: str | torch.device = "cpu"
) -> tuple[MemoryModel, dict[str, object]]:
    """A model that has a memory, and what its file says about how it was made."""
    model, card = load_with_card(name, device=device)
    if not isinstance(model, MemoryModel):
        raise KanervaError(
            "checkpoint",
            expected="a model with a memory",
            got=f"a VAE in '{name}'",
            fix="Name a Kanerva Machine, for example omniglot.",
        )
    return model, card


def find_checkpoint(name: str | Path) -> Path:
    """The file itself, the newest checkpoint of a run folder, or a model of the package."""
    if not isinstance(name, str | Path) or not str(name):
        raise KanervaError(
            "checkpoint",
            expected="a name or a path",
            got=repr(name)[:80],
            fix=f"Name {' or '.join(SHIPPED)}, a checkpoint-*.safetensors, or the folder of a run.",
        )
    path = check_path("checkpoint", name, what="a checkpoint file or a run folder")
    checkpoints = sorted(path.glob("checkpoint-*.safetensors")) if os.path.isdir(path) else []
    if str(name) in SHIPPED and not os.path.isfile(path) and not checkpoints:
        return SHIPPED_FOLDER / f"{name}.safetensors"
    if os.path.isdir(path):
        if not checkpoints:
            raise KanervaError(
                "checkpoint",
                expected="a run folder with checkpoint-*.safetensors",
                got=f"'{path}', which has none",
                fix="Train into this folder first, or name a checkpoint file.",
            )
        return checkpoints[-1]
    if not os.path.isfile(path):
        raise KanervaError(
            "checkpoint",
            expected="a checkpoint file or a run folder",
            got=f"'{name}', {_what_is_at(path)}",
            fix=f"Name {' or '.join(SHIPPED)}, a checkpoint-*.safetensors, or the folder of a run.",
        )
    return path


def _what_is_at(path: Path) -> str:
    """What is at a path where no file is, in words."""
    try:
        os.stat(path)
    except OSError as error:
        reasons = {
            errno.ELOOP: "a link that leads back to itself",
            errno.ENAMETOOLONG: "a name that is too long",
            errno.EACCES: "in a folder without permission to read",
        }
        return reasons.get(error.errno or 0, "nothing there")
    return "a pipe, a socket or a device"


def save_model(path: Path, model: Model, card: Card) -> None:
    """Write the parameters, the config, and a card that says how they were made."""
    save_checkpoint(Path(path), model.state_dict(), model=model.config, card=card)


def save_checkpoint(
    path: Path, tensors: Mapping[str, Tensor], *, model: AnyModelConfig, **metadata: object
) -> None:
    """Write tensors, a model's config and other facts, whole or not at all."""
    write_tensor_file(path, tensors, {"model": config_to_dict(model), **metadata})


def read_checkpoint(path: Path) -> tuple[dict[str, Tensor], Metadata]:
    """Tensors and metadata of a checkpoint, with today's names for the parameters."""
    tensors, metadata, schema = read_tensor_file(path)
    kind = metadata.get("kind")
    if kind in OTHER_FILES:
        raise KanervaError(
            "checkpoint",
            expected="the checkpoint of a model",
            got=f"a {kind} in '{path}'",
            fix=f"Load it with {OTHER_FILES[kind]}; name a model, for example omniglot.",
        )
    for part in ("model", "card", "config"):
        if not isinstance(metadata.get(part, {}), dict):
            raise foreign_file(path, f"a {part} that is not an object")
    if schema == 1:
        tensors = {_new_name(name): tensor for name, tensor in tensors.items()}
    return tensors, metadata


def foreign_file(path: Path, what: str) -> KanervaError:
    """The error for a file that is whole but does not hold what kanerva writes."""
    return KanervaError(
        "checkpoint",
        expected="metadata as kanerva writes it",
        got=f"{what} in '{path}'",
        fix="Copy the file again, or take an earlier checkpoint.",
    )


def model_from(tensors: Mapping[str, Tensor], metadata: Metadata) -> Model:
    """A model with these parameters, ready to use."""
    fields = metadata.get("model")
    try:
        if not isinstance(fields, dict):
            raise KeyError("no description of the model")
        # The first parameters are replaced. All can be trained, wherever they are loaded.
        with torch.random.fork_rng(devices=[]), torch.inference_mode(False):
            model = build_model(config_from_dict(fields))
            own = model.state_dict().items()
            unfitted = {name: value for name, value in own if name.startswith(OPTIONAL)}
            model.load_state_dict(unfitted | dict(tensors))
    except (TypeError, KeyError, RuntimeError) as error:
        raise KanervaError(
            "checkpoint",
            expected="the parameters of the model it describes",
            got=" ".join(str(error).split())[:200],
            fix="Another version of kanerva wrote it: load it there, or train again.",
        ) from None
    return model.eval()


def _new_name(name: str) -> str:
    for old, new in OLD_NAMES.items():
        if name.startswith(old):
            return new + name.removeprefix(old)
    return name
