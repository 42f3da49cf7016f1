"""Why long episodes cost so much: what happens inside a memory as more items are written.

    python experiments/capacity.py results/capacity.json MODEL [MODEL ...] [--episodes 20]

A model is a name that `kanerva.load` knows or a checkpoint. For each number of different items this
measures, on test episodes:

- bound, reconstruction and both KL terms;
- `rank`: how many directions the written weights use above the noise (squared singular values of
  W U0^1/2 above sigma^2); no more than S, the size of a key, can;
- `condition`: the condition number of W U0 W' + sigma^2 I, the matrix that writing solves with;
- `misfit`: the squared error of a reading, as a share of the variance of the codes;
- `expected`: the same as the memory's own posterior expects it, from w U w' + sigma^2;
- `spread`: the length of a weight vector;
- `blind`: the nats of an image if z is replaced by the code of another item of the episode. This is
  what it costs to be sure of the wrong image.
"""

import argparse
import json
from pathlib import Path

import torch
from torch import Tensor

from kanerva import MemoryState, predict, recall
from kanerva.data import Dataset, EpisodeSampler, load_dataset
from kanerva.distributions import gaussian
from kanerva.evaluation.evaluate import evaluate
from kanerva.models.checkpoint import load
from kanerva.models.kanerva_machine import KanervaMachine

LENGTHS = (16, 32, 50, 64, 100, 200)


def main() -> None:
    """Measure every model at every length and write one file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    options = parser.parse_args()
    test = load_dataset("omniglot", "test", show_progress=False)
    found: dict[str, list[dict[str, float]]] = {}
    for name in options.models:
        model = load(name)
        label = name if "/" not in name else Path(name).stem
        found[label] = [look_inside(model, test, n, options.episodes) for n in options.lengths]
        print(label)
        print("  " + "  ".join(f"{key:>14}" for key in found[label][0]))
        for row in found[label]:
            print("  " + "  ".join(f"{value:14.4g}" for value in row.values()))
    options.out.write_text(json.dumps({"episodes": options.episodes, "models": found}, indent=1))


@torch.no_grad()
def look_inside(
    model: KanervaMachine, test: Dataset, num_items: int, episodes: int
) -> dict[str, float]:
    """The means of all measurements over some episodes of different images."""
    generator = torch.Generator().manual_seed(0)
    sampler = EpisodeSampler(test, num_items=num_items)
    bound = evaluate(model, test, num_episodes=episodes, episode_length=num_items, batch_size=4)
    rows = [
        of_episode(model, sampler.sample(1, generator=generator)[0], generator)
        for _ in range(episodes)
    ]
    means = {key: sum(row[key] for row in rows) / episodes for key in rows[0]}
    return {
        "items": num_items,
        "bound": bound.bound,
        "stderr": bound.stderr,
        "reconstruction": bound.reconstruction,
        "kl_address": bound.kl_address,
        "kl_code": bound.kl_code,
        **means,
    }


def of_episode(
    model: KanervaMachine, images: Tensor, generator: torch.Generator
) -> dict[str, float]:
    """Measurements of one episode (T, channels, H, W)."""
    noise_var = model.config.noise_var
    embeddings = model.coder.encode(images)
    prior = model.prior_memory()
    posterior = model.addressing.posterior(embeddings, prior)
    written, asked = (
        model.addressing.address_for(posterior.draw(True, generator)) for _ in range(2)
    )
    codes = gaussian.from_parameters(embeddings).mean
    state: MemoryState = model.memory_module.write(prior, written, codes)
    factor = torch.linalg.cholesky(prior.cov.double())
    values = torch.linalg.svdvals(written.double() @ factor).square()
    padded = torch.zeros(len(images), dtype=torch.float64)
    padded[: len(values)] = values[: len(images)]
    variance = codes.var(0).mean()
    misfit = (codes - recall(state, asked)).square().mean() / variance
    expected = predict(state, asked, noise_var=noise_var).var.mean() / variance
    others = model.coder.decode(codes.roll(1, 0))
    blind = -model.coder.likelihood.log_prob(others, images).mean()
    return {
        "rank": (values > noise_var).sum().item(),
        "condition": ((padded.max() + noise_var) / (padded.min() + noise_var)).item(),
        "misfit": misfit.item(),
        "expected": expected.item(),
        "spread": written.norm(dim=-1).mean().item(),
        "code_std": variance.sqrt().item(),
        "blind": blind.item(),
    }


if __name__ == "__main__":
    main()
