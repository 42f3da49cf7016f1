"""Which written items produced a reading, in closed form.

With the posterior R = U (W' Z / s2 + U0^-1 R0), a reading w' R is the sum of the contributions
c_t = (w' U w_t / s2) z_t of all items and the prior's part w' U U0^-1 R0 (section 3.3). The centre
of a plan, which is subtracted from vectors before they are written, is in the prior's part.
"""

import torch
from torch import Tensor

from kanerva.errors import KanervaError
from kanerva.store.records import Attribution
from kanerva.store.stored_memory import StoredMemory


def attributions(
    memory: StoredMemory, weights: Tensor, blocks: Tensor, *, now: float
) -> list[Attribution]:
    """The contributions to readings with weights (T, K) from blocks (T,)."""
    if not memory.config.ledger:
        raise KanervaError(
            "memory",
            expected="a memory with a ledger, which knows the items",
            got=f"'{memory.name}', which has none",
            fix="Create the memory with ledger=True.",
        )
    return [
        _attribution(memory, row.double(), number, now=now)
        for row, number in zip(weights, blocks.tolist(), strict=True)
    ]


def _attribution(memory: StoredMemory, w: Tensor, number: int, *, now: float) -> Attribution:
    config, prior = memory.config, memory.coder.prior
    with memory.database.reading() as connection:
        state = memory.block(number, now=now).memory
        rows = memory.sums.rows_of(connection, number)
    W = torch.from_numpy(config.grid.weights(rows.items))
    Z = torch.from_numpy(config.grid.codes(rows.items))
    left = [config.share_left(epoch, now) for epoch in rows.epochs.tolist()]
    spread = w @ state.row_cov.dense()
    shares = (W @ spread) / config.noise_var * torch.tensor(left, dtype=torch.float64)
    contributions = shares[:, None] * Z
    # w' U U0^-1 R0 = w' R0 - (w' U W' W / s2) R0, without an inverse.
    centre = memory.coder.code_centre
    prior_part = w @ prior._mean - (shares @ W) @ prior._mean + centre
    order = contributions.norm(dim=1).argsort(descending=True, stable=True)
    facts = [rows.facts[position] for position in order.tolist()]
    return Attribution(
        ids=[one.id or "" for one in facts],
        labels=[one.label for one in facts],
        shares=shares[order],
        contributions=contributions[order],
        prior=prior_part,
        reading=w @ state._mean + centre,
    )
