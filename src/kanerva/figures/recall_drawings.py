"""Figures of recall: every kind of damage, next to what a user would pick instead of a memory."""

import dataclasses

import numpy as np

from kanerva.figures import draw
from kanerva.figures.drawings import Drawn, rows_to_json
from kanerva.figures.results import Results
from kanerva.rendering.image_grid import beside, image_grid

MEMORY, NEAREST, HOPFIELD = "memory", "nearest stored image", "modern Hopfield network"


def recall_by_damage(results: Results) -> Drawn:
    """Shares of cues whose own image comes back, and errors of pixels, for each kind of damage."""
    found = results.recall_by_damage()
    shares = {
        MEMORY: [100 * one.recognised for one in found.values()],
        NEAREST: [100 * one.nearest_recognised for one in found.values()],
        HOPFIELD: [100 * one.hopfield_recognised for one in found.values()],
    }
    errors = {
        MEMORY: [one.error for one in found.values()],
        NEAREST: [one.nearest_error for one in found.values()],
        HOPFIELD: [one.hopfield_error for one in found.values()],
        "the cue itself": [one.cue_error for one in found.values()],
    }
    parts = {"own image comes back, % of cues": shares, "mean error of a pixel": errors}
    behind = [
        f"{kind} ({100 * (one.nearest_recognised - one.recognised):.2f} points)"
        for kind, one in found.items()
        if one.nearest_recognised - one.recognised > 0.001
    ]
    worst = min(found, key=lambda kind: found[kind].recognised)
    verdict = (
        f"The memory finds {found[worst].recognised:.2%} of the cues or more (worst: {worst}). "
        f"Behind the nearest stored image by more than 0.1 points: {', '.join(behind) or 'never'}."
    )
    fewest = min(one.num_episodes for one in found.values())
    ours = f"{fewest:,} test episodes for each kind of damage."
    data = {kind: dataclasses.asdict(one) for kind, one in found.items()}
    return Drawn(draw.dots(list(found), parts), ours, data, verdict)


def recall_images(results: Results) -> Drawn:
    """Cues of each kind of damage with what came back, and the first failure of each kind."""
    examples = results.image_rows("handwriting", "recall")
    failures = results.image_rows("handwriting", "failures")
    without = [kind for kind in examples if kind not in failures]
    blank = np.zeros_like(next(iter(examples.values()))[:4])
    first_failures = {kind: failures.get(kind, blank) for kind in examples}
    figure = beside(
        {
            "written, cue, memory, nearest stored image; twice": image_grid(examples),
            "the first failure": image_grid(first_failures),
        }
    )
    verdict = (
        "Left: the first two cues of each kind. Right: the first cue whose reading is nearest to "
        f"another written image. No such cue was found with: {', '.join(without) or '-'}."
    )
    data = {"recall": rows_to_json(examples), "failures": rows_to_json(failures)}
    return Drawn(figure, "Columns: written, cue, memory, nearest stored image.", data, verdict)
