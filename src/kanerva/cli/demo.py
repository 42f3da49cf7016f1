"""`kanerva demo`: the shipped models write, repair and invent letterforms they have never seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import torch
    from PIL import Image
    from torch import Tensor

NUM_ITEMS, NUM_SHOWN, NUM_EPISODES = 32, 16, 5


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
    damaged_error: float
    """Mean absolute difference of pixels between the cues and what was written."""
    errors: list[float]
    """The same difference after each reading."""
    recognised: float
    """Share of the readings that are closest to their own original."""


def run_demo(*, seed: int) -> DemoResult:
    """Run the shipped models on letterforms, and say in words what came out."""
    import torch

    from kanerva.data.damage import damage
    from kanerva.evaluation.baselines import nearest_images
    from kanerva.memory import memory_kl
    from kanerva.models.checkpoint import load
    from kanerva.rendering.image_grid import image_grid

    machine = load("handwriting")
    generator = torch.Generator().manual_seed(seed)
    episodes = draw_episodes(NUM_EPISODES, generator, unseen=True)
    memories = machine.write(episodes)
    cues = damage(episodes, "block12", generator=generator)
    result = machine.read(cues, memories)
    nearest = nearest_images(cues, episodes)
    damaged_error, *errors = [
        (images - episodes).abs().mean().item() for images in (cues, *result.steps)
    ]
    strangers = machine.read(cues.roll(1, 0), memories).confidence.mean().item()
    written, memory = episodes[0], machine.write(episodes[0])
    one_by_one = machine.prior_memory()
    for image in reversed(written.unbind()):
        one_by_one = machine.write(image[None], one_by_one)
    difference = (one_by_one.mean - memory.mean).abs().max() / memory.mean.abs().max()
    nats = memory_kl(memory, machine.prior_memory()).item()
    recognised = _recognised(result.images, episodes)
    examples, new = _new_drawings(generator)
    lines = [
        f"{NUM_EPISODES} memories of {NUM_ITEMS} letterforms, in fonts that the model has not seen",
        f"each image takes {nats / NUM_ITEMS:.0f} nats of memory",
        f"one by one and backwards instead: the memory differs by {difference:.0e}",
        f"put a 12 x 12 block of ink on each: error {damaged_error:.3f}",
        "read back:  " + "  ".join(f"{error:.3f}" for error in errors),
        f"recognised: {recognised:.0%}; by the nearest of the images, if you keep them: "
        f"{_recognised(nearest, episodes):.0%}",
        f"confidence: {result.confidence.mean():.2f} for what was written, "
        f"{strangers:.2f} for what was not",
    ]
    first = {"written": written, "damaged": cues[0]}
    shown = sorted({1, len(result.steps)})
    first |= {f"reading {number}": result.steps[number - 1][0] for number in shown}
    rows = {label: row[:NUM_SHOWN] for label, row in first.items()}
    picture = image_grid({**rows, "examples": examples, "new": new})
    return DemoResult(lines, picture, damaged_error, errors, recognised)


def _recognised(read: Tensor, images: Tensor) -> float:
    """The share of readings (B, T, ...) that are closest to their own original."""
    import torch

    distance = torch.cdist(read.flatten(2), images.flatten(2), p=1)
    own = torch.arange(images.shape[1])
    return (distance.argmin(-1) == own).float().mean().item()


def _new_drawings(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Drawings of four letterforms, and new ones of each: (NUM_SHOWN, 1, 28, 28) both."""
    import torch

    from kanerva.models.checkpoint import load

    each = NUM_SHOWN // 4
    classes = _classes(unseen=True)
    chosen = classes[torch.randperm(len(classes), generator=generator)[:4]]
    examples = _drawn(chosen.repeat_interleave(each), generator).unflatten(0, (4, each))
    model = load("fewshot")
    new = model.generate(model.write(examples), each, generator=generator)
    return examples.flatten(0, 1), new.flatten(0, 1)


def draw_episodes(num: int, generator: torch.Generator, *, unseen: bool = False) -> Tensor:
    """Draw letterforms (num, NUM_ITEMS, 1, 28, 28) with ink 1, each of another glyph.

    With `unseen` they are in fonts that the model `handwriting` was not trained on.
    """
    import torch

    classes = _classes(unseen=unseen)
    order = classes[torch.randperm(len(classes), generator=generator)[: num * NUM_ITEMS]]
    return _drawn(order, generator).unflatten(0, (num, NUM_ITEMS))


def _classes(*, unseen: bool) -> Tensor:
    """The numbers of all letterforms, or of those in fonts that were not trained on."""
    import torch

    from kanerva.data.handwriting import UNSEEN_FONTS
    from kanerva.data.hershey import glyphs

    fonts = [glyph.name.split("/")[0] for glyph in glyphs()]
    return torch.tensor([n for n, font in enumerate(fonts) if not unseen or font in UNSEEN_FONTS])


def _drawn(classes: Tensor, generator: torch.Generator) -> Tensor:
    """Letterforms (N, 1, 28, 28) with ink 1."""
    import torch

    from kanerva.data.episodes import THRESHOLD
    from kanerva.data.glyphs import render_glyphs

    seed = int(torch.randint(2**31, (), generator=generator))
    return (render_glyphs(classes, seed=seed) > THRESHOLD).float()
