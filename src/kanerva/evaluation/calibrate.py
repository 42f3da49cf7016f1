"""Fit the last parts of a trained Kanerva Machine with Fourier keys.

All of them use images that it was not trained on. `fit_ranking` fits how a reader chooses between
items, `calibrate_confidence` the probability that a reading is right, and `calibrate_gate` the
probability that an image is in the memory.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from kanerva.data import Dataset, EpisodeSampler
from kanerva.data.damage import DAMAGES, Damage, damage
from kanerva.distributions.gaussian import Gaussian
from kanerva.models.confidence import Signs
from kanerva.models.episode_bound import novel_terms, written_misfit, written_terms
from kanerva.models.fitted_network import FittedNetwork
from kanerva.models.fourier_keys import FourierKeys
from kanerva.models.item_search import NUM_CANDIDATES
from kanerva.models.kanerva_machine import KanervaMachine
from kanerva.models.ranking import features
from kanerva.models.widening_search import MOST_CANDIDATES, WIDEST, Asked, stages

HALF = 0.5
"""A place is that of an item if it is closer than this, in widths of the keys."""

STRANGER_WEIGHT = 0.2
"""Weight of cues that were never written, next to those that were."""


class Readings(NamedTuple):
    """Signs of many readings, and what became of them. Each is (N,)."""

    signs: Signs
    is_right: Tensor
    """Whether the reading is the image that the cue was made of."""
    is_written: Tensor
    """Whether that image was written at all."""


@torch.no_grad()
def collect_readings(
    model: KanervaMachine,
    dataset: Dataset,
    *,
    episode_length: int,
    num_episodes: int,
    kinds: Sequence[Damage] = DAMAGES,
    times: Sequence[int] = (1,),
    seed: int = 0,
) -> Readings:
    """Read damaged cues of written images, and as many of images that were never written.

    The images are written as often as `times` says, in turn.
    """
    # Distinct: an image that was written is no stranger, and of two equal ones each is right.
    sampler = EpisodeSampler(dataset, num_items=2 * episode_length, distinct=True)
    generator = torch.Generator(dataset.device).manual_seed(seed)
    signs, right, stored = [], [], []
    for _ in range(num_episodes):
        written, strangers = sampler.sample(1, generator=generator)[0].chunk(2)
        repeats = torch.tensor(times, device=written.device).repeat(episode_length)
        memory = model.write(written.repeat_interleave(repeats[:episode_length], 0))
        for kind in kinds:
            cues = damage(torch.cat([written, strangers]), kind, generator=generator)
            result = model.read(cues, memory)
            assert result.signs is not None
            distance = torch.cdist(result.images.flatten(1), written.flatten(1), p=1)
            own = torch.arange(episode_length, device=distance.device)
            is_right = torch.zeros(len(cues), dtype=torch.bool, device=distance.device)
            is_right[:episode_length] = distance[:episode_length].argmin(-1) == own
            is_written = torch.arange(len(cues), device=distance.device) < episode_length
            signs.append(Signs(*(sign.flatten() for sign in result.signs)))
            right.append(is_right)
            stored.append(is_written)
    return joined([Readings(*parts) for parts in zip(signs, right, stored, strict=True)])


def joined(readings: Sequence[Readings]) -> Readings:
    """Several lots of readings as one."""
    signs, right, written = zip(*readings, strict=True)
    columns = Signs(*(torch.cat(parts) for parts in zip(*signs, strict=True)))
    return Readings(columns, torch.cat(right), torch.cat(written))


def calibrate_confidence(
    model: KanervaMachine, readings: Sequence[Readings], *, num_steps: int = 1500
) -> float:
    """Fit the probability that a reading is right; returns the cross-entropy of the fit.

    Each set of readings counts the same, however long it is.
    """
    calibration = model.calibration
    assert calibration is not None
    inputs = torch.cat([torch.stack(part.signs, -1) for part in readings]).double()
    right = torch.cat([part.is_right for part in readings]).double()
    weights = torch.cat([_weights(part) for part in readings])

    def loss_of(logits: Tensor) -> Tensor:
        losses = functional.binary_cross_entropy_with_logits(logits, right, reduction="none")
        return (weights * losses).sum() / weights.sum()

    return _fit(calibration, inputs, loss_of, num_steps=num_steps)


class ShownCandidates(NamedTuple):
    """The items that a reader finds for damaged cues, and which of them is right."""

    features: Tensor
    """What `Ranking` sees, (N, candidates, features)."""
    is_item: Tensor
    """Which of them are different items, (N, candidates)."""
    answers: Tensor
    """The number of the right one, (N,); one above the last if it is none of them."""


@torch.no_grad()
def collect_candidates(
    model: KanervaMachine,
    dataset: Dataset,
    *,
    episode_length: int = 32,
    num_episodes: int,
    kinds: Sequence[Damage] = DAMAGES,
    seed: int = 0,
) -> ShownCandidates:
    """Find items for damaged cues, with all stages of a search.

    The widest one is for cues that are in doubt. Without a fitted ranking it is left out.
    """
    keys, reader = model.addressing.table, model._search_reader()
    assert isinstance(keys, FourierKeys)
    sampler = EpisodeSampler(dataset, num_items=episode_length)
    generator = torch.Generator(dataset.device).manual_seed(seed)
    parts: list[ShownCandidates] = []
    for _ in range(num_episodes):
        images = sampler.sample(1, generator=generator)[0]
        memory = model.write(images)
        written = model.addressing.posterior(model.coder.encode(images), memory).mean
        items = reader.item_search(keys, memory.cov, memory.code_size)
        search = reader.widening_search(items, memory, memory.mean)
        for kind in kinds:
            cues = damage(images, kind, generator=generator)
            posterior = model.addressing.posterior(model.coder.encode(cues), memory)
            view = reader.spread_by_damage(posterior)
            asked = Asked(cues, Gaussian(*(part[None] for part in view)), None)
            own = written
            for stage, num in stages(keys.num_starts):
                if stage == WIDEST:
                    if search.ranking is None:
                        break
                    found = search.chosen(search.compared(asked))
                    doubt = search.in_doubt(found, "views")
                    if not len(doubt):
                        break
                    asked, own = asked.of_cues(doubt), own[doubt]
                asked = search.widened(asked, stage, num)
                found = asked.known
                assert found is not None
                decoded = search.decode(found.address_codes)
                shown = features(found.distance, found.log_var, asked.cues, decoded)
                is_item = ~found.merit.isneginf()
                is_own = (found.address_codes - own).norm(dim=-1) < HALF * keys.width
                parts.append(_padded(shown, is_item, is_own & is_item))
    return ShownCandidates(*(torch.cat(part) for part in zip(*parts, strict=True)))


def _padded(shown: Tensor, is_item: Tensor, is_own: Tensor) -> ShownCandidates:
    """Candidates (S, T, ...) of T cues, with no items up to the largest number."""
    most = max(NUM_CANDIDATES, *MOST_CANDIDATES.values())
    more = (0, 0, 0, most - len(shown))
    answers = torch.where(is_own.any(0), is_own.int().argmax(0), most)
    shown = functional.pad(shown, (0, 0, *more)).transpose(0, 1)
    return ShownCandidates(shown, functional.pad(is_item, more).T, answers)


def fit_ranking(
    model: KanervaMachine, candidates: ShownCandidates, *, num_steps: int = 1500
) -> float:
    """Fit how likely each candidate is the right one; returns the cross-entropy of the fit.

    None of them is one more answer, with a logit of zero.
    """
    assert model.ranking is not None

    def loss_of(of_items: Tensor) -> Tensor:
        absent = torch.full(candidates.is_item.shape, -math.inf).to(of_items)
        logits = absent.masked_scatter(candidates.is_item, of_items)
        with_none = torch.cat([logits, torch.zeros_like(logits[:, :1])], -1)
        return functional.cross_entropy(with_none, candidates.answers)

    shown = candidates.features[candidates.is_item].double()
    return _fit(model.ranking, shown, loss_of, num_steps=num_steps)


def _fit(
    network: FittedNetwork, inputs: Tensor, loss_of: Callable[[Tensor], Tensor], *, num_steps: int
) -> float:
    """Fit a network to inputs (..., num_inputs) in float64, and keep its parameters."""
    num_inputs = inputs.shape[-1]
    centre = inputs.reshape(-1, num_inputs).mean(0)
    scale = inputs.reshape(-1, num_inputs).std(0).clamp_min(1e-6)
    inputs = ((inputs - centre) / scale).clamp(-5, 5)
    generator = torch.Generator().manual_seed(0)
    num_hidden = len(network.first)
    first = torch.randn(num_hidden, num_inputs, generator=generator).double() / 3
    parameters = [first, torch.zeros(num_hidden).double(), torch.zeros(num_hidden + 1).double()]
    for parameter in parameters:
        parameter.requires_grad_()
    adam = torch.optim.Adam(parameters, lr=0.02)
    schedule = torch.optim.lr_scheduler.LinearLR(adam, 1.0, 0.02, num_steps)
    loss = torch.zeros(())
    for _ in range(num_steps):
        adam.zero_grad()
        first, first_bias, last = parameters
        logits = torch.tanh(inputs @ first.mT + first_bias) @ last[:-1] + last[-1]
        loss = loss_of(logits) + 1e-4 * first.square().sum()
        loss.backward()
        adam.step()
        schedule.step()
    names = ("centre", "scale", "first", "first_bias", "last", "is_fitted")
    values = (centre, scale, *(parameter.detach() for parameter in parameters), torch.ones(()))
    for name, value in zip(names, values, strict=True):
        getattr(network, name).copy_(value)
    return loss.item()


def _weights(part: Readings) -> Tensor:
    weights = torch.where(part.is_written, 1.0, STRANGER_WEIGHT).double()
    return weights / weights.sum()


def calibrate_gate(
    model: KanervaMachine,
    dataset: Dataset,
    *,
    lengths: Sequence[int] = (1, 4, 16, 64, 128, 200, 256, 300),
    num_images: int = 600,
    seed: int = 0,
) -> None:
    """Fit the probability that an image is in the memory, so that the bound is lowest."""
    novel_codes = model.access.novel
    assert novel_codes is not None
    generator = torch.Generator(dataset.device).manual_seed(seed)
    rows = []
    with torch.no_grad():
        for length in lengths:
            sampler = EpisodeSampler(dataset, num_items=length)
            images = sampler.sample(max(1, num_images // length), generator=generator)
            noise = model.draw_noise(images, generator=generator)
            written, terms = written_terms(model.coder, model.access, images, noise)
            embeddings = model.coder.encode(images)
            other = novel_terms(model.coder, model.access, embeddings, images, noise)
            columns = (
                written_misfit(model.access, embeddings, written),
                terms.total,
                other.total,
            )
            rows.append(torch.stack([column.flatten() for column in columns]).double())
    table = torch.cat([row[:, :: max(1, row.shape[1] // num_images)] for row in rows], dim=1)
    misfit, written_total, novel_total = table
    gate = torch.tensor([5.0, -1.0], dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([gate], lr=0.05)
    share = novel_codes.share
    for _ in range(2000):
        adam.zero_grad()
        logits = gate[0] + gate[1] * misfit
        r, novel = torch.sigmoid(logits), torch.sigmoid(-logits)
        # Logarithms of the logits, not of r: a gate that is sure has a finite slope.
        kl = r * (functional.logsigmoid(logits) - math.log(1 - share))
        kl = kl + novel * (functional.logsigmoid(-logits) - math.log(share))
        (r * written_total + novel * novel_total + kl).mean().backward()
        adam.step()
    novel_codes.gate.copy_(gate.detach())
