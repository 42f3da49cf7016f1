"""The bound of each item, read from a memory of the items before it, for every model with one.

Shapes: B episodes, T items.
"""

from torch import Tensor

from kanerva.distributions import gaussian
from kanerva.errors import KanervaError
from kanerva.memory import condition_prefixes
from kanerva.models.bound import ItemBounds
from kanerva.models.few_shot_machine import FewShotMachine
from kanerva.models.kanerva_machine import KanervaMachine
from kanerva.models.ladder_vae import LadderVAE
from kanerva.models.model import Model, Noise
from kanerva.models.vae import VAE


def item_bounds(model: Model, images: Tensor, noise: Noise) -> ItemBounds:
    """The terms of the negative bound of every item, each (B, T).

    Args:
        model: a few-shot model, a Kanerva Machine, or a VAE, whose images do not see each other.
        images: episodes (B, T, channels, H, W), as `coder.prepare` returns them.
        noise: what `model.draw_noise(images)` returned.

    Returns:
        Terms whose sum over an episode is a bound on the whole of it, the memory included.

    Raises:
        KanervaError: the memory of the model is not a distribution.

    """
    if isinstance(model, FewShotMachine | LadderVAE):
        return model.item_bounds(images, noise)
    if isinstance(model, KanervaMachine):
        return _of_kanerva_machine(model, images, noise)
    if isinstance(model, VAE):
        code = gaussian.from_parameters(model.coder.encode(images))
        parameters = model.coder.decode(code.sample(noise.code))
        kl = gaussian.kl_to_standard(code)
        return ItemBounds(-model.coder.likelihood.log_prob(parameters, images), 0 * kl, kl)
    raise KanervaError(
        "model",
        expected="a Kanerva Machine, a few-shot model or a VAE",
        got=f"a {type(model).__name__} around a {model.config.kind}",
        fix="Leave --prequential out: this memory is not a distribution, or cannot be cut off.",
    )


def _of_kanerva_machine(model: KanervaMachine, images: Tensor, noise: Noise) -> ItemBounds:
    """The paper's model, read from the posteriors after 0, 1, ... T - 1 items."""
    assert noise.address is not None
    assert noise.written_code is not None
    memory, addressing = model.memory_module, model.addressing
    prior = model.prior_memory()
    embeddings = model.coder.encode(images)
    posterior = addressing.posterior(embeddings, prior)
    writing, reading = addressing.address_for(posterior.sample(noise.address)).unbind(0)
    code = gaussian.from_parameters(embeddings)
    uncertain = memory.writes_distributions
    states = condition_prefixes(
        prior,
        writing,
        code.mean if uncertain else code.sample(noise.written_code),
        noise_var=model.config.noise_var,
        code_var=code.log_var.exp() if uncertain else None,
    )
    dim, num_items = len(states.batch_shape) - 1, images.shape[1]
    before = states._map_tensors(lambda tensor: tensor.narrow(dim, 0, num_items))
    sampled = None if noise.memory is None else noise.memory[:, None]
    read = model.access.read(embeddings[..., None, :], reading[..., None, :], before, sampled)
    z = read.distribution.sample(noise.code[..., None, :]).squeeze(-2)
    log_likelihood = model.coder.likelihood.log_prob(model.coder.decode(z), images)
    return ItemBounds(-log_likelihood, gaussian.kl_to_standard(posterior), read.kl.squeeze(-1))
