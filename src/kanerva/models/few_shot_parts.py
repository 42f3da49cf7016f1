"""Parts of the few-shot model: how it addresses, and where its training begins."""

import torch
from torch import Tensor, nn

from kanerva.distributions import gaussian
from kanerva.distributions.gaussian import Gaussian
from kanerva.memory import MemoryState
from kanerva.models.addressing import AddressTable, LearnedAddressing


class MapAddressing(LearnedAddressing[MemoryState]):
    """q(y|x) from the map h(x), the first half of what the coder gives."""

    def posterior(self, embeddings: Tensor, state: MemoryState) -> Gaussian:
        return gaussian.from_parameters(self.address_net(embeddings.chunk(2, dim=-1)[0]))


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
