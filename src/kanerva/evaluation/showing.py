"""The shipped model at work on letterforms it has never seen: what `kanerva demo` shows."""

from typing import NamedTuple

import torch
from PIL import Image
from torch import Tensor

from kanerva.data.damage import damage
from kanerva.data.episodes import THRESHOLD
from kanerva.data.glyphs import render_glyphs
from kanerva.data.hershey import glyphs
from kanerva.evaluation.sheet import sheet
from kanerva.memory import memory_kl
from kanerva.models.checkpoint import load

NUM_ITEMS, NUM_SHOWN, NUM_EPISODES, ITERATIONS = 32, 16, 10, 6


class Showing(NamedTuple):
    """What came out of it."""

    story: list[str]
    picture: Image.Image
    bound: float
    """Nats per image of the Kanerva Machine."""
    vae_bound: float
    """And of its VAE twin, on the same images."""
    damaged_error: float
    """Mean absolute difference of pixels between cue and what was written."""
    errors: list[float]
    """The same after each reading."""


def show(*, seed: int) -> Showing:
    machine = load("omniglot")
    generator = torch.Generator().manual_seed(seed)
    episodes = draw_episodes(NUM_EPISODES, generator)
    bound, vae_bound = (
        model.elbo(episodes, generator=torch.Generator().manual_seed(seed)).total.mean().item()
        for model in (machine, load("omniglot-vae"))
    )
    written = episodes[0]
    memory = machine.write(written)
    cues = damage(written, "block12", generator=generator)
    recalled = machine.read(cues, memory, num_readings=ITERATIONS)
    new = machine.generate(memory, NUM_SHOWN, generator=generator)
    damaged_error, *errors = [
        (images - written).abs().mean().item() for images in (cues, *recalled.steps)
    ]
    known, unknown = (
        machine.read(images, memory, num_readings=1).confidence.mean().item()
        for images in (written, episodes[1])
    )
    one_by_one = machine.prior_memory()
    for image in reversed(written.unbind()):
        one_by_one = machine.write(image[None], one_by_one)
    difference = (one_by_one.mean - memory.mean).abs().max() / memory.mean.abs().max()
    nats = memory_kl(memory, machine.prior_memory()).item()
    story = [
        f"{NUM_EPISODES} episodes of {NUM_ITEMS} letterforms; the model was trained on handwriting",
        f"bound: {bound:.1f} nats per image with the memory, {vae_bound:.1f} for a VAE without",
        f"wrote {NUM_ITEMS} of them: {nats / NUM_ITEMS:.0f} nats of memory per image",
        f"one by one and backwards instead: the memory differs by {difference:.0e}",
        f"put a 12 x 12 block of ink on each: error {damaged_error:.3f}",
        "read back:  " + "  ".join(f"{error:.3f}" for error in errors),
        f"confidence: {known:.2f} for what was written, {unknown:.2f} for what was not",
    ]
    rows = {"written": written, "damaged": cues}
    rows |= {f"reading {number}": recalled.steps[number - 1] for number in (1, 2, 4, 6)}
    rows |= {"new": new}
    picture = sheet({label: row[:NUM_SHOWN] for label, row in rows.items()})
    return Showing(story, picture, bound, vae_bound, damaged_error, errors)


def draw_episodes(num: int, generator: torch.Generator) -> Tensor:
    """Letterforms (num, NUM_ITEMS, 1, 28, 28), each of another glyph, ink 1."""
    order = torch.randperm(len(glyphs()), generator=generator)[: num * NUM_ITEMS]
    seed = int(torch.randint(2**31, (), generator=generator))
    drawn = render_glyphs(order, seed=seed) > THRESHOLD
    return drawn.float().reshape(num, NUM_ITEMS, *drawn.shape[1:])
