"""`kanerva bench`: the memory's speed as ratios, and its stability over a million writes."""

from pathlib import Path


def bench(
    *,
    out: Path | None = None,
    overwrite: bool = False,
    quick: bool = False,
    seed: int = 0,
    json: bool = False,
) -> None:
    """Time the memory against the bare matrix products that it needs, side by side in one run.

    Args:
        out: where to write the numbers as JSON; by default runs/bench.json.
        overwrite: replace a file that is there already.
        quick: use small sizes, to see that it works; the ratios mean nothing then.
        seed: seed of the random items.
        json: print the JSON object and nothing else.

    """
    from kanerva.benchmarks.bench import run_bench
    from kanerva.cli.options import check_seed
    from kanerva.cli.outputs import check_file

    check_seed(seed)
    file = out or Path("runs/bench.json")
    check_file("--out", file, overwrite=overwrite or out is None)
    run_bench(out=file, quick=quick, seed=seed, show=not json)
    if json:
        print(file.read_text(), end="")
