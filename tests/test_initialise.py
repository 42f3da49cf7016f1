"""Where training begins: whitened codes and addresses, a decoder that undoes the encoder."""

import torch
from torch import nn

from kanerva import VAE, KanervaMachine
from kanerva.models.build import build_model
from kanerva.models.config import DNCConfig, ModelConfig, VAEConfig
from kanerva.models.initialise import draw_truncated, initialise_model, whiten

SIZES = ModelConfig(
    num_filters=8, code_size=20, num_rows=16, key_size=10, address_code_size=4, hidden_size=100
)


def images(num=400):
    """Strokes at random places."""
    generator = torch.Generator().manual_seed(0)
    coarse = torch.rand(num, 1, 7, 7, generator=generator) < 0.2
    return nn.functional.interpolate(coarse.float(), scale_factor=4)


def test_whitened_outputs_are_uncorrelated_and_can_be_undone():
    torch.manual_seed(0)
    inputs = torch.randn(500, 12) @ torch.randn(12, 12) + 3
    layer = nn.Linear(12, 2 * 12)
    with torch.no_grad():
        back, centre = whiten(layer, inputs, std=2.0, log_var=-3.0)
        means, log_vars = layer(inputs).chunk(2, dim=-1)
    torch.testing.assert_close(means.T @ means / 500, 4 * torch.eye(12), atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(log_vars, torch.full_like(log_vars, -3.0))
    torch.testing.assert_close(means @ back.T + centre, inputs, atol=1e-3, rtol=1e-3)


def test_more_outputs_than_features_and_features_without_life():
    layer = nn.Linear(5, 2 * 8)
    inputs = torch.randn(100, 5)
    inputs[:, 2] = 1.0  # never changes
    with torch.no_grad():
        whiten(layer, inputs, std=1.0, log_var=0.0)
    assert torch.isfinite(layer(inputs)).all()
    assert layer(inputs)[:, 5:].abs().max() == 0


def test_a_machine_starts_with_a_memory_that_works():
    torch.manual_seed(0)
    machine = KanervaMachine(SIZES)
    some = images()
    initialise_model(machine, some.reshape(20, 20, 1, 28, 28))
    machine.eval()
    with torch.no_grad():
        embeddings = machine.coder.encode(some)
        codes = embeddings[..., :20]
        address = machine.addressing.posterior(embeddings, machine.prior_memory())
    assert codes.mean(0).abs().max() < 1e-2
    assert 0.5 < address.mean.std(0).mean() < 1.5
    memory = machine.write(some[:8])
    read = machine.read(some[:8], memory, num_readings=1).codes
    error = (read - codes[:8]).square().mean() / codes[:8].square().mean()
    assert error < 0.3
    assert machine.elbo(some[None, :8]).kl_code < 0.1  # q(z|x, y, M) is its prior


def test_decoder_draws_the_image_before_any_training():
    torch.manual_seed(0)
    vae = VAE(VAEConfig(num_filters=16, code_size=100)).eval()
    some = images()

    def likeness():
        with torch.no_grad():
            drawn = vae.coder.decode(vae.coder.encode(some)[..., :100])
        centred = [(each - each.mean(0)).flatten() for each in (drawn, some)]
        return nn.functional.cosine_similarity(*centred, dim=0).item()

    assert abs(likeness()) < 0.05
    initialise_model(vae, some)
    assert likeness() > 0.1


def test_truncated_weights_keep_within_two_deviations_of_their_fan_in():
    torch.manual_seed(0)
    model = build_model(ModelConfig(num_filters=8, code_size=20, prior_std=1.0))
    draw_truncated(model)
    kinds = (nn.Linear, nn.Conv2d, nn.ConvTranspose2d)
    layers = {name: layer for name, layer in model.named_modules() if isinstance(layer, kinds)}
    assert len(layers) > 15
    for name, layer in layers.items():
        assert layer.bias is not None
        weight, bias = layer.weight.detach(), layer.bias.detach()
        # Of 16 taps with stride 2, an output pixel sees 4.
        taps = 8 * 4 if isinstance(layer, nn.ConvTranspose2d) else weight[0].numel()
        limit = 2 / taps**0.5
        assert weight.abs().max() <= limit, name
        # A normal distribution that is cut at two deviations has 0.88 of its deviation left.
        assert abs(weight.std() / (0.88 * limit / 2) - 1) < 0.25, name
        assert (bias == 0).all()
    prior = model.get_parameter("access.memory.prior_mean").detach()
    assert abs(prior.std() - 1) < 0.05


def test_a_truncated_start_leaves_the_map_from_a_memory_to_codes():
    model = build_model(DNCConfig(num_filters=4, code_size=6, num_rows=4, hidden_size=5))
    draw_truncated(model)
    torch.testing.assert_close(
        model.get_parameter("access.memory.read_out.weight").data, torch.eye(6)
    )
