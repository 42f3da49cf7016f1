"""The variational bound of episodes (eq:vlb), for any memory; written once.

Shapes: B episodes, T items, C code size, Y address code size.
"""

from typing import TypeVar

import torch
from torch import Tensor

from kanerva.distributions import gaussian
from kanerva.models.bound import Bound, ItemBounds, mean_over_items
from kanerva.models.coder import Coder
from kanerva.models.codes import CodePosterior
from kanerva.models.config import AnyMemoryModelConfig
from kanerva.models.matching import MATCHING_WEIGHT, matching_loss
from kanerva.models.memory_access import MemoryAccess, WrittenEpisode
from kanerva.models.model import Noise
from kanerva.models.novel import NOVEL_WEIGHT, misfit

State = TypeVar("State")


def episode_bound(
    coder: Coder,
    access: MemoryAccess[State],
    config: AnyMemoryModelConfig,
    images: Tensor,
    noise: Noise,
    cues: Tensor | None,
    *,
    training: bool,
) -> Bound:
    """The negative bound of episodes (B, T, channels, H, W).

    Damaged cues take the place of images in reading. With Fourier keys they do not: there the
    reader searches the memory, and damaged cues train where its search begins.
    """
    width = access.addressing.key_width
    # e(x); then q(M|X) and q(y|x); then p(z|y, M) and q(z|x, y, M); then p(x|z).
    embeddings, cue_embeddings = coder.encode_both(images, cues if width is None else None)
    addressed_by = torch.stack([embeddings, cue_embeddings])
    if noise.embedding is not None:
        scaled = config.input_noise * noise.embedding
        if config.noisy_input == "image":
            addressed_by = coder.encode_noisy(images, cues, scaled)
        else:
            addressed_by = addressed_by + scaled
    prior = access.memory.initial_state(images.shape[:-4])
    written = access.write_then_address(embeddings, addressed_by, prior, noise)
    terms = _read_terms(coder, access, cue_embeddings, written, images, noise)
    if training:
        extra = _novel_loss(coder, access, embeddings, images, noise)
        if width is not None and cues is not None:
            matching = _matching(coder, access, embeddings, cues, width)
            extra = matching if extra is None else extra + matching
        return mean_over_items(terms, None, extra)
    if access.novel is not None:
        terms = _with_novel(coder, access, embeddings, images, noise, written, terms)
    return mean_over_items(terms, access.memory.kl(written.state, prior))


def written_terms(
    coder: Coder, access: MemoryAccess[State], images: Tensor, noise: Noise
) -> tuple[WrittenEpisode[State], ItemBounds]:
    """An episode that was written, and the terms of its images as items of the memory."""
    embeddings = coder.encode(images)
    prior = access.memory.initial_state(images.shape[:-4])
    twice = torch.stack([embeddings, embeddings])
    written = access.write_then_address(embeddings, twice, prior, noise)
    return written, _read_terms(coder, access, embeddings, written, images, noise)


def written_misfit(
    access: MemoryAccess[State], embeddings: Tensor, written: WrittenEpisode[State]
) -> Tensor:
    """How far images are from what the memory holds at the means of their addresses, (..., T)."""
    at_mean = access.addressing.address_for(written.posterior.mean)
    return misfit(access.memory.read(written.state, at_mean), access.message(embeddings))


def novel_terms(
    coder: Coder, access: MemoryAccess[State], embeddings: Tensor, images: Tensor, noise: Noise
) -> ItemBounds:
    """The terms of images that are not in the memory: no address."""
    assert access.novel is not None
    code = access.novel.posterior(access.message(embeddings))
    return _item_terms(coder, code, torch.zeros_like(code.shift[..., 0]), images, noise)


def _read_terms(
    coder: Coder,
    access: MemoryAccess[State],
    embeddings: Tensor,
    written: WrittenEpisode[State],
    images: Tensor,
    noise: Noise,
) -> ItemBounds:
    code = access.read(embeddings, written.address, written.state, noise.memory)
    kl_address = gaussian.kl_to_standard(written.posterior)
    return _item_terms(coder, code, kl_address, images, noise)


def _item_terms(
    coder: Coder, code: CodePosterior, kl_address: Tensor, images: Tensor, noise: Noise
) -> ItemBounds:
    parameters = coder.decode(code.distribution.sample(noise.code))
    log_likelihood = coder.likelihood.log_prob(parameters, images)
    return ItemBounds(-log_likelihood, kl_address, code.kl)


def _novel_loss(
    coder: Coder, access: MemoryAccess[State], embeddings: Tensor, images: Tensor, noise: Noise
) -> Tensor | None:
    """The weighted bound of a quarter of the images as novel ones, spread over all (B,)."""
    if access.novel is None:
        return None
    few = slice(0, (images.shape[-4] + 3) // 4)
    part = noise._replace(code=noise.code[:, few])
    terms = novel_terms(coder, access, embeddings[:, few], images[:, few], part)
    return (NOVEL_WEIGHT * terms.total.mean()).expand(len(images))


def _with_novel(
    coder: Coder,
    access: MemoryAccess[State],
    embeddings: Tensor,
    images: Tensor,
    noise: Noise,
    written: WrittenEpisode[State],
    terms: ItemBounds,
) -> ItemBounds:
    """The bound of the mixture: in the memory, or novel."""
    assert access.novel is not None
    share = access.novel.written_share(written_misfit(access, embeddings, written))
    novel = novel_terms(coder, access, embeddings, images, noise)
    return access.novel.mix(terms, novel, share)


def _matching(
    coder: Coder, access: MemoryAccess[State], embeddings: Tensor, cues: Tensor, width: float
) -> Tensor:
    """The weighted loss of damaged cues (n, T, ...) against the images of all episodes, (B,)."""
    state = access.memory.initial_state(embeddings.shape[:-2])
    cue_codes = access.addressing.posterior(coder.encode(cues), state).mean
    address_codes = access.addressing.posterior(embeddings, state).mean
    loss = matching_loss(cue_codes.flatten(0, 1), address_codes.flatten(0, 1), width=width)
    return (MATCHING_WEIGHT * loss.mean()).expand(len(embeddings))
