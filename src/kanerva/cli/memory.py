"""`kanerva memory new | write | read | forget | merge | info | export`: memories on disk."""

import json as jsonlib
from pathlib import Path
from typing import Literal

from tyro.conf import Positional

from kanerva.cli.memory_reports import in_command_words
from kanerva.cli.memory_use import export, forget, info, read


def new(
    memory: Positional[Path],
    *,
    model: str | None = None,
    num_items: int | None = None,
    size: int | None = None,
    value_size: int | None = None,
    error: float | None = None,
    rows_per_item: float | None = None,
    cue_noise: float | None = None,
    largest: float | None = None,
    sample: Path | None = None,
    seed: int | None = None,
    ledger: bool = False,
    half_life: float | None = None,
    dtype: Literal["float32", "float64"] = "float32",
    json: bool = False,
) -> None:
    """Create an empty memory on disk, for images (--model) or for vectors (--num-items, --size).

    Args:
        memory: FOLDER/NAME; the folder is made if it is missing.
        model: for images: omniglot, a checkpoint file or a run folder.
        num_items: for vectors: how many items the memory will hold.
        size: for vectors: entries of a vector, or of a key.
        value_size: for vectors: entries of the value that belongs to a key; by default 0, which
            stores vectors by themselves.
        error: for vectors: wanted error of a reading relative to the vector, when the memory is
            full; by default 0.5.
        rows_per_item: for vectors: rows for each item, in place of --error.
        cue_noise: for vectors: expected noise on a cue, relative to its vector; by default 0.1.
        largest: for vectors: the largest entry of vectors, or of values; by default four times that
            of --sample, or 32.
        sample: for vectors: a .npy file with some of them, to learn their mean and range.
        seed: for vectors: seed of the random features; by default 0.
        ledger: keep each item, to delete it by its id.
        half_life: seconds after which an item counts half.
        dtype: the numbers of readings.
        json: print one JSON object and nothing else.

    """
    import torch

    from kanerva.cli.memory_files import array_from, located, say_bytes
    from kanerva.errors import KanervaError, printable
    from kanerva.store import plan_vectors

    of_vectors = {
        "num_items": num_items,
        "size": size,
        "value_size": value_size,
        "error": error,
        "rows_per_item": rows_per_item,
        "cue_noise": cue_noise,
        "largest": largest,
        "sample": sample,
        "seed": seed,
    }
    given = {option: value for option, value in of_vectors.items() if value is not None}
    if model is not None and given:
        option = next(iter(given)).replace("_", "-")
        raise KanervaError(
            f"--{option}",
            expected="a memory of vectors",
            got="--model too, which makes a memory of images",
            fix=f"Leave --{option} out, or --model.",
        )
    if model is None and not {"num_items", "size"} <= given.keys():
        missing = [
            f"--{one.replace('_', '-')}" for one in ("num_items", "size") if one not in given
        ]
        raise KanervaError(
            " and ".join(missing) if given else "--model",
            expected="--model for images, or --num-items and --size for vectors",
            got="none" if given else "neither",
            fix="Write for example --model omniglot, or --num-items 10000 --size 384.",
        )
    plan = None
    if model is None:
        if sample is not None:
            given["sample"] = array_from("--sample", sample)
        plan = plan_vectors(**given)  # pyright: ignore[reportArgumentType]
    store, name = located(memory)
    with store:
        chosen = torch.float64 if dtype == "float64" else torch.float32
        store.create(name, model=model, plan=plan, ledger=ledger, half_life=half_life, dtype=chosen)
        info = store.info(name)
    report: dict[str, object] = {"memory": str(memory), **vars(info)}
    if plan is not None:
        report |= {"predicted_error": plan.predicted_error, "planned_bytes": plan.num_bytes}
    if json:
        print(jsonlib.dumps(report))
        return
    print(printable(f"created {memory}: {info.num_rows} rows in {info.num_blocks} blocks"))
    if plan is not None:
        print(
            f"expected error of a reading: {plan.predicted_error:.2f} with {num_items:,} items, "
            f"in {say_bytes(plan.num_bytes)}"
        )


def write(
    memory: Positional[Path],
    items: Positional[tuple[Path, ...]],
    *,
    values: Path | None = None,
    ids: Path | None = None,
    labels: Path | None = None,
    skip_below: float | None = None,
    json: bool = False,
) -> None:
    """Write images, or the vectors of a .npy file. What was written is on disk.

    Args:
        memory: FOLDER/NAME.
        items: images and folders of images, or one .npy file.
        values: a .npy file with a value for each key.
        ids: a text file with the id of each item; by default random ids. Only with a ledger.
        labels: a text file with a label for each item; by default the names of image files. Only
            with a ledger.
        skip_below: leave out items from which the memory would learn less than this, in nats.
        json: print one JSON object and nothing else.

    """
    from kanerva.cli.memory_files import (
        array_from,
        items_from,
        lines_of,
        located,
        path_as_text,
    )
    from kanerva.cli.memory_reports import say_partly_written, written_report
    from kanerva.errors import printable

    store, name = located(memory)
    with store:
        found = items_from(store, name, items, argument="items")
        words = lines_of("--labels", labels)
        payloads = None
        if found.names is not None and store.info(name).ledger:
            payloads = [path_as_text(Path(file).absolute()) for file in found.names]
            if words is None:
                words = [path_as_text(Path(file).name) for file in found.names]
        try:
            written = store.write(
                name,
                found.items,
                values=None if values is None else array_from("--values", values),
                ids=lines_of("--ids", ids),
                labels=words,
                payloads=payloads,
                skip_below=skip_below,
                show_progress=not json,
            )
        except BaseException as error:
            say_partly_written(memory, error, json=json)
            raise
        info = store.info(name)
    if json:
        facts = {"num_items": info.num_items, "state": info.state}
        print(jsonlib.dumps(written_report(memory, written) | facts))
        return
    known = f", {len(written.skipped)} known already" if written.skipped else ""
    print(f"wrote {written.num_written:,} items{known}; {info.num_items:,} in memory")
    for position, one in enumerate(written.ids[:20]):
        label = "" if words is None else f"  {words[position]}"
        print(printable(f"  {one}{label if not written.skipped else ''}"))
    if len(written.ids) > 20:
        print(f"  ... {len(written.ids) - 20:,} more; --json lists all")


def merge(
    sources: Positional[tuple[Path, ...]],
    *,
    out: Path,
    json: bool = False,
) -> None:
    """Merge memories: the result is the same as if one process had written everything.

    Args:
        sources: memories as FOLDER/NAME, or files that `kanerva memory export` wrote.
        out: FOLDER/NAME of the memory to merge into. It is created like the first source if it is
            missing, with a ledger if all sources have one.
        json: print one JSON object and nothing else.

    """
    from kanerva.cli.memory_files import located
    from kanerva.errors import printable

    store, name = located(out)
    with store:
        made = name not in store.names()
        if made:
            store.create_like(name, [source.absolute() for source in sources])
        try:
            state = store.merge(name, [source.absolute() for source in sources])
        except BaseException:
            if made:
                store.delete(name)
            raise
        info = store.info(name)
    report = {"memory": str(out), "num_items": info.num_items, "state": state}
    text = printable(f"{out}: {info.num_items:,} items, state {state[:16]}")
    print(jsonlib.dumps(report) if json else text)


MEMORY_COMMANDS = {
    command.__name__: in_command_words(command)
    for command in (new, write, read, forget, merge, info, export)
}
"""The commands after `kanerva memory`."""
