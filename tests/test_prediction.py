"""What a memory predicts, as a distribution with the right shapes."""

import pytest
import torch
from torch.distributions import MultivariateNormal

import oracle
from cases import BATCHES, C, K, T, flatten, random_case, random_var
from kanerva import KanervaError, Prediction, condition, log_evidence, predict

F64 = torch.float64
NOISE = 0.7


@pytest.mark.parametrize("per_column", [False, True])
@pytest.mark.parametrize("batch", BATCHES)
def test_shapes_and_densities(batch, per_column):
    case = random_case(batch)
    code_var = random_var(*batch, T, C) if per_column else None
    post = condition(case.prior, *case.episode, code_var=code_var, per_column=per_column)
    prediction = predict(post, case.weights, noise_var=NOISE)
    distribution = prediction.distribution()
    assert distribution.batch_shape == (*batch, T)
    assert distribution.event_shape == (C,)
    assert torch.equal(distribution.mean, prediction.mean)
    density = distribution.log_prob(case.codes)
    assert density.shape == (*batch, T)
    var = prediction.var if per_column else prediction.var[..., None].expand(*batch, T, C)
    torch.testing.assert_close(distribution.variance, var)
    for mean, variance, code, value in zip(
        flatten(prediction.mean, 1),
        flatten(var, 1),
        flatten(case.codes, 1),
        density.reshape(-1),
        strict=True,
    ):
        torch.testing.assert_close(
            value, oracle.gaussian_log_prob(code, mean, torch.diag(variance))
        )


def test_as_many_items_as_code_entries():
    """T = C: Normal(mean, var.sqrt()) would give column c the variance of item c."""
    case = random_case(num_items=C)
    prediction = predict(case.prior, case.weights, noise_var=NOISE)
    wrong = torch.distributions.Normal(prediction.mean, prediction.var.sqrt())
    right = prediction.distribution()
    assert not torch.allclose(wrong.variance, right.variance)
    assert torch.equal(right.variance[1], right.variance[1, :1].expand(C))
    dense = MultivariateNormal(prediction.mean[1], prediction.var[1] * torch.eye(C, dtype=F64))
    torch.testing.assert_close(right.log_prob(case.codes)[1], dense.log_prob(case.codes[1]))


def test_one_item_is_its_own_evidence():
    """For one item, log p(z | w) is the density of the prediction."""
    case = random_case(num_items=1)
    density = predict(case.prior, case.weights).distribution().log_prob(case.codes)
    torch.testing.assert_close(density[0], log_evidence(case.prior, *case.episode))


def test_samples_carry_gradients():
    case = random_case()
    W = case.weights.requires_grad_()
    sample = predict(case.prior, W).distribution().rsample((7,))
    assert sample.shape == (7, T, C)
    sample.square().sum().backward()
    assert W.grad is not None
    assert W.grad.abs().sum() > 0


def test_predictions_are_still_pairs():
    case = random_case()
    prediction = predict(case.prior, case.weights)
    mean, var = prediction
    assert mean is prediction.mean
    assert var is prediction.var


@pytest.mark.parametrize(
    ("mean", "var", "argument"),
    [
        (torch.zeros(T, C), torch.ones(T + 1), "var"),
        (torch.zeros(T, C), torch.ones(C, T), "var"),
        (torch.zeros(T, C), torch.ones(()), "var"),
        (torch.zeros(T, C), -torch.ones(T), "var"),
        (torch.full((T, C), torch.nan), torch.ones(T), "mean"),
        (torch.zeros(2, T, C), torch.ones(K, T), "var"),
        (torch.zeros(C), torch.ones(()), "mean"),
    ],
)
def test_predictions_that_do_not_fit(mean, var, argument):
    with pytest.raises(KanervaError) as caught:
        Prediction(mean, var).distribution()
    assert caught.value.argument == argument
