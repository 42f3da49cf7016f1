"""What an adversary passes: odd kinds of tensors, flags and states, and files that are none."""

import copy
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import kanerva
from cases import T, random_case
from kanerva import (
    Evidence,
    KanervaError,
    MemoryState,
    condition,
    energy,
    infer_weights,
    log_evidence,
    log_prob,
    memory_kl,
    predict,
    recall,
)
from kanerva.data import Dataset

F64 = torch.float64
case = random_case()
prior, W, Z = case.prior, case.weights, case.codes


def loose(value: object) -> Any:
    """A value that a type checker would refuse."""
    return value


def nested(tensor: Tensor) -> Tensor:
    return torch.nested.nested_tensor([tensor, tensor[:1]])


def jagged(tensor: Tensor) -> Tensor:
    return torch.nested.nested_tensor([tensor, tensor[:1]], layout=torch.jagged)


def masked(tensor: Tensor) -> Tensor:
    return torch.masked.masked_tensor(tensor, tensor > 0)


def fake(tensor: Tensor) -> Tensor:
    from torch._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode().from_tensor(tensor)


def quantised(tensor: Tensor) -> Tensor:
    return torch.quantize_per_tensor(tensor.float(), 0.1, 0, torch.qint8)


@pytest.mark.parametrize("make", [nested, jagged, masked, fake, quantised])
@pytest.mark.parametrize("argument", ["weights", "codes"])
def test_tensors_that_are_not_plain(make, argument):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns about some of them
        bad = {"weights": W, "codes": Z}
        bad[argument] = make(bad[argument])
        with pytest.raises(KanervaError) as caught:
            condition(prior, bad["weights"], bad["codes"])
    assert caught.value.argument == argument


def test_the_fix_for_episodes_of_different_lengths_works():
    """Padding with zeros changes nothing: an item of weight zero says nothing."""
    lengths = (T, 1)
    weights, codes = (
        torch.nested.nested_tensor([tensor[:n] for n in lengths]).to_padded_tensor(0.0)
        for tensor in (W, Z)
    )
    padded = condition(prior, weights, codes)
    for i, n in enumerate(lengths):
        alone = condition(prior, W[:n], Z[:n])
        torch.testing.assert_close(padded.mean[i], alone.mean)
        torch.testing.assert_close(padded.cov[i], alone.cov)


def in_inference_mode() -> tuple[MemoryState, Tensor, Tensor]:
    with torch.inference_mode():
        return condition(prior, W, Z), W.clone(), Z.clone()


