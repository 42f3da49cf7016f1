"""Each figure of images, drawn from saved results."""

from collections.abc import Callable

import numpy as np
from PIL import Image

from kanerva.figures.drawings import SCALE, Drawn, rows_to_json
from kanerva.figures.results import MissingResultError, Results, Rows
from kanerva.rendering.image_grid import beside, image_grid, stacked


def reconstruction(results: Results) -> Drawn:
    """Figure memory, left: what is read, and with which weights."""
    found = results.reconstruction("omniglot")
    rows = {"written": found.written, "read": found.read}
    num_rows = len(found.weights[0])
    data = {
        **rows_to_json(rows),
        "weights": found.weights,
        "rows_used": found.rows_used,
        "rows_used_stderr": found.rows_used_stderr,
    }
    picture = image_grid(rows, bars={"weights": found.weights}, scale=SCALE)
    verdict = (
        f"{'Reproduced' if found.rows_used > num_rows / 4 else 'Not reproduced'}: weights are "
        f"spread widely. A reading uses {found.rows_used:.0f} of {num_rows} rows."
    )
    ours = (
        f"A reading uses {found.rows_used:.1f} ± {found.rows_used_stderr:.1f} of {num_rows} rows "
        "(effective number over 50 episodes): weights are distributed."
    )
    return Drawn(picture, ours, data, verdict)


def repair(results: Results) -> Drawn:
    """Figure memory, right: damaged images over readings, by a model that was trained for it."""
    rows, measured = results.image_rows("omniglot", "repair"), results.denoising()
    errors = ", ".join(f"{error:.3f}" for error in measured.errors)
    ours = (
        f"Mean error of a pixel over {measured.num_episodes:,} test episodes: "
        f"{measured.cue_error:.3f} damaged; {errors} after each reading."
    )
    best = min(range(len(measured.errors)), key=lambda number: measured.errors[number])
    verdict = (
        "Different: this model was trained with damaged cues, the paper's was not. The error falls "
        f"until reading {best + 1} ({measured.errors[best]:.3f}), then rises again."
    )
    return _drawn_rows(rows, ours, verdict)


def repair_with_and_without(results: Results) -> Drawn:
    """Figure memory, right: a model that was not trained for it, next to one that was."""
    untrained = results.image_rows("omniglot-paper", "repair")
    trained = results.image_rows("omniglot", "repair")
    figure = beside(
        {
            "not trained for it (the paper's settings)": image_grid(untrained, scale=SCALE),
            "trained with damaged cues (shipped)": image_grid(trained, scale=SCALE),
        }
    )
    data = {"not trained": rows_to_json(untrained), "trained": rows_to_json(trained)}
    measured = results.denoising("denoise-paper")
    errors = ", ".join(f"{error:.3f}" for error in measured.errors[:3])
    verdict = (
        f"{'Reproduced' if measured.falls else 'Not reproduced'}: error without training for it "
        f"{measured.cue_error:.3f} damaged; {errors} after 1, 2, 3 readings."
    )
    return Drawn(figure, "Rows: written, damaged, and after each reading.", data, verdict)


def one_shot(data_set: str, keys: tuple[str, ...], *, verdict: str) -> Callable[[Results], Drawn]:
    """Figures prior-samples and cifar-prior-samples: what is generated after few examples.

    The first panel is the VAE's. Each other panel has its conditioning examples on top. Columns
    are readings.
    """

    def drawn(results: Results) -> Drawn:
        vae = {
            label: row
            for label, row in results.image_rows(data_set, "vae").items()
            if label != "reading 10"
        }
        panels = {"VAE, nothing written": _columns(vae)}
        data: dict[str, object] = {"vae": rows_to_json(vae)}
        for key in keys:
            rows = results.image_rows(data_set, "samples", key)
            written = rows.pop("written")
            if len(written) < 12:
                raise MissingResultError(f"12 written images in {data_set} samples {key}")
            above = image_grid({"": written}, num_columns=6, scale=3)
            words = (
                f"{len(written)} examples of {key} classes"
                if data_set != "cifar10"
                else (f"{len(written)} random examples")
            )
            panels[words] = stacked([above, _columns(rows)])
            data[key] = rows_to_json({"written": written, **rows})
        ours = "Columns: after 0, 2, 4, 6 and 8 readings. On top of a panel: all that was written."
        return Drawn(beside(panels), ours, data, verdict)

    return drawn


def line(*data_sets: str, verdict: str) -> Callable[[Results], Drawn]:
    """Figure interp: images between two others, in weight space."""

    def drawn(results: Results) -> Drawn:
        pictures, data = {}, {}
        for data_set in data_sets:
            rows = results.image_rows(data_set, "line")
            images = list(rows.values())
            pictures[data_set] = image_grid(
                {"": np.concatenate(images)}, num_columns=len(images[0]), scale=SCALE - 1
            )
            data[data_set] = rows_to_json(rows)
        ours = "The ends of a row are two written images. In between, their weights are mixed."
        return Drawn(beside(pictures), ours, data, verdict)

    return drawn


def fed_back(data_set: str, *, verdict: str) -> Callable[[Results], Drawn]:
    """Figure iter_prior_vae, the control: a VAE has no memory to read again."""

    def drawn(results: Results) -> Drawn:
        rows = results.image_rows(data_set, "vae")
        return _drawn_rows(rows, "Samples of our VAE, fed back up to ten times.", verdict)

    return drawn


def _columns(rows: Rows) -> Image.Image:
    """Samples below each other, and a column for each reading."""
    images = list(rows.values())
    across = np.stack(images, axis=1)  # (samples, readings, channels, H, W)
    return image_grid(
        {"": across.reshape(-1, *across.shape[2:])}, num_columns=len(images), scale=SCALE
    )


def _drawn_rows(rows: Rows, ours: str, verdict: str) -> Drawn:
    """Saved images, one row for each label."""
    return Drawn(image_grid(rows, scale=SCALE), ours, rows_to_json(rows), verdict)
