"""torch.func over the functions of the memory, against plain loops and autograd."""

import pytest
import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

import kanerva
from cases import K, T, random_case, random_var
from kanerva import KanervaError
from kanerva.sparse import SparseMemory
from transform_cases import (
    COVARIANCES,
    FUNCTIONS,
    B,
    as_function,
    assert_same,
    inputs,
    scalar,
    tuples,
)

# torch itself uses something deprecated where it differentiates forwards.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
every_kind = pytest.mark.parametrize("kind", COVARIANCES)
every_function = pytest.mark.parametrize("name", FUNCTIONS)


@every_function
@every_kind
@pytest.mark.parametrize("num_items", [1, T, 2 * K])
def test_vmap_is_a_loop(name, kind, num_items):
    function, arguments = as_function(name, kind), inputs(num_items)
    mapped = vmap(function)(*arguments)
    looped = [tuples(function(*each)) for each in zip(*arguments, strict=True)]
    for i, part in enumerate(tuples(mapped)):
        assert_same(part, torch.stack([results[i] for results in looped]))


@every_function
@every_kind
@pytest.mark.parametrize("mapped", range(5), ids=["mean", "cov", "weights", "codes", "noise"])
def test_vmap_over_one_argument(name, kind, mapped):
    """The others are shared, so some tensors inside have no batch dimension."""
    function, arguments = as_function(name, kind), list(inputs())
    shared = [argument[0] for argument in arguments]
    shared[mapped] = arguments[mapped]
    result = vmap(function, in_dims=tuple(0 if i == mapped else None for i in range(5)))(*shared)
    for b in range(B):
        each = [arguments[i][b] if i == mapped else shared[i] for i in range(5)]
        for left, right in zip(tuples(result), tuples(function(*each)), strict=True):
            assert_same(left[b], right)


@every_function
@every_kind
@pytest.mark.parametrize("num_items", [T, 2 * K])
def test_grad_is_autograd(name, kind, num_items):
    function = scalar(name, kind)
    arguments = tuple(argument[0] for argument in inputs(num_items))
    leaves = tuple(argument.clone().requires_grad_() for argument in arguments)
    expected = torch.autograd.grad(function(*leaves), leaves, allow_unused=True)
    for gradient, truth in zip(grad(function, tuple(range(5)))(*arguments), expected, strict=True):
        assert_same(gradient, torch.zeros_like(gradient) if truth is None else truth)


@every_function
@every_kind
def test_gradients_for_each_memory_of_a_batch(name, kind):
    """vmap(grad(...)): the per-sample gradients that torch.func is used for."""
    function, arguments = scalar(name, kind), inputs()
    mapped = vmap(grad(function, (0, 2, 3)))(*arguments)
    for b in range(B):
        each = tuple(argument[b] for argument in arguments)
        for left, right in zip(mapped, grad(function, (0, 2, 3))(*each), strict=True):
            assert_same(left[b], right)


@every_function
@every_kind
def test_jacrev_is_the_jacobian(name, kind):
    function = as_function(name, kind)
    mean, cov, W, Z, noise = (argument[0] for argument in inputs())

    def of_weights(W: Tensor) -> tuple[Tensor, ...]:
        return tuples(function(mean, cov, W, Z, noise))

    expected = torch.autograd.functional.jacobian(of_weights, W)
    assert_same(jacrev(of_weights)(W), expected)


@every_function
@every_kind
def test_jacfwd_is_jacrev(name, kind):
    function = as_function(name, kind)
    mean, cov, W, Z, noise = (argument[0] for argument in inputs())

    def of_weights(W: Tensor) -> tuple[Tensor, ...]:
        return tuples(function(mean, cov, W, Z, noise))

    assert_same(jacfwd(of_weights)(W), jacrev(of_weights)(W))
    tangent = random_case(seed=9).weights
    out = jvp(of_weights, (W,), (tangent,))[1]
    pull = vjp(of_weights, W)[1]
    cotangent = tuple(torch.ones_like(part) for part in out)
    left = sum((a * b).sum() for a, b in zip(out, cotangent, strict=True))
    assert_same(left, (pull(cotangent)[0] * tangent).sum())


