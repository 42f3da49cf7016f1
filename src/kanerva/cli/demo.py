"""`kanerva demo`: write the alphabet, recall it from damaged cues, merge and forget."""

from pathlib import Path


def demo(*, picture: Path = Path("runs/demo.png"), seed: int = 0) -> None:
    """Write 26 letters into a memory, recall them from damaged cues, merge, forget. Seconds.

    Args:
        picture: where to save the picture of letters, cues and recalls.
        seed: of the random addresses and of the damage.

    """
    from kanerva.cli.options import check_picture, check_seed
    from kanerva.evaluation.letters import run_letters

    check_picture(picture)
    check_seed(seed)
    result = run_letters(seed=seed)
    picture.parent.mkdir(parents=True, exist_ok=True)
    result.picture.save(picture)
    for line in result.story:
        print(line)
    print(f"picture: {picture} (rows: written, damaged cue, then each recall)")
