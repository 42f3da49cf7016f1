"""Images that are not in the memory, the product of two Gaussians, and the loss of matching."""

import math

import pytest
import torch

from kanerva.distributions.gaussian import Gaussian
from kanerva.models.bound import ItemBounds
from kanerva.models.codes import CodePrior
from kanerva.models.matching import CHANCE, matching_loss
from kanerva.models.novel import NovelCodes, misfit, product_posterior
from test_address_search import images, machine  # noqa: F401


def test_the_product_of_two_gaussians():
    torch.manual_seed(0)
    mean, var = torch.randn(4, 3).double(), torch.rand(4, 1).double() + 0.5
    message = Gaussian(torch.randn(4, 3).double(), torch.randn(4, 3).double())
    found = product_posterior(CodePrior(mean, var, mean), message)
    z = torch.linspace(-12, 12, 20_001).double()[:, None, None]
    log_product = torch.distributions.Normal(mean, var.sqrt()).log_prob(z)
    log_product += torch.distributions.Normal(
        message.mean, message.log_var.mul(0.5).exp()
    ).log_prob(z)
    share = log_product.softmax(0)
    expected_mean = (share * z).sum(0)
    expected_var = (share * (z - expected_mean).square()).sum(0)
    assert torch.allclose(found.distribution.mean, expected_mean, atol=1e-6)
    assert torch.allclose(found.log_var.exp(), expected_var, atol=1e-6)


def test_the_mixtures_bound_is_below_the_log_likelihood_of_the_mixture():
    """r a + (1 - r) b - KL(r) <= ln((1 - share) e^a + share e^b), equal at the best r."""
    novel = NovelCodes(code_size=3, share=0.3)
    a, b = torch.tensor([-3.0, -50.0, -20.0]), torch.tensor([-30.0, -40.0, -20.0])
    exact = torch.logaddexp(math.log(0.7) + a, math.log(0.3) + b)
    zero = torch.zeros(3)
    for share in (0.01, 0.5, 0.9):
        terms = novel.mix(
            ItemBounds(-a, zero, zero), ItemBounds(-b, zero, zero), torch.full((3,), share)
        )
        assert (-terms.total <= exact + 1e-5).all()
    best = (math.log(0.7) + a - exact).exp()
    terms = novel.mix(ItemBounds(-a, zero, zero), ItemBounds(-b, zero, zero), best)
    assert torch.allclose(-terms.total, exact, atol=1e-4)


def test_the_bound_with_a_closed_gate_is_that_of_novel_images(machine, images):  # noqa: F811
    noise = machine.draw_noise(images, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        written = machine(images, noise)
        machine.access.novel.gate.copy_(torch.tensor([-30.0, 0.0]))
        novel = machine(images, noise)
        machine.access.novel.gate.copy_(torch.tensor([10.0, 0.0]))
    assert novel.kl_address.max() < 1e-6
    assert written.kl_address.min() > 0.01
    assert torch.isfinite(novel.total).all()


def test_the_gate_sees_how_far_an_image_is_from_what_was_read():
    mean = torch.zeros(2, 4)
    message = Gaussian(torch.tensor([[2.0], [0.0]]).expand(2, 4), torch.zeros(2, 4))
    found = misfit(CodePrior(mean, torch.full((2, 1), 3.0), mean), message)
    torch.testing.assert_close(found, torch.tensor([1.0, 1e-6]).log())
    novel = NovelCodes(code_size=4, share=0.5)
    novel.gate.copy_(torch.tensor([1.0, -2.0]))
    assert novel.written_share(found)[0].item() == pytest.approx(1 / (1 + math.exp(-1)))
    assert novel.written_share(found)[1] > 0.99


def test_the_gate_of_an_older_checkpoint_is_left_open():
    novel = NovelCodes(code_size=4, share=0.5)
    state = novel.state_dict()
    novel.load_state_dict({**state, "gate": torch.tensor([-45.0, 15.0, 1.0])})
    assert novel.gate.tolist() == [10.0, 0.0]
    novel.load_state_dict({**state, "gate": torch.tensor([3.0, -2.0])})
    assert novel.gate.tolist() == [3.0, -2.0]


def test_the_matching_loss_item_by_item():
    torch.manual_seed(0)
    cues, codes = torch.randn(3, 4), torch.randn(5, 4)
    found = matching_loss(cues, codes, width=1.5)
    for number in range(3):
        evidence = [math.exp(-float((cues[number] - y).square().sum()) / 1.5**2) for y in codes]
        expected = -math.log(evidence[number] / (sum(evidence) + CHANCE))
        assert math.isclose(found[number].item(), expected, rel_tol=1e-5)


def test_training_adds_what_is_not_part_of_the_bound(machine, images):  # noqa: F811
    machine.train()
    noise = machine.draw_noise(images, generator=torch.Generator().manual_seed(0))
    bound = machine(images, noise, cues=images.flip(-1))
    machine.eval()
    assert bound.extra_loss is not None
    assert (bound.weighted(1.0) > bound.total).all()
    assert machine(images, noise).extra_loss is None