@pytest.mark.parametrize("name", ["condition", "predict", "infer_weights", "log_evidence"])
def test_second_derivatives(name):
    function = scalar(name, "full")
    mean, cov, W, Z, noise = (argument[0] for argument in inputs(2))

    def of_weights(W: Tensor) -> Tensor:
        return function(mean, cov, W, Z, noise)

    expected = torch.autograd.functional.hessian(of_weights, W)
    assert_same(jacrev(jacrev(of_weights))(W), expected)
    assert_same(hessian(of_weights)(W), expected)


def test_nested_vmaps():
    case = random_case((2, B))
    noise = random_var(2, B)
    for name in FUNCTIONS:
        function = as_function(name, "full")
        nested = tuples(vmap(vmap(function))(*case, noise))
        for i in range(2):
            for b in range(B):
                each = tuples(function(*(tensor[i, b] for tensor in case), noise[i, b]))
                for left, right in zip(nested, each, strict=True):
                    assert_same(left[i, b], right)


@pytest.mark.parametrize("kind", ["low rank", "low rank with room"])
def test_second_derivatives_of_low_rank_memories_are_right_or_refused(kind):
    function = scalar("condition", kind)
    mean, cov, W, Z, noise = (argument[0] for argument in inputs())

    def of_weights(W: Tensor) -> Tensor:
        return function(mean, cov, W, Z, noise)

    if kind == "low rank with room":
        assert_same(jacrev(jacrev(of_weights))(W), torch.autograd.functional.hessian(of_weights, W))
        return
    for second in (jacrev(jacrev(of_weights)), hessian(of_weights)):
        with pytest.raises(KanervaError, match="FullCovariance"):
            second(W)
    with pytest.raises(KanervaError, match="FullCovariance"):
        torch.autograd.functional.hessian(of_weights, W)


@every_function
@every_kind
def test_older_ways_to_map_and_to_differentiate_forwards(name, kind):
    """`vectorize=True` and dual numbers, which are not transforms of torch.func."""
    function = as_function(name, kind)
    mean, cov, W, Z, noise = (argument[0] for argument in inputs())

    def of_weights(W: Tensor) -> tuple[Tensor, ...]:
        return tuples(function(mean, cov, W, Z, noise))

    jacobian = torch.autograd.functional.jacobian
    expected = jacobian(of_weights, W)
    assert_same(jacobian(of_weights, W, vectorize=True), expected)
    with forward_ad.dual_level():
        duals = of_weights(forward_ad.make_dual(W, torch.ones_like(W)))
        tangents = [forward_ad.unpack_dual(dual).tangent for dual in duals]
    for tangent, part in zip(tangents, expected, strict=True):
        total = part.sum((-2, -1))
        assert_same(torch.zeros_like(total) if tangent is None else tangent, total)


@pytest.mark.parametrize("name", ["omniglot", "fewshot"])
def test_models_refuse_vmap(name):
    """They look at numbers; leading dimensions are batches anyway."""
    model = kanerva.load(name)
    with pytest.raises(KanervaError, match=r"outside torch\.func\.vmap.*leading dimensions"):
        torch.func.vmap(lambda images: model.write(images).mean)(torch.zeros(2, 3, 1, 28, 28))


def test_sparse_memories_refuse_vmap():
    memory = SparseMemory(torch.eye(64), radius=8)
    bits = torch.zeros(3, 4, 64, dtype=torch.bool)
    memory.write(bits[0])
    with pytest.raises(KanervaError, match=r"outside torch\.func\.vmap"):
        vmap(lambda cues: memory.read(cues).bits)(bits)
    with pytest.raises(KanervaError, match=r"outside torch\.func\.vmap"):
        vmap(memory.write)(bits)
