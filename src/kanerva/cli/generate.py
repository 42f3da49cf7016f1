"""`kanerva generate CHECKPOINT`: new images like those that were written."""

import json as jsonlib
from pathlib import Path

from tyro.conf import Positional


def generate(
    checkpoint: Positional[str],
    *,
    memory: tuple[Path, ...] = (),
    num: int = 16,
    readings: int = 8,
    sample: bool = False,
    out: Path = Path("runs/generate.png"),
    seed: int = 0,
    device: str | None = None,
    json: bool = False,
) -> None:
    """Make new images: draw an address code from its prior, then read repeatedly (section 3.5).

    Args:
        checkpoint: omniglot, a checkpoint file or a run folder.
        memory: images, or folders of images, to write first; without them the learned prior is
            read.
        num: number of new images.
        readings: how often to read.
        sample: draw z and x as well, instead of taking means.
        out: where to save the picture: .png with a row for every second reading, or .gif for an
            animation.
        seed: seed of all samples.
        device: cpu or cuda; by default a GPU if there is one.
        json: print one JSON object and nothing else.

    """
    import torch

    from kanerva.checks import check_integer
    from kanerva.cli.options import check_seed, choose_device
    from kanerva.cli.user_images import check_output, save_picture, write_user_images
    from kanerva.models.checkpoint import load_memory_model

    check_seed(seed)
    check_integer("--num", num, fix="Say how many images to make, for example 16.")
    check_integer(
        "--readings", readings, at_least=0, fix="8 is a good start; 0 shows the first images."
    )
    check_output(out, *memory)
    model, _ = load_memory_model(checkpoint, device=choose_device(device))
    state, written = write_user_images(model, memory)
    generator = torch.Generator(model.device).manual_seed(seed)
    steps: dict[str, torch.Tensor] = {}
    model.generate(
        state,
        num,
        num_readings=readings,
        sample=sample,
        generator=generator,
        on_reading=lambda number, images: steps.update({f"reading {number}": images}),
    )
    every = 1 if out.suffix.lower() == ".gif" else 2
    rows = dict(list(steps.items())[readings % every :: every])
    save_picture(out, rows)
    report = {"num": num, "readings": readings, "written": written, "out": str(out)}
    print(jsonlib.dumps(report) if json else f"picture: {out}")
