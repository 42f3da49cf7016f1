"""Random memories and episodes for the tests."""

from typing import NamedTuple

import torch
from torch import Tensor

from kanerva import MemoryState

BATCHES = [(), (4,), (3, 2)]
DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
K, C, T = 5, 3, 4


class Case(NamedTuple):
    """A prior and an episode that fits it."""

    mean: Tensor
    cov: Tensor
    weights: Tensor
    codes: Tensor

    @property
    def prior(self) -> MemoryState:
        return MemoryState(self.mean, self.cov)

    @property
    def episode(self) -> tuple[Tensor, Tensor]:
        return self.weights, self.codes


def random_case(
    batch: tuple[int, ...] = (),
    *,
    num_items: int = T,
    num_rows: int = K,
    code_size: int = C,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
    device: str = "cpu",
    scale: float = 1.0,
) -> Case:
    generator = torch.Generator().manual_seed(seed)

    def randn(*shape: int) -> Tensor:
        return torch.randn(*batch, *shape, generator=generator, dtype=torch.float64)

    root = randn(num_rows, num_rows)
    cov = root @ root.mT / num_rows + 0.5 * torch.eye(num_rows, dtype=torch.float64)
    return Case(
        *(
            tensor.to(device=device, dtype=dtype)
            for tensor in (
                randn(num_rows, code_size),
                (cov + cov.mT) / 2,
                randn(num_items, num_rows) * scale,
                randn(num_items, code_size),
            )
        )
    )


def random_var(*shape: int, seed: int = 1, dtype: torch.dtype = torch.float64) -> Tensor:
    """Random variances between 0.1 and 2."""
    generator = torch.Generator().manual_seed(seed)
    return 0.1 + 1.9 * torch.rand(*shape, generator=generator, dtype=torch.float64).to(dtype)


def flatten(tensor: Tensor, event_dims: int) -> Tensor:
    """Merge all leading dimensions into one, for oracles that take one memory at a time."""
    return tensor.reshape(-1, *tensor.shape[tensor.dim() - event_dims :])


def assert_same_memory(left: MemoryState, right: MemoryState, tolerance: float = 1e-9) -> None:
    torch.testing.assert_close(left.mean, right.mean, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(left.cov, right.cov, rtol=tolerance, atol=tolerance)


def relative_error(value: Tensor, truth: Tensor) -> float:
    return ((value.double() - truth.double()).norm() / truth.double().norm()).item()
