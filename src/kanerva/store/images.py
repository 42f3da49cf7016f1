"""Memories of images, with a trained model.

Shapes: T items, K rows, C code size.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from kanerva.data.paths import absolute
from kanerva.errors import KanervaError
from kanerva.memory.episode import checked_episode
from kanerva.models.checkpoint import SHIPPED, load_with_card
from kanerva.models.config import config_to_dict
from kanerva.models.kanerva_machine import KanervaMachine
from kanerva.models.reading import ReadResult
from kanerva.store.arrays import to_float_tensor
from kanerva.store.exact_sums import Grid
from kanerva.store.item_coder import Answer, Block, EncodedItems, ItemCoder, Items

IMAGE_GRID = Grid(weight_exponent=-26, weight_bits=36, code_exponent=-26, code_bits=40)
"""Weights up to 512 and codes up to 8,192, in steps of 1.5e-8."""
BATCH = 16
"""Images that are encoded together. One alone takes three times as long as its share of more."""


class ImageCoder(ItemCoder):
    """Images with a Kanerva Machine, which has one block."""

    kind = "images"

    def __init__(self, model: KanervaMachine, reference: str | None) -> None:
        self.model = model
        self.reference = reference
        config = model.config
        self.num_rows, self.code_size, self.num_blocks = config.num_rows, config.code_size, 1
        self.noise_var = config.noise_var
        self.grid = IMAGE_GRID
        self.prior = model.prior_memory().to("cpu").detach()
        self.code_centre = torch.zeros(self.code_size, dtype=torch.float64)
        self.fingerprint = model_fingerprint(model)
        self._versions = _versions(model)
        self._dtype = next(model.parameters()).dtype

    def describe(self) -> dict[str, object]:
        return {"model": self.reference, "image_shape": list(self.model.config.image_shape)}

    def check(self, items: Items, values: Items | None, *, first: int = 0) -> None:
        self._checked(items, values)

    def _checked(self, items: Items, values: Items | None) -> Tensor:
        if values is not None:
            raise KanervaError(
                "values",
                expected="none: this memory stores images by themselves",
                got="some",
                fix="Leave values out, or create a memory of vectors for them.",
            )
        self._check_unchanged()
        images = _checked_images(items, "images").to(self.model.device, self._dtype)
        self.model.coder.check_images("images", images)
        return images

    def _check_unchanged(self) -> None:
        """Refuse codes of other parameters than those that the memory belongs to."""
        versions = _versions(self.model)
        if versions == self._versions:
            return
        if model_fingerprint(self.model) != self.fingerprint:
            raise KanervaError(
                "model",
                expected="the parameters with which this memory was opened",
                got="others: the model was changed since then",
                fix="Give the store a model of its own: copy.deepcopy(model).",
            )
        self._versions = versions

    def encode(self, items: Items, values: Items | None, *, first: int = 0) -> EncodedItems:
        images = self._checked(items, values)
        num_images = len(images)
        # Kernels of another batch size round in another way, so all have the same one: an image
        # that is presented again, among others or alone, must give the same code.
        images = pad(images, (0,) * 7 + (-num_images % BATCH,))
        pairs = [self._encode_batch(batch) for batch in images.split(BATCH)]
        weights, codes = (
            torch.cat(parts)[:num_images].cpu().numpy() for parts in zip(*pairs, strict=True)
        )
        return EncodedItems(np.zeros(num_images, np.int64), weights, codes)

    def _encode_batch(self, images: Tensor) -> tuple[Tensor, Tensor]:
        weights, codes, code_var = self.model.address_images(images)
        episode = checked_episode(weights, codes, self.noise_var, code_var).to_float64()
        # An item with more noise counts less: the same as smaller weights and a smaller code.
        share = (self.noise_var / episode.noise_var).sqrt()[:, None]
        return share * episode.weights, share * episode.codes

    def read(
        self, cues: Items, block: Callable[[int], Block], *, num_readings: int | None
    ) -> Answer:
        self._check_unchanged()
        images = _checked_images(cues, "cues").to(self.model.device, self._dtype)
        found = block(0)
        memory = found.memory.to(self._dtype).to(self.model.device)
        result = self.model.read(images, memory, num_readings=num_readings)
        weights, confidence = result.weights.cpu(), confidence_of(result).cpu()
        return Answer(
            items=result.images.cpu(),
            confidence=confidence if found.ages else torch.zeros_like(confidence),
            codes=weights.double() @ found.memory._mean,
            weights=weights,
            blocks=torch.zeros(len(images), dtype=torch.int64),
        )


def confidence_of(result: ReadResult) -> Tensor:
    """How sure a model is that what it read was written, (T,) between 0 and 1."""
    return result.confidence


def find_model(model: KanervaMachine | str) -> tuple[KanervaMachine, str | None]:
    """The model, and the name by which it can be found again."""
    if isinstance(model, KanervaMachine):
        return model, None
    found, _ = load_with_card(model)
    if not isinstance(found, KanervaMachine):
        raise KanervaError(
            "model",
            expected="a Kanerva Machine",
            got=f"a {type(found).__name__} in '{model}'",
            fix="Name a Kanerva Machine, for example omniglot.",
        )
    return found, model if model in SHIPPED else str(absolute(Path(model)))


def _versions(model: KanervaMachine) -> list[tuple[int, int]]:
    """Numbers that change when parameters are changed in place, or replaced."""
    tensors = model.state_dict().values()
    return [(one.data_ptr(), 0 if one.is_inference() else one._version) for one in tensors]


def model_fingerprint(model: KanervaMachine) -> str:
    """SHA-256 of the parameters and the config of a model."""
    digest = hashlib.sha256(json.dumps(config_to_dict(model.config), sort_keys=True).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def _checked_images(images: Items, argument: str) -> Tensor:
    """A tensor; the model checks its shape and numbers."""
    tensor = to_float_tensor(argument, images)
    if tensor.dim() != 4:
        raise KanervaError(
            argument,
            expected="images (T, channels, H, W)",
            got=f"shape {tuple(tensor.shape)}",
            fix="One image is image[None]; kanerva.read_images reads files.",
        )
    return tensor
