"""Everything that is reported about the few-shot model, on characters it has never seen.

    python experiments/fewshot.py OUT [--model fewshot] [--vae fewshot-vae] [--parts curves ...]

Parts: `curves` (nats after 0 to 19 images, every character in 4 orders, VAE on the same episodes),
`importance` (1,000 importance samples), `generation` (shares of copies, blurred and new drawings),
`one-shot` (20-way classification), `figure` (given and new drawings of 20 characters). Each writes
its part of fewshot.json in OUT, or fewshot.png. Settings were chosen on validation characters
(--split valid); the test characters are used once, for this.
"""

import argparse
import json
from pathlib import Path

import torch

from kanerva.cli.curves import Prequential, measure_prequential
from kanerva.data import Dataset, load_dataset
from kanerva.evaluation.generation import divide, measure_generation
from kanerva.evaluation.one_shot import measure_one_shot
from kanerva.models.checkpoint import load_with_card
from kanerva.models.few_shot_machine import FewShotMachine
from kanerva.models.model import Model
from kanerva.rendering.image_grid import image_grid, png

PARTS = ("curves", "importance", "generation", "one-shot", "figure")
NUM_FIGURE = 20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", default="fewshot")
    parser.add_argument("--vae", default="fewshot-vae")
    parser.add_argument("--split", default="test")
    parser.add_argument("--classes", type=int, default=1, help="of an episode; 0 for all")
    parser.add_argument("--length", type=int, default=20)
    parser.add_argument("--orders", type=int, default=4)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--sampled", type=int, default=100)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--characters", type=int, help="for generation; by default all")
    parser.add_argument("--new", type=int, default=10, help="drawings made of each character")
    parser.add_argument("--given", type=int, default=5)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--name", default="fewshot", help="of the results file")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--data-folder", type=Path)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    dataset = load_dataset("omniglot-gmn", options.split, data_folder=options.data_folder)
    model, card = load_with_card(options.model, device=options.device)
    vae, vae_card = load_with_card(options.vae, device=options.device)
    path = options.out / f"{options.name}.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    results["what"] = "Predicting the next drawing: a memory against a VAE of the same size"
    results["cards"] = {"model": card, "vae": vae_card}
    for part in options.parts:
        if part == "figure":
            draw_figure(model, dataset, options.out / f"{options.name}.png", options.given)
            continue
        results[part] = measure(part, model, vae, dataset, options)
        print(part, json.dumps(results[part])[:2000], flush=True)
        options.out.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(results, indent=1))


def measure(
    part: str, model: Model, vae: Model, dataset: Dataset, options: argparse.Namespace
) -> object:
    """One part of the results."""
    if part == "generation":
        omniglot, _ = load_with_card("omniglot")
        models = {"fewshot": model, "fewshot-vae": vae, "omniglot": omniglot}
        return measure_generation(
            models,
            dataset,
            num_given=options.given,
            num_new=options.new,
            num_characters=options.characters,
            steps=options.steps,
        )
    if part == "one-shot":
        assert isinstance(model, FewShotMachine)
        return measure_one_shot(model, dataset, num_trials=options.trials)._asdict()
    settings = Prequential(
        checkpoint=options.model,
        length=options.length,
        num_classes=options.classes or None,
        orders=options.orders if part == "curves" else 1,
        samples=options.samples if part == "importance" else 0,
        sampled_episodes=options.sampled,
        beside=options.vae,
        seed=0,
    )
    return measure_prequential(model, dataset, settings)


def draw_figure(model: Model, dataset: Dataset, path: Path, num_given: int) -> None:
    """The given drawings, and 15 new ones, of 20 characters chosen by seed 0."""
    assert isinstance(model, FewShotMachine)
    sets = divide(dataset, num_given=num_given)
    generator = torch.Generator().manual_seed(0)
    chosen = torch.randperm(len(sets.given), generator=generator)[:NUM_FIGURE]
    given = sets.given[chosen]
    new = model.generate(model.write(given), 15, generator=generator)
    gap = torch.full_like(given[:, :1], 0.15)
    rows = {
        f"{number + 1}": torch.cat(parts)
        for number, parts in enumerate(zip(given, gap, new, strict=True))
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png(image_grid(rows)))


if __name__ == "__main__":
    main()
