"""`kanerva bench`: the memory's speed as ratios, and its stability over a million writes."""

from pathlib import Path


def bench(
    *, out: Path = Path("runs/bench.json"), quick: bool = False, seed: int = 0, json: bool = False
) -> None:
    """Time the memory against the bare matrix products that it needs, side by side in one run.

    Args:
        out: where to write the numbers as JSON.
        quick: use small sizes, to see that it works; the ratios mean nothing then.
        seed: seed of the random items.
        json: print the JSON object and nothing else.

    """
    from kanerva.benchmarks.bench import run_bench
    from kanerva.cli.options import check_seed

    check_seed(seed)
    out.parent.mkdir(parents=True, exist_ok=True)
    run_bench(out=out, quick=quick, seed=seed, show=not json)
    if json:
        print(out.read_text(), end="")
