"""More mistakes with memories: energy, samples, devices, dtypes, numbers out of range."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from cases import C, K, T, random_case
from kanerva import (
    KanervaError,
    MemoryState,
    condition,
    energy,
    log_evidence,
    predict,
    sample_memory,
)

F64 = torch.float64
case = random_case()
prior, W, Z = case.prior, case.weights, case.codes
nan = torch.full((T, C), torch.nan, dtype=F64)


def loose(value: object) -> Any:
    """A value that a type checker would refuse."""
    return value


def here(**changes: object) -> Any:
    """`energy` of the case, with other arguments."""
    return lambda: energy(**(loose({"memory": prior, "weights": W, "codes": Z}) | changes))


def draw(**options: object) -> Callable[[], object]:
    return lambda: sample_memory(prior, **loose(options))


BAD: dict[str, tuple[Callable[[], object], str, str]] = {
    # name: (call, argument, words of the message)
    "energy of NaN": (here(codes=nan), "codes", "finite"),
    "energy of infinite weights": (here(weights=W / 0), "weights", "finite"),
    "energy of integers": (here(codes=Z.long()), "codes", "codes.float()"),
    "energy of complex codes": (here(codes=Z.to(torch.complex64)), "codes", "codes.real"),
    "energy of one dimension": (here(codes=Z[0]), "codes", "(..., T, C)"),
    "energy of another C": (here(codes=Z[:, 1:]), "codes", "code size C"),
    "energy of another T": (here(codes=Z[1:]), "codes", "T items"),
    "energy of one item for many": (here(codes=Z[:1]), "codes", "T items"),
    "energy of another dtype": (here(codes=Z.float()), "codes", "float64"),
    "energy of a list": (here(codes=Z.tolist()), "codes", "torch.as_tensor"),
    "energy of nothing": (here(codes=None), "codes", "NoneType"),
    "energy of batches that do not fit": (
        here(weights=W.expand(3, T, K), codes=Z.expand(2, T, C)),
        "memory, weights, codes",
        "broadcast",
    ),
    "energy without a memory": (here(memory=None), "memory", "MemoryState"),
    "noise of another K": (draw(noise=torch.zeros(K + 1, C, dtype=F64)), "noise", "rows K"),
    "noise of another C": (draw(noise=torch.zeros(K, C + 1, dtype=F64)), "noise", "code size C"),
    "noise of one column": (draw(noise=torch.zeros(K, 1, dtype=F64)), "noise", "code size C"),
    "noise of one dimension": (draw(noise=torch.zeros(K, dtype=F64)), "noise", "(..., K, C)"),
    "noise of no dimensions": (draw(noise=torch.zeros((), dtype=F64)), "noise", "(..., K, C)"),
    "noise of integers": (draw(noise=torch.zeros(K, C).long()), "noise", "floating-point"),
    "noise of NaN": (draw(noise=torch.full((K, C), torch.nan, dtype=F64)), "noise", "finite"),
    "noise as an array": (draw(noise=np.zeros((K, C))), "noise", "torch.as_tensor"),
    "noise for a batch that does not fit": (
        lambda: sample_memory(random_case((3,)).prior, noise=torch.zeros(2, K, C, dtype=F64)),
        "memory, noise",
        "broadcast",
    ),
    "noise and a generator": (
        draw(noise=torch.zeros(K, C, dtype=F64), generator=torch.Generator()),
        "generator",
        "one of the two",
    ),
    "a seed for a generator": (draw(generator=3), "generator", "manual_seed(3)"),
    "a numpy generator": (draw(generator=np.random.default_rng(0)), "generator", "Generator"),
    "a generator on another device": (
        lambda: sample_memory(prior, generator=loose(_ElsewhereGenerator())),
        "generator",
        "device='cpu'",
    ),
    "a dtype as a string": (lambda: prior.to("float32"), "device", "torch.float32"),
    "no such device": (lambda: prior.to("nodevice"), "device", "'cpu'"),
    "no such GPU": (lambda: prior.to("cuda:99"), "device", "'cpu'"),
    "a device without numbers": (lambda: prior.to("meta"), "device", "'cpu'"),
    "nothing for a device": (lambda: prior.to(loose(None)), "device", "None"),
    "a tensor for a device": (lambda: prior.to(loose(W)), "device", "tensor("),
    "True for a device": (lambda: prior.to(loose(True)), "device", "True"),
    "complex memories": (lambda: prior.to(torch.complex64), "dtype", "float32"),
    "memories of 8 bits": (lambda: prior.to(torch.float8_e4m3fn), "dtype", "float32"),
    "weights of 8 bits": (
        lambda: predict(prior, W.to(torch.float8_e4m3fn)),
        "weights",
        "weights.float()",
    ),
    "code_var beyond floating point": (
        lambda: condition(prior, W, Z, code_var=10**400),
        "code_var",
        "too large",
    ),
    "code_var beyond the dtype": (
        lambda: condition(prior.to(torch.float32), W.float(), Z.float(), code_var=1e39),
        "code_var",
        "finite",
    ),
    "infinite code_var": (lambda: condition(prior, W, Z, code_var=torch.inf), "code_var", "finite"),
    "code_var as a string": (
        lambda: log_evidence(prior, W, Z, code_var=loose("1")),
        "code_var",
        "str",
    ),
}


class _ElsewhereGenerator(torch.Generator):
    """Says that it is on a GPU, so that the check can be tested where no GPU is."""

    @property
    def device(self) -> torch.device:  # pyright: ignore[reportIncompatibleVariableOverride]
        return torch.device("cuda", 0)


@pytest.mark.parametrize("name", BAD)
def test_bad_input_raises_an_error_with_a_fix(name):
    call, argument, words = BAD[name]
    with pytest.raises(KanervaError) as caught:
        call()
    assert caught.value.argument == argument
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_errors_are_one_line_and_not_too_long():
    """Whatever the wrong value is."""
    for chunk in (torch.ones(50, 50), "two\nlines", list(range(10_000))):
        with pytest.raises(KanervaError) as caught:
            condition(prior, W, Z, chunk=loose(chunk))
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 800
        assert str(caught.value).endswith(caught.value.fix)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_where_there_is_none():
    with pytest.raises(KanervaError, match="'cpu'") as caught:
        prior.to("cuda")
    assert caught.value.argument == "device"


@pytest.mark.parametrize(
    "number",
    [1e-300, 1e300, 1e-320, 0.0, -1.0, torch.inf, 10**400],
    ids=lambda number: f"{number}"[:9],
)
def test_noise_out_of_range_is_told_the_range(number):
    for noise in (number, *([torch.tensor(number, dtype=F64)] if number != 10**400 else [])):
        with pytest.raises(KanervaError, match="above 1e-300 and below 1e\\+300") as caught:
            predict(prior, W, noise_var=noise)
        assert "1e-12" in caught.value.fix


@pytest.mark.parametrize("argument", ["weights", "codes"])
def test_what_to_do_about_nan_in_data_and_in_training(argument):
    bad = {"weights": W, "codes": Z}
    bad[argument] = torch.full_like(bad[argument], torch.nan)
    with pytest.raises(KanervaError) as caught:
        condition(prior, bad["weights"], bad["codes"])
    assert "leave those items out" in caught.value.fix  # from data
    assert "learning rate" in caught.value.fix  # from a network whose training has diverged


def test_right_energies_are_as_before():
    expected = 0.5 * ((Z - W @ case.mean).square().sum(-1) / 0.7 + W.square().sum(-1))
    torch.testing.assert_close(energy(prior, W, Z, noise_var=0.7), expected)
    many = random_case((3, 2))
    assert energy(prior, many.weights, Z).shape == (3, 2, T)
    assert energy(prior, W, many.codes).shape == (3, 2, T)
    assert energy(many.prior, W, Z).shape == (3, 2, T)


def test_noise_may_have_another_precision():
    noise = torch.randn(K, C)
    assert torch.equal(
        sample_memory(prior, noise=noise), sample_memory(prior, noise=noise.double())
    )


def test_noise_may_have_more_leading_dimensions():
    noise = torch.randn(7, K, C, dtype=F64)
    assert sample_memory(prior, noise=noise).shape == (7, K, C)
    per_column = condition(prior, W, Z, per_column=True)
    together = sample_memory(per_column, noise=noise)
    alone = torch.stack([sample_memory(per_column, noise=one) for one in noise])
    torch.testing.assert_close(together, alone)


def test_moving_to_where_it_is():
    assert prior.to("cpu").device == prior.to(torch.device("cpu")).device == prior.device
    assert isinstance(prior.to(torch.bfloat16), MemoryState)
