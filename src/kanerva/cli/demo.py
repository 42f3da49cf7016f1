"""`kanerva demo`: the shipped model writes, repairs and invents letterforms it has never seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import torch
    from PIL import Image
    from torch import Tensor

NUM_ITEMS, NUM_SHOWN, NUM_EPISODES, NUM_READINGS = 32, 16, 10, 6


def demo(*, picture: Path | None = None, overwrite: bool = False, seed: int = 0) -> None:
    """Write letterforms, read them from damaged cues, generate new ones. Takes seconds, off-line.

    Args:
        picture: where to save the picture of what was written, damaged, read and generated, as
            .png; by default runs/demo.png.
        overwrite: replace a file that is there already.
        seed: seed of the letterforms, the damage and the new images.

    """
    from kanerva.atomic import write_atomically
    from kanerva.cli.options import check_seed
    from kanerva.cli.outputs import check_picture_file
    from kanerva.errors import printable
    from kanerva.rendering.image_grid import png

    file = picture or Path("runs/demo.png")
    replace = overwrite or picture is None
    check_picture_file("--picture", file, overwrite=replace, endings=(".png",))
    check_seed(seed)
    result = run_demo(seed=seed)
    write_atomically(file, png(result.picture))
    for line in result.lines:
        print(line)
    print(printable(f"picture: {file}"))


class DemoResult(NamedTuple):
    """What the demo prints, its picture, and the numbers in them."""

    lines: list[str]
    picture: Image.Image
    bound: float
    """Nats per image of the Kanerva Machine."""
    vae_bound: float
    """Nats per image of the VAE with the same networks, for the same images."""
    damaged_error: float
    """Mean absolute difference of pixels between the cues and what was written."""
    errors: list[float]
    """The same difference after each reading."""


def run_demo(*, seed: int) -> DemoResult:
    """Run the shipped models on letterforms, and say in words what came out."""
    import torch

    from kanerva.data.damage import damage
    from kanerva.memory import memory_kl
    from kanerva.models.checkpoint import load
    from kanerva.models.vae import VAE
    from kanerva.rendering.image_grid import image_grid

    machine, vae = load("omniglot"), load("omniglot-vae", kind=VAE)
    generator = torch.Generator().manual_seed(seed)
    episodes = draw_episodes(NUM_EPISODES, generator)
    bound, vae_bound = (
        model.elbo(episodes, generator=torch.Generator().manual_seed(seed)).total.mean().item()
        for model in (machine, vae)
    )
    written = episodes[0]
    memory = machine.write(written)
    cues = damage(written, "block12", generator=generator)
    result = machine.read(cues, memory, num_readings=NUM_READINGS)
    new = machine.generate(memory, NUM_SHOWN, generator=generator)
    damaged_error, *errors = [
        (images - written).abs().mean().item() for images in (cues, *result.steps)
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
    lines = [
        f"{NUM_EPISODES} episodes of {NUM_ITEMS} letterforms; the model was trained on handwriting",
        f"bound: {bound:.1f} nats per image with the memory, {vae_bound:.1f} for a VAE without",
        f"wrote {NUM_ITEMS} of them: {nats / NUM_ITEMS:.0f} nats of memory per image",
        f"one by one and backwards instead: the memory differs by {difference:.0e}",
        f"put a 12 x 12 block of ink on each: error {damaged_error:.3f}",
        "read back:  " + "  ".join(f"{error:.3f}" for error in errors),
        f"confidence: {known:.2f} for what was written, {unknown:.2f} for what was not",
    ]
    rows = {"written": written, "damaged": cues}
    rows |= {f"reading {number}": result.steps[number - 1] for number in (1, 2, 4, 6)}
    rows |= {"new": new}
    picture = image_grid({label: row[:NUM_SHOWN] for label, row in rows.items()})
    return DemoResult(lines, picture, bound, vae_bound, damaged_error, errors)


def draw_episodes(num: int, generator: torch.Generator) -> Tensor:
    """Draw letterforms (num, NUM_ITEMS, 1, 28, 28) with ink 1, each of another glyph."""
    import torch

    from kanerva.data.episodes import THRESHOLD
    from kanerva.data.glyphs import render_glyphs
    from kanerva.data.hershey import glyphs

    order = torch.randperm(len(glyphs()), generator=generator)[: num * NUM_ITEMS]
    seed = int(torch.randint(2**31, (), generator=generator))
    drawn = render_glyphs(order, seed=seed) > THRESHOLD
    return drawn.float().reshape(num, NUM_ITEMS, *drawn.shape[1:])
