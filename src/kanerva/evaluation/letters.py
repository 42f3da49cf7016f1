"""A small worked example with no training: an alphabet in a Bayesian memory.

Each letter is written under weights made from its own pixels by a fixed random projection, as in
Kanerva's sparse distributed memory. A damaged letter then yields weights near the right ones, and
reading repeatedly (section 3.5) walks back to what was written.
"""

import string
from typing import NamedTuple

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from kanerva.memory import Evidence, MemoryState, condition, memory_kl, predict, recall

SIDE = 20  # pixels
NUM_ROWS = 512
NOISE_VAR = 0.1
FLIPPED = 0.15  # share of pixels inverted in a cue
ITERATIONS = 6


class Letters(NamedTuple):
    """What came out of it."""

    story: list[str]
    picture: Image.Image
    cue_error: float
    errors: list[float]
    """Mean absolute pixel error (0 to 1) after each recall."""
    recognised: int
    """Letters whose last recall is nearest to the letter that was written."""


def run_letters(*, seed: int) -> Letters:
    generator = torch.Generator().manual_seed(seed)
    letters = torch.stack([draw(letter) for letter in string.ascii_uppercase])
    projection = torch.randn(SIDE * SIDE, NUM_ROWS, generator=generator) / SIDE

    def address(images: Tensor) -> Tensor:
        return torch.tanh(images @ projection) * (8 / NUM_ROWS**0.5)

    prior = MemoryState(torch.zeros(NUM_ROWS, SIDE * SIDE), torch.eye(NUM_ROWS))
    memory = condition(prior, address(letters), letters, noise_var=NOISE_VAR)

    flipped = torch.rand(letters.shape, generator=generator) < FLIPPED
    cues = torch.where(flipped, -letters, letters)
    steps = [cues]
    for _ in range(ITERATIONS):
        steps.append(recall(memory, address(steps[-1])).clamp(-1, 1))
    cue_error, *errors = [pixel_error(step, letters) for step in steps]
    nearest = torch.cdist(steps[-1], letters, p=1).argmin(-1)
    recognised = int((nearest == torch.arange(len(letters))).sum())

    def doubt(images: Tensor) -> float:
        return predict(memory, address(images), noise_var=NOISE_VAR).var.mean().item()

    def evidence(images: Tensor) -> Evidence:
        return Evidence.of(address(images), images, noise_var=NOISE_VAR)

    merged = evidence(letters[:13]) + evidence(letters[13:])
    without_z = merged - evidence(letters[25:])
    never_z = condition(prior, address(letters[:25]), letters[:25], noise_var=NOISE_VAR)
    story = [
        f"wrote {len(letters)} letters of {SIDE} x {SIDE} pixels into {NUM_ROWS} rows: "
        f"{memory_kl(memory, prior).item():.0f} nats of memory",
        f"damaged every letter: {FLIPPED:.0%} of its pixels flipped, error {cue_error:.3f}",
        "recalled:  " + "  ".join(f"{error:.3f}" for error in errors),
        f"recognised: {recognised} of {len(letters)} letters",
        f"doubt (variance): {doubt(letters):.2f} for what was written, "
        f"{doubt(cues):.2f} for damaged cues",
        f"two halves merged: mean differs by {difference(merged.posterior(prior), memory):.0e}",
        f"Z forgotten: mean differs from never having seen it by "
        f"{difference(without_z.posterior(prior), never_z):.0e}",
    ]
    return Letters(story, sheet([letters, *steps]), cue_error, errors, recognised)


def draw(letter: str) -> Tensor:
    """One letter as SIDE * SIDE numbers, -1 for paper and 1 for ink."""
    image = Image.new("L", (SIDE, SIDE))
    font = ImageFont.load_default(size=18)
    middle = (SIDE / 2, SIDE / 2)
    ImageDraw.Draw(image).text(middle, letter, fill=255, font=font, anchor="mm")
    return torch.from_numpy(np.asarray(image, dtype=np.float32) / 127.5 - 1).flatten()


def pixel_error(images: Tensor, truth: Tensor) -> float:
    return (images - truth).abs().mean().item() / 2


def difference(left: MemoryState, right: MemoryState) -> float:
    return (left.mean - right.mean).abs().max().item()


def sheet(rows: list[Tensor], *, scale: int = 2, gap: int = 2) -> Image.Image:
    """Rows of images, ink dark on white paper, a thin gap between them."""
    cell = SIDE + gap
    canvas = np.full((len(rows) * cell + gap, len(rows[0]) * cell + gap), 200, dtype=np.uint8)
    for i, row in enumerate(rows):
        for j, image in enumerate(row):
            pixels = ((1 - image.reshape(SIDE, SIDE).numpy()) * 127.5).astype(np.uint8)
            top, left = i * cell + gap, j * cell + gap
            canvas[top : top + SIDE, left : left + SIDE] = pixels
    picture = Image.fromarray(canvas)
    return picture.resize((picture.width * scale, picture.height * scale), Image.Resampling.NEAREST)
