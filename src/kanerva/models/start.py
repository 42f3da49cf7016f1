"""Where training begins: codes and addresses that tell images apart before anything is learned.

Random networks give all images nearly the same embedding. What differs between images is small
beside what they share, and training has to dig it out first. Here the layers that make codes and
addresses start as whitened principal components over some training images, so that the memory
works from the first step and the decoder has something to decode (docs/lab-notes.md).
"""

import math

import torch
from torch import Tensor, nn

from kanerva.models.nets import Decoder, Encoder

SMALLEST = 0.02
"""Components with less than this share of the largest deviation are not blown up further."""


@torch.no_grad()
def start_coder(
    encoder: Encoder,
    decoder: Decoder,
    images: Tensor,
    *,
    scale: float,
    log_var: float,
    pixel: float,
) -> Tensor:
    """Codes of deviation `scale`, uncorrelated over `images`; the decoder is the encoder reversed.

    Its first map leads from codes back to the encoder's last features, in their places on the
    image, its convolutions are the encoder's transposed, and what they draw is added to the mean
    pixel. A random decoder would have to learn first which code belongs where.
    Returns the embeddings.
    """
    features = encoder.blocks(images).flatten(1)
    back, centre = whiten(encoder.project, features, scale=scale, log_var=log_var)
    decoder.expand.weight.copy_(back)
    decoder.expand.bias.copy_(centre)
    for up, down in zip(decoder.ups, reversed(encoder.downs), strict=True):
        up.weight.copy_(down.weight)
    last = decoder.ups[-1].bias
    assert last is not None
    last.fill_(pixel)
    return encoder.project(features)


@torch.no_grad()
def start_addresses(address_net: nn.Sequential, embeddings: Tensor, *, log_var: float) -> Tensor:
    """q(y|x) with means of deviation 1, uncorrelated over `embeddings`; returns these means."""
    first, last = _ends(address_net)
    first.weight /= embeddings.square().mean().sqrt()
    whiten(last, torch.relu(first(embeddings)), scale=1.0, log_var=log_var)
    return address_net(embeddings).chunk(2, dim=-1)[0]


@torch.no_grad()
def start_keys(key_net: nn.Sequential, addresses: Tensor, *, scale: float) -> None:
    """Keys with mean 0 and deviation `scale`, bending at random places in the space of y."""
    first, last = _ends(key_net)
    first.bias.normal_(std=2.0)
    last.bias.zero_()
    keys = key_net(addresses)
    factor = scale / (keys - keys.mean(0)).square().mean().sqrt()
    last.weight *= factor
    last.bias.copy_(-factor * keys.mean(0))


def _ends(net: nn.Sequential) -> tuple[nn.Linear, nn.Linear]:
    first, last = net[0], net[-1]
    assert isinstance(first, nn.Linear)
    assert isinstance(last, nn.Linear)
    return first, last


def whiten(
    layer: nn.Linear, inputs: Tensor, *, scale: float, log_var: float
) -> tuple[Tensor, Tensor]:
    """A layer whose outputs are a Gaussian's parameters: means from the leading components of
    `inputs` (N, features), mixed by a random rotation; log-variances constant.

    Returns the way back, a matrix (features, means) and an offset (features,).
    """
    centre = inputs.mean(0)
    _, sizes, components = torch.linalg.svd(inputs - centre, full_matrices=False)
    num = min(layer.out_features // 2, len(sizes))
    deviations = sizes[:num] / math.sqrt(len(inputs))
    deviations = deviations.clamp_min(SMALLEST * deviations[0].clamp_min(1e-6))
    rotation = nn.init.orthogonal_(torch.empty(num, num, device=inputs.device))
    rows = scale * rotation @ (components[:num] / deviations[:, None])
    layer.weight.zero_()
    layer.weight[:num] = rows
    layer.bias.zero_()
    layer.bias[:num] = -rows @ centre
    layer.bias.chunk(2)[1].fill_(log_var)
    back = torch.zeros(layer.in_features, layer.out_features // 2, device=inputs.device)
    back[:, :num] = (components[:num] * deviations[:, None]).mT @ rotation.mT / scale
    return back, centre
