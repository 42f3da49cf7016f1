"""Models with a memory that keeps a covariance for each column."""

import pytest
import torch

import kanerva
from kanerva import KanervaError, condition

IMAGES = (torch.rand(2, 1, 28, 28, generator=torch.Generator().manual_seed(0)) < 0.1).float()
CALLS = {
    "search": lambda model, memory: model.read(IMAGES, memory).images,
    "algorithm 1": lambda model, memory: model.read(IMAGES, memory, keep_cue=False).images,
    "generate": lambda model, memory: model.generate(
        memory, 2, generator=torch.Generator().manual_seed(0)
    ),
    "interpolate": lambda model, memory: model.interpolate(*IMAGES, memory),
    "write": lambda model, memory: model.write(IMAGES, memory).mean,
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", ["fewshot", "handwriting"])
def test_a_memory_with_a_covariance_for_each_column(name, call):
    """With equal columns it gives what a shared covariance gives, and with others it works."""
    model = kanerva.load(name)
    prior = model.prior_memory()
    if (name, call) == ("fewshot", "generate"):
        memory = condition(prior, torch.eye(prior.num_rows), torch.ones(32, 784), per_column=True)
        with pytest.raises(KanervaError, match=r"columns share one covariance.*per_column"):
            model.generate(memory, 2)
        return
    W = torch.eye(prior.num_rows)[:2]
    Z = torch.ones(2, prior.code_size)
    shared, columns = (condition(prior, W, Z, per_column=flag) for flag in (False, True))
    torch.testing.assert_close(CALLS[call](model, columns), CALLS[call](model, shared))
    code_var = torch.linspace(0.1, 1, prior.code_size).expand_as(Z)
    memory = condition(prior, W, Z, code_var=code_var, per_column=True)
    assert CALLS[call](model, memory).isfinite().all()