FUNCTIONS: dict[str, Callable[[MemoryState, Tensor, Tensor], object]] = {
    "condition": condition,
    "predict": lambda memory, W, Z: predict(memory, W),
    "recall": lambda memory, W, Z: recall(memory, W),
    "energy": energy,
    "log_evidence": log_evidence,
    "infer_weights": lambda memory, W, Z: infer_weights(memory, Z),
    "log_prob": lambda memory, W, Z: log_prob(memory, W.mT @ Z),
    "memory_kl": lambda memory, W, Z: memory_kl(condition(prior, W, Z), memory),
    "evidence": lambda memory, W, Z: Evidence.of(W, Z).posterior(memory),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_memories_from_inference_mode_have_no_gradients(name):
    memory, _, _ = in_inference_mode()
    FUNCTIONS[name](memory, W, Z)
    learned = W.clone().requires_grad_(), Z.clone().requires_grad_()
    with pytest.raises(KanervaError, match="inference") as caught:
        FUNCTIONS[name](memory, *learned)
    assert "torch.no_grad" in caught.value.fix
    with torch.no_grad():
        FUNCTIONS[name](memory, *learned)


def test_weights_from_inference_mode_have_no_gradients():
    _, weights, codes = in_inference_mode()
    learned = Z.clone().requires_grad_()
    for call in (
        lambda: condition(prior, weights, learned),
        lambda: energy(prior, weights, learned),
        lambda: condition(prior, W.clone().requires_grad_(), codes),
        lambda: recall(MemoryState(case.mean.clone().requires_grad_(), case.cov), weights),
    ):
        with pytest.raises(KanervaError, match="inference"):
            call()
    condition(prior, weights, codes)


def test_copies_of_memories_with_a_graph():
    written = condition(prior, W.clone().requires_grad_(), Z)
    with pytest.raises(KanervaError, match="detach") as caught:
        copy.deepcopy(written)
    assert caught.value.argument == "memory"
    assert torch.equal(copy.deepcopy(written.detach()).mean, written.mean)
    leaf = MemoryState(case.mean.clone().requires_grad_(), case.cov)
    with pytest.raises(KanervaError, match="detach"):
        copy.deepcopy(leaf)  # the state holds a float64 copy, which is no leaf


def test_attributes_cannot_be_deleted():
    with pytest.raises(AttributeError, match="immutable"):
        del prior.dtype
    assert prior.dtype == F64


@pytest.mark.parametrize("flag", ["no", None, 0, 1, np.True_])
def test_flags_are_true_or_false(flag):
    for call in (condition, log_evidence):
        with pytest.raises(KanervaError, match="True or False") as caught:
            call(prior, W, Z, per_column=loose(flag))
        assert caught.value.argument == "per_column"


def test_the_history_of_evidence_is_not_anything():
    evidence = Evidence.of(W, Z)
    again = Evidence(evidence.gram, evidence.cross, 4, largest=evidence.largest)
    assert again.count == 4
    with pytest.raises(KanervaError) as caught:
        Evidence(evidence.gram, evidence.cross, 4, largest=loose(5))
    assert caught.value.argument == "largest"


@pytest.mark.parametrize("value", [np.array(1.0), "1.0", [1.0]])
def test_a_wrong_kind_of_number_is_named(value):
    with pytest.raises(KanervaError, match=type(value).__name__) as caught:
        predict(prior, W, noise_var=loose(value))
    assert caught.value.argument == "noise_var"


def test_special_files_are_not_replaced(tmp_path):
    """A device or a pipe would become a plain file."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(KanervaError, match="pipe"):
            prior.save(path)
    assert pipe.is_fifo()
    assert link.is_symlink()


def test_names_that_are_not_unicode(tmp_path):
    """safetensors could not read them again."""
    with pytest.raises(KanervaError) as caught:
        prior.save(str(tmp_path / "a\udcff"))
    assert caught.value.argument == "path"
    assert list(tmp_path.iterdir()) == []


def sparse(tensor: Tensor) -> Tensor:
    return tensor.to_sparse()


def sparse_rows(tensor: Tensor) -> Tensor:
    return tensor.flatten(0, -2).to_sparse_csr()


def on_meta(tensor: Tensor) -> Tensor:
    return tensor.to("meta")


@pytest.mark.parametrize("make", [sparse, sparse_rows, nested, on_meta, quantised])
def test_images_that_are_not_plain(make):
    """Models look at the numbers of images, so that these must be there."""
    km = kanerva.load("omniglot")
    images = (torch.rand(3, 1, 28, 28, generator=torch.Generator().manual_seed(0)) > 0.8).float()
    memory = km.write(images)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns about some of them
        odd, one = make(images), make(images[0])
        calls: list[Callable[[], object]] = [
            lambda: km.write(odd),
            lambda: km.read(odd, memory),
            lambda: km.evidence(odd),
            lambda: km.elbo(odd),
            lambda: kanerva.load("omniglot-vae").elbo(odd),
            lambda: km.interpolate(one, one, memory),
        ]
        for call in calls:
            with pytest.raises(KanervaError) as caught:
                call()
            assert "\n" not in str(caught.value)


def test_data_and_bits_that_are_not_plain():
    images = torch.zeros(4, 1, 5, 5, dtype=torch.uint8)
    labels = torch.zeros(4, dtype=torch.int64)
    facts = ("train", ("all",), "bernoulli", "threshold20", "x")

    def dataset(images: Tensor, labels: Tensor) -> Dataset:
        return Dataset("a", facts[0], images, labels, *facts[1:])

    dataset(images, labels)
    for wrong in (
        lambda: dataset(images.to_sparse(), labels),
        lambda: dataset(images, labels.to_sparse()),
        lambda: dataset(images.to("meta"), labels.to("meta")),
    ):
        with pytest.raises(KanervaError, match="tensor"):
            wrong()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bits = torch.nested.nested_tensor([torch.zeros(2, 8), torch.zeros(1, 8)])
    with pytest.raises(KanervaError, match="nested"):
        kanerva.SparseMemory.random(10, 8, radius=3).write(bits)


@pytest.mark.parametrize("name", ["\0", "a\0b", "\ud800"])
def test_names_that_no_file_can_have(name):
    for call in (kanerva.load, kanerva.load_memory, kanerva.open):
        with pytest.raises(KanervaError):
            call(name)
