"""`kanerva generate CHECKPOINT`: new images like what was written."""

import json as jsonlib
from pathlib import Path

from tyro.conf import Positional


def generate(
    checkpoint: Positional[str],
    *,
    memory: tuple[Path, ...] = (),
    num: int = 16,
    iterations: int = 8,
    sample: bool = False,
    out: Path = Path("runs/generate.png"),
    seed: int = 0,
    device: str | None = None,
    json: bool = False,
) -> None:
    """Make new images: an address from its prior, then iterative reading (section 3.5).

    Args:
        checkpoint: omniglot, a checkpoint file or a run folder.
        memory: images, or folders of them, to write first; without any, the prior is read.
        num: how many new images.
        iterations: how often to read.
        sample: draw z and x, too, instead of taking means.
        out: where to save the picture: .png with a row for every other reading, or .gif for a film.
        seed: of all sampling.
        device: cpu or cuda; by default a GPU where there is one.
        json: print one JSON object and nothing else.

    """
    from kanerva.cli.options import check_positive, check_seed
    from kanerva.cli.own import check_out, load_remembering, memory_of, save_rows

    check_seed(seed)
    check_positive("--num", num)
    check_out(out, *memory)
    import torch

    from kanerva.models.coder import check_iterations

    check_iterations(iterations, at_least=0)
    model, _ = load_remembering(checkpoint, device)
    state, written = memory_of(model, memory)
    generator = torch.Generator(next(model.parameters()).device).manual_seed(seed)
    steps: dict[str, torch.Tensor] = {}
    model.generate(
        state,
        num,
        iterations=iterations,
        sample=sample,
        generator=generator,
        watch=lambda number, images: steps.update({f"reading {number}": images}),
    )
    every = 1 if out.suffix.lower() == ".gif" else 2
    rows = dict(list(steps.items())[iterations % every :: every])
    save_rows(out, rows)
    report = {"num": num, "iterations": iterations, "written": written, "out": str(out)}
    print(jsonlib.dumps(report) if json else f"picture: {out}")
