"""Why the memory is learned late with the paper's settings: scales before the first step.

    python experiments/paper_start.py [--batches 8]

For each setting this prints, on validation drawers and before any training:

- `signal of e(x)`: the standard deviation of embeddings between images, next to the input noise;
- `q(y|x)`: how far its means differ between images, where its own standard deviation is 1;
- `read`: the size of what is read with an independent sample of y, entry by entry; `own code` is
  the part of it that belongs to the code of the item that was asked for (a regression coefficient);
- `w R0`: the part of a reading that comes from the prior memory;
- `gradient`: of the bound with respect to the network of q(y|x): its mean over batches, and the
  share of its square that is the same in all batches (1: every batch agrees, 0: noise).
"""

import argparse
from dataclasses import replace

import torch

from kanerva.data import EpisodeSampler, load_dataset
from kanerva.distributions import gaussian
from kanerva.models.config import ModelConfig
from kanerva.models.kanerva_machine import KanervaMachine
from kanerva.training.prepare import initial_model
from kanerva.training.recipes import omniglot_paper

SETTINGS: dict[str, dict[str, object]] = {
    "R0 0, noise on e(x)": {"prior_std": 0.0},
    "R0 1, noise on e(x)": {"prior_std": 1.0},
    "R0 1, no noise": {"prior_std": 1.0, "input_noise": 0.0},
    "R0 1, noise on x": {"prior_std": 1.0, "noisy_input": "image"},
    "R0 1, y of 16": {"prior_std": 1.0, "address_code_size": 16},
    "R0 1, direct": {"prior_std": 1.0, "code_posterior": "direct"},
}


def main() -> None:
    """Print one line for each setting."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=8)
    options = parser.parse_args()
    sampler = EpisodeSampler(load_dataset("omniglot", "valid", show_progress=False), num_items=32)
    base = omniglot_paper()
    assert isinstance(base.model, ModelConfig)
    for name, changes in SETTINGS.items():
        model = initial_model(replace(base, model=replace(base.model, **changes)), sampler)
        assert isinstance(model, KanervaMachine)
        print(f"{name:22s}", "  ".join(f"{k} {v:.3g}" for k, v in scales(model, sampler).items()))
        print(
            " " * 22,
            "  ".join(
                f"{k} {v:.3g}" for k, v in gradients(model, sampler, options.batches).items()
            ),
        )


@torch.no_grad()
def scales(model: KanervaMachine, sampler: EpisodeSampler) -> dict[str, float]:
    """Sizes of what flows through a model before training."""
    generator = torch.Generator().manual_seed(0)
    images = sampler.sample(8, generator=generator)
    embeddings = model.coder.encode(images)
    posterior = model.addressing.posterior(embeddings, model.prior_memory())
    write, read = (model.addressing.address_for(posterior.draw(True, generator)) for _ in range(2))
    codes = gaussian.from_parameters(embeddings).draw(True, generator)
    state = model.memory_module.write(
        model.memory_module.initial_state(images.shape[:1]), write, codes
    )
    found = model.memory_module.read(state, read).mean
    own = (found * codes).sum() / codes.square().sum()
    prior = read @ model.prior_memory().mean
    return {
        "signal of e(x)": embeddings.flatten(0, 1).std(0).mean().item(),
        "q(y|x)": posterior.mean.flatten(0, 1).std(0).mean().item(),
        "|w|": read.norm(dim=-1).mean().item(),
        "read": found.square().mean().sqrt().item(),
        "own code": own.item(),
        "w R0": prior.square().mean().sqrt().item(),
    }


def gradients(model: KanervaMachine, sampler: EpisodeSampler, batches: int) -> dict[str, float]:
    """How strong the gradient of q(y|x) is, and how far batches agree about it."""
    generator = torch.Generator().manual_seed(1)
    parameters = [p for n, p in model.addressing.named_parameters() if n.startswith("address_net")]
    rows = []
    model.train()
    for _ in range(batches):
        images = sampler.sample(4, generator=generator)
        loss = model(images, model.draw_noise(images, generator=generator)).total.mean()
        parts = torch.autograd.grad(loss, parameters)
        rows.append(torch.cat([part.flatten() for part in parts]))
    table = torch.stack(rows)
    square = table.square().sum(1).mean()
    # The square of a mean over n batches holds 1/n of the noise; take that off.
    agreed = (table.mean(0).square().sum() - square / batches) / (1 - 1 / batches)
    return {"gradient": table.mean(0).norm().item(), "agreed": (agreed / square).item()}


if __name__ == "__main__":
    main()
