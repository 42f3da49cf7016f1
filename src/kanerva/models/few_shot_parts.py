"""Parts of the few-shot model: how it addresses, and where its training begins."""

import torch
from torch import Tensor, nn

from kanerva.checks import check_integer, check_number
from kanerva.distributions import gaussian
from kanerva.distributions.gaussian import Gaussian
from kanerva.errors import KanervaError
from kanerva.memory import MemoryState, Prediction
from kanerva.models.addressing import AddressTable, LearnedAddressing
from kanerva.models.ladder_coder import Known

SMALLEST_VAR = 0.01
"""Added to w'Uw before its logarithm is taken."""


class MapAddressing(LearnedAddressing[MemoryState]):
    """q(y|x) from the map h(x), the first half of what the coder gives."""

    finds_items = False

    def posterior(self, embeddings: Tensor, state: MemoryState) -> Gaussian:
        return gaussian.from_parameters(self.address_net(embeddings.chunk(2, dim=-1)[0]))


def check_drawing_options(num_readings: object, sample: object, temperature: object) -> None:
    """Refuse options of `generate` that would have no effect."""
    check_integer(
        "num_readings", num_readings, at_least=0, at_most=0, fix="Leave it out, or pass 0."
    )
    check_number("temperature", temperature, at_least=0, fix="Use 1.")
    if sample is False and temperature != 1.0:
        raise KanervaError(
            "temperature",
            expected="1 where sample is False: nothing is drawn",
            got=str(temperature),
            fix="Leave it out, or pass sample=True.",
        )


def check_shared_columns(memory: MemoryState) -> None:
    """Refuse a memory with a variance for each column: drawings begin with one for each place."""
    if memory.per_column:
        raise KanervaError(
            "memory",
            expected="a memory whose columns share one covariance",
            got=repr(memory),
            fix="Write it without per_column=True.",
        )


def as_known(read: Prediction, *, noise_var: float) -> Known:
    """Readings (2, ...), at y and at 0, as the coder takes them."""
    at_y, summary = read.mean.flatten(1, -2).unbind(0)
    log_var = log_row_var(read.var, noise_var=noise_var)
    return Known((at_y, summary), log_var.flatten(1).mT)


def log_row_var(var: Tensor, *, noise_var: float) -> Tensor:
    """ln w'Uw of a prediction's variance w'Uw + noise_var."""
    return (var - noise_var).clamp_min(0).add(SMALLEST_VAR).log()


@torch.no_grad()
def start_together(
    table: AddressTable, address_net: nn.Sequential, address_prior: nn.Sequential
) -> None:
    """Before training, all images are written near one place, and p(y|M) is N(0, I)."""
    last = table.key_net[-1]
    assert isinstance(last, nn.Linear)
    assert last.bias is not None
    last.weight *= 0.5
    nn.init.normal_(last.bias)
    for net, std in ((address_net, 0.01), (address_prior, 0.0)):
        final = net[-1]
        assert isinstance(final, nn.Linear)
        nn.init.normal_(final.weight, std=std)
        nn.init.zeros_(final.bias)
