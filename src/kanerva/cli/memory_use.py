"""`kanerva memory read | forget | info | export`."""

import json as jsonlib
from pathlib import Path

from tyro.conf import Positional


def read(
    memory: Positional[Path],
    cues: Positional[tuple[Path, ...]],
    *,
    threshold: float = 0.5,
    readings: int | None = None,
    explain: int = 0,
    out: Path | None = None,
    overwrite: bool = False,
    json: bool = False,
) -> None:
    """Read what a memory holds for cues, with a confidence; or say that it is not in memory.

    Args:
        memory: FOLDER/NAME.
        cues: images and folders of images, or one .npy file with vectors or keys.
        threshold: the confidence from which on an answer is given.
        readings: how often to read images; by default until nothing changes.
        explain: how many written items to name for each answer; needs a ledger.
        out: where to save the answers: a .png sheet of cues and readings, or a .npy file for
            vectors; rows that are not in memory are NaN there.
        overwrite: replace a file that is there already.
        json: print one JSON object and nothing else.

    """
    import io

    import numpy as np

    from kanerva.atomic import write_atomically
    from kanerva.checks import check_integer
    from kanerva.cli.memory_files import items_from, located
    from kanerva.cli.outputs import check_file, check_picture_file
    from kanerva.cli.user_images import save_picture
    from kanerva.errors import KanervaError, printable

    check_integer("--explain", explain, at_least=0, at_most=1000, fix="3 is a good start.")
    if overwrite and out is None:
        raise KanervaError(
            "--overwrite", expected="--out with the file to replace", got="no --out",
            fix="Leave --overwrite out, or say where to save: --out FILE.",
        )  # fmt: skip
    store, name = located(memory)
    with store:
        images = store.info(name).kind == "images"
        if out is not None and images:
            check_picture_file("--out", out, inputs=cues, overwrite=overwrite, endings=(".png",))
        elif out is not None:
            if out.suffix != ".npy":
                raise KanervaError(
                    "--out", expected="a name that ends in .npy", got=f"'{out}'",
                    fix="Write for example --out answers.npy.",
                )  # fmt: skip
            check_file("--out", out, inputs=cues, overwrite=overwrite)
        found = items_from(store, name, cues, argument="cues")
        result = store.read(name, found.items, threshold=threshold, num_readings=readings)
        causes = store.attribute(name, found.items, num_readings=readings) if explain else []
    answers = []
    for position, known in enumerate(result.known.tolist()):
        answer: dict[str, object] = {
            "cue": found.names[position] if found.names else position,
            "confidence": float(result.confidence[position]),
            "known": known,
        }
        if explain:
            cause = causes[position]
            together = cause.contributions.sum(0).norm().clamp_min(1e-300)
            shares = cause.contributions.norm(dim=1) / together
            answer["from"] = [
                {"id": one, "label": label, "share": float(share), "sign": float(sign.sign())}
                for one, label, share, sign in zip(
                    cause.ids[:explain], cause.labels, shares, cause.shares, strict=False
                )
            ]
        answers.append(answer)
    if out is not None and images:
        save_picture(out, {"cues": found.items, "readings": result.items})  # pyright: ignore
    elif out is not None:
        answer_rows = result.items.clone()
        answer_rows[~result.known] = float("nan")
        contents = io.BytesIO()
        np.save(contents, answer_rows.numpy())
        write_atomically(out, contents.getvalue())
    if json:
        print(jsonlib.dumps({"memory": str(memory), "read": answers, "out": out and str(out)}))
        return
    for answer in answers[:50]:
        verdict = "in memory" if answer["known"] else "not in memory"
        print(printable(f"{answer['cue']}: {verdict} (confidence {answer['confidence']:.2f})"))
        causes_shown = answer.get("from", [])
        assert isinstance(causes_shown, list)
        for one in causes_shown if answer["known"] else []:
            label = f"  {one['label']}" if one["label"] else ""
            print(printable(f"  {one['share'] * one['sign']:+.2f}  {one['id']}{label}"))
    if len(answers) > 50:
        print(f"... {len(answers) - 50:,} more; --json lists all")


def forget(
    memory: Positional[Path],
    *,
    ids: tuple[str, ...] | None = None,
    items: tuple[Path, ...] | None = None,
    values: Path | None = None,
    time: float | None = None,
    verify: bool = False,
    purge: bool = True,
    json: bool = False,
) -> None:
    """Delete items exactly, and print a receipt.

    Args:
        memory: FOLDER/NAME.
        ids: with a ledger: the ids to delete.
        items: without a ledger: the images, or a .npy file with the vectors, to delete.
        values: a .npy file with the values of those keys.
        time: when the items were written, in seconds since 1970; a memory that fades without a
            ledger needs it.
        verify: rebuild the memory from its ledger and report the distance.
        purge: remove every trace from all files now.
        json: print one JSON object and nothing else.

    """
    from kanerva.cli.memory_files import array_from, items_from, located
    from kanerva.errors import printable

    store, name = located(memory)
    with store:
        found = None if items is None else items_from(store, name, items, argument="--items").items
        receipt = store.forget(
            name,
            None if ids is None else list(ids),
            items=found,
            values=None if values is None else array_from("--values", values),
            time=time,
            verify=verify,
            purge=purge,
        )
    if json:
        print(receipt.to_json())
        return
    print(printable(f"deleted {receipt.num_items} items from {memory}: {', '.join(receipt.ids)}"))
    print(f"state before: {receipt.before}\nstate after:  {receipt.after}")
    if receipt.distance is not None:
        print(f"distance to a memory rebuilt without them: {receipt.distance:g}")
    print(
        "every trace is gone from the files"
        if receipt.purged
        else "traces may be in the files until the memory is purged"
    )


def info(memory: Positional[Path], *, verify: bool = False, json: bool = False) -> None:
    """Say what a memory is and holds.

    Args:
        memory: FOLDER/NAME.
        verify: check all checksums, rebuild the memory from its ledger, and report the distance.
        json: print one JSON object and nothing else.

    """
    from kanerva.cli.memory_files import located, say_bytes

    store, name = located(memory)
    with store:
        found = store.info(name, verify=verify)
    if json:
        print(jsonlib.dumps({"memory": str(memory), **vars(found)}))
        return
    shown = {**vars(found), "num_bytes": say_bytes(found.num_bytes)}
    for key, value in shown.items():
        if value is not None and key != "distance":
            print(f"{key.replace('_', ' '):<12} {value}")
    if verify:
        text = "no ledger" if found.distance is None else f"{found.distance:g}"
        print(f"{'verified':<12} all checksums; distance to a rebuilt memory: {text}")


def export(
    memory: Positional[Path], *, out: Path, overwrite: bool = False, json: bool = False
) -> None:
    """Write the sums of a memory to one safetensors file, without any single item.

    Args:
        memory: FOLDER/NAME.
        out: the file, which ends in .safetensors.
        overwrite: replace a file that is there already.
        json: print one JSON object and nothing else.

    """
    from kanerva.cli.memory_files import located, say_bytes
    from kanerva.cli.outputs import check_file
    from kanerva.errors import printable

    check_file("--out", out, overwrite=overwrite)
    store, name = located(memory)
    with store:
        store.export(name, out)
    size = out.stat().st_size
    report = {"memory": str(memory), "out": str(out), "num_bytes": size}
    print(jsonlib.dumps(report) if json else printable(f"{out}: {say_bytes(size)}"))
