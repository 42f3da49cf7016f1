"""Calibrate a trained `handwriting` model on validation drawers, and save it to be shipped.

    kanerva train handwriting --out runs/handwriting
    python experiments/handwriting.py runs/handwriting src/kanerva/shipped/handwriting.safetensors

Drawers 14 and 15 were not trained on. The test drawers are not looked at.
"""

import argparse
import json
from pathlib import Path

import torch

from kanerva.data import EpisodeSampler, load_dataset
from kanerva.evaluation.calibrate import (
    calibrate_confidence,
    calibrate_gate,
    collect_candidates,
    collect_readings,
    fit_ranking,
)
from kanerva.evaluation.patterns import among, random_patterns
from kanerva.models.checkpoint import load_with_card, save_model
from kanerva.models.kanerva_machine import KanervaMachine

EPISODES = {1: 8, 8: 6, 32: 3, 100: 1}
"""Episodes of each length to calibrate with; each is read with every damage."""
REPEATED = (1, 2, 3, 10)
"""How often the images of two more episodes are written."""
PATTERNS = (4, 32)
"""Images that are no drawings in two more episodes. The model reads something else, or nothing. In
one more, drawings and patterns are written and asked for."""
RANKED = (6, 24)
"""Episodes to fit how the reader chooses between items. The first fit makes the widest stage of a
search possible, which is only for cues in doubt; the second fit has seen that stage, too."""


def main() -> None:
    """Calibrate, save, and print what was fitted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="the folder of the training")
    parser.add_argument("out", type=Path, help="the file to write")
    arguments = parser.parse_args()
    model, card = load_with_card(arguments.run)
    assert isinstance(model, KanervaMachine)
    valid = load_dataset("omniglot", "valid")
    ranking_loss = 0.0
    for number, seed in zip(RANKED, (2, 1), strict=True):
        candidates = collect_candidates(model, valid, num_episodes=number, seed=seed)
        ranking_loss = fit_ranking(model, candidates)
    calibrate_gate(model, valid)
    readings = [
        collect_readings(model, valid, episode_length=length, num_episodes=number, seed=length)
        for length, number in EPISODES.items()
    ]
    readings.append(
        collect_readings(model, valid, episode_length=16, num_episodes=2, times=REPEATED, seed=9)
    )
    patterns = random_patterns(1000, generator=torch.Generator().manual_seed(0))
    drawings = EpisodeSampler(valid, num_items=1000).sample(1, generator=torch.Generator())[0]
    others = [(patterns, length) for length in PATTERNS]
    for dataset, length in (*others, (among(patterns, drawings), 32)):
        readings.append(
            collect_readings(model, dataset, episode_length=length, num_episodes=1, seed=length)
        )
    loss = calibrate_confidence(model, readings)
    save_model(arguments.out, model, card)
    assert model.access.novel is not None
    report = {"gate": model.access.novel.gate.tolist(), "confidence_nats": loss}
    report["ranking_nats"] = ranking_loss
    names = [f"{length} items" for length in EPISODES]
    names += ["repeated", *(f"{length} patterns" for length in PATTERNS), "both"]
    for name, part in zip(names, readings, strict=True):
        assert model.calibration is not None
        with torch.no_grad():
            confidence = model.calibration(part.signs)[part.is_written]
        right = part.is_right[part.is_written].float().mean().item()
        report[name] = {"right": right, "confidence": confidence.mean().item()}
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
