"""Where training begins: codes and addresses that tell images apart before anything is learned.

Random networks give all images nearly the same embedding. What differs between images is small
next to what they share, and training has to find it first. Here the layers that make codes and
address codes start as whitened principal components of some training images. So the memory works
from the first step, and the decoder has something to decode (see the lab notes on training).
"""

import math

import torch
from torch import Tensor, nn

from kanerva.models.addressing import AddressTable, LearnedAddressing
from kanerva.models.coder import Coder
from kanerva.models.ladder_coder import LadderCoder
from kanerva.models.memory_model import MemoryModel
from kanerva.models.model import Model
from kanerva.models.nets import fan_in

CODE_STD, CODE_LOG_VAR = 6.0, -4.0
"""Codes of a memory model: they stand out from their noise of variance 1."""
FOURIER_CODE_STD = 4.0
"""The same with Fourier keys, whose prior memory predicts codes of this size."""
VAE_CODE_STD, VAE_CODE_LOG_VAR = 1.0, -2.0
"""Codes of a VAE, whose prior is N(0, I)."""
ADDRESS_NATS = 12.0
"""What q(y|x) tells about x, in nats, whatever the size of y."""
FOURIER_ADDRESS_NATS = 35.0
"""The same for Fourier keys, which need a precise address."""
KEY_STD = 2.5
"""Standard deviation of keys: large enough that the memory keeps what is written."""
MIN_STD = 0.02
"""The smallest standard deviation of a component, as a share of the largest."""


@torch.no_grad()
def draw_truncated(model: Model) -> None:
    """Draw all weights as the frameworks of 2017 did: normal, no further out than 2 deviations.

    The standard deviation before the cut is 1 / sqrt(fan in), and biases are zero. This is what
    Sonnet, the library of the paper's authors, does by default. It draws from torch's global
    generator. The map from a memory to codes of DNC and LRUA stays the identity.
    """
    for name, layer in model.named_modules():
        if isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
            if not name.endswith("read_out"):
                std = 1 / math.sqrt(fan_in(layer))
                nn.init.trunc_normal_(layer.weight, std=std, a=-2 * std, b=2 * std)
            assert layer.bias is not None
            nn.init.zeros_(layer.bias)


@torch.no_grad()
def initialise_model(model: Model, images: Tensor) -> None:
    """Prepare a new model for training, given some training images (..., channels, H, W).

    Without it training is several times slower. A memory model starts as an auto-encoder through
    its memory, before the KL terms have their full weight.
    """
    images = images.flatten(end_dim=-4)
    if isinstance(model.coder, LadderCoder):
        model.coder.set_background(images.mean().clamp(1e-3, 1 - 1e-3).item())
        return
    if not isinstance(model, MemoryModel):
        initialise_coder(model.coder, images, std=VAE_CODE_STD, log_var=VAE_CODE_LOG_VAR)
        return
    is_fourier = model.addressing.key_width is not None
    std = FOURIER_CODE_STD if is_fourier else CODE_STD
    embeddings = initialise_coder(model.coder, images, std=std, log_var=CODE_LOG_VAR)
    if isinstance(model.addressing, LearnedAddressing):
        initialise_addressing(model.addressing, embeddings)


def initialise_coder(coder: Coder, images: Tensor, *, std: float, log_var: float) -> Tensor:
    """Codes of standard deviation `std`, uncorrelated; the decoder is the encoder reversed.

    The first map of the decoder leads from codes back to the encoder's last features, in their
    places on the image. Its convolutions are the encoder's transposed, and their output is added to
    the mean pixel. A random decoder would first have to learn which code belongs where.
    Returns the embeddings.
    """
    encoder, decoder = coder.encoder, coder.decoder
    features = encoder.blocks(images).flatten(1)
    back, centre = whiten(encoder.project, features, std=std, log_var=log_var)
    decoder.expand.weight.copy_(back)
    decoder.expand.bias.copy_(centre)
    for up, down in zip(decoder.ups, reversed(encoder.downs), strict=True):
        up.weight.copy_(down.weight)
    last = decoder.ups[-1].bias
    assert last is not None
    last.fill_(coder.likelihood.parameter_of(images.mean().clamp(1e-3, 1 - 1e-3).item()))
    return encoder.project(features)


def initialise_addressing(addressing: LearnedAddressing, embeddings: Tensor) -> None:
    """q(y|x) with uncorrelated means of standard deviation 1, and keys of `KEY_STD`."""
    nats = ADDRESS_NATS if addressing.key_width is None else FOURIER_ADDRESS_NATS
    log_var = -2 * nats / addressing.address_code_size
    address_codes = initialise_address_net(addressing.address_net, embeddings, log_var=log_var)
    if isinstance(addressing.table, AddressTable):
        initialise_key_net(addressing.table.key_net, address_codes)


def initialise_address_net(
    address_net: nn.Sequential, embeddings: Tensor, *, log_var: float
) -> Tensor:
    """Whiten the means of q(y|x); returns these means."""
    first, last = _first_and_last(address_net)
    first.weight /= embeddings.square().mean().sqrt()
    whiten(last, torch.relu(first(embeddings)), std=1.0, log_var=log_var)
    return address_net(embeddings).chunk(2, dim=-1)[0]


def initialise_key_net(key_net: nn.Sequential, address_codes: Tensor) -> None:
    """Keys with mean 0 and standard deviation `KEY_STD`; hidden units with random offsets."""
    first, last = _first_and_last(key_net)
    first.bias.normal_(std=2.0)
    last.bias.zero_()
    keys = key_net(address_codes)
    factor = KEY_STD / (keys - keys.mean(0)).square().mean().sqrt()
    last.weight *= factor
    last.bias.copy_(-factor * keys.mean(0))


def whiten(
    layer: nn.Linear, inputs: Tensor, *, std: float, log_var: float
) -> tuple[Tensor, Tensor]:
    """Set a layer that gives the parameters of a Gaussian.

    Its means are the leading principal components of `inputs` (N, features), each with standard
    deviation `std`, mixed by a random rotation. Its log-variances are constant. Returns the way
    back from means to inputs: a matrix (features, means) and an offset (features,).
    """
    centre = inputs.mean(0)
    _, sizes, components = torch.linalg.svd(inputs - centre, full_matrices=False)
    num = min(layer.out_features // 2, len(sizes))
    deviations = sizes[:num] / math.sqrt(len(inputs))
    deviations = deviations.clamp_min(MIN_STD * deviations[0].clamp_min(1e-6))
    rotation = nn.init.orthogonal_(torch.empty(num, num, device=inputs.device))
    rows = std * rotation @ (components[:num] / deviations[:, None])
    layer.weight.zero_()
    layer.weight[:num] = rows
    layer.bias.zero_()
    layer.bias[:num] = -rows @ centre
    layer.bias.chunk(2)[1].fill_(log_var)
    back = torch.zeros(layer.in_features, layer.out_features // 2, device=inputs.device)
    back[:, :num] = (components[:num] * deviations[:, None]).mT @ rotation.mT / std
    return back, centre


def _first_and_last(net: nn.Sequential) -> tuple[nn.Linear, nn.Linear]:
    first, last = net[0], net[-1]
    assert isinstance(first, nn.Linear)
    assert isinstance(last, nn.Linear)
    return first, last
