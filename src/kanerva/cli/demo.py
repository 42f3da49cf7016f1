"""`kanerva demo`: the shipped model writes, repairs and invents letterforms."""

from pathlib import Path


def demo(*, picture: Path = Path("runs/demo.png"), seed: int = 0) -> None:
    """Write letterforms, read them back from damaged cues, generate new ones. Seconds, off-line.

    Args:
        picture: where to save the picture of what was written, damaged, read and generated.
        seed: of the letterforms, the damage and the new images.

    """
    from kanerva.atomic import write_atomically
    from kanerva.cli.options import check_picture, check_seed
    from kanerva.evaluation.sheet import png
    from kanerva.evaluation.showing import show

    check_picture(picture)
    check_seed(seed)
    result = show(seed=seed)
    write_atomically(picture, png(result.picture))
    for line in result.story:
        print(line)
    print(f"picture: {picture}")
