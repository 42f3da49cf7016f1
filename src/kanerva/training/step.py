"""One training step: draw episodes, bound, gradients, Adam. On CUDA, captured as one graph."""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from kanerva.data import EpisodeSampler
from kanerva.data.damage import Chance, any_damage
from kanerva.models.bound import Bound
from kanerva.models.coder import Coder
from kanerva.training.config import TrainingConfig
from kanerva.training.flat import FlatParameters
from kanerva.training.parallel import Parallel

BETA2 = 0.999
"""Adam's default: how long it remembers the mean square of a gradient."""
CLIP_FROM = 100
"""Steps after which that mean is worth clipping by."""
METRICS = ("reconstruction", "kl_address", "kl_code", "gradient_norm", "skipped")


class Progress(NamedTuple):
    """Means over the steps since the last look."""

    reconstruction: float
    kl_address: float
    kl_code: float
    gradient_norm: float
    skipped: float

    @property
    def bound(self) -> float:
        return self.reconstruction + self.kl_address + self.kl_code


class TrainingStep:
    """Holds what changes while training; `run` makes steps without looking at a value.

    Everything random comes from one generator, and the schedule is computed on the device from a
    counter there, so that the whole step, sampling to Adam, can be one CUDA graph.
    """

    def __init__(
        self,
        model: Coder,
        sampler: EpisodeSampler,
        config: TrainingConfig,
        *,
        device: torch.device,
        parallel: Parallel | None = None,
    ) -> None:
        parallel = parallel or Parallel(device)
        self.model = model
        self.sampler = sampler
        self.config = config
        self.device = device
        self.flat = FlatParameters(list(model.parameters()))
        self.module: nn.Module = parallel.wrap(model)
        if config.compile:
            self.module = torch.compile(self.module)  # pyright: ignore[reportAttributeAccessIssue]
        self.count = torch.zeros((), dtype=torch.float64, device=device)
        self.lr = torch.zeros((), device=device)
        self.optimizer = torch.optim.Adam(
            [self.flat.vector],
            lr=self.lr,
            betas=(0.9, BETA2),
            fused=True,
            capturable=device.type == "cuda",
        )
        self.generator = torch.Generator(device).manual_seed(config.seed * 1009 + parallel.rank)
        self.damage = torch.compile(any_damage) if config.compile else any_damage
        self.num_damaged = int(config.damaged * config.batch)
        self.sums = torch.zeros(len(METRICS) + 1, device=device)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.use_graph = device.type == "cuda" and parallel.world == 1

    def run(self, num_steps: int) -> None:
        """Make this many steps."""
        self.model.train()
        self.model.use_half(self.config.precision == "bfloat16")
        if self.use_graph and self.graph is None:
            warm = min(3, num_steps)
            self._warm_up(warm)
            num_steps -= warm
            if num_steps == 0:
                return self.model.use_half(False)
            self._capture()
        for _ in range(num_steps):
            if self.graph is not None:
                self.graph.replay()
            else:
                self._step()
        self.model.use_half(False)

    def progress(self) -> Progress:
        """Means since the last call; this one waits for the device."""
        *sums, count = self.sums.tolist()
        self.sums.zero_()
        return Progress(*(value / max(count, 1) for value in sums))

    def state(self) -> dict[str, Tensor]:
        """All that a resumed run needs beside the parameters."""
        adam = self.optimizer.state_dict()["state"].get(0, {})
        return {
            "count": self.count,
            "sums": self.sums,
            "generator": self.generator.get_state(),
            **{f"adam.{name}": value for name, value in adam.items()},
        }

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Go on from `state`; the model's parameters are loaded already."""
        self.count.copy_(state["count"])
        self.sums.copy_(state["sums"])
        self.generator.set_state(state["generator"].cpu())
        adam = {
            name.removeprefix("adam."): value.to(self.device if value.dim() else "cpu")
            for name, value in state.items()
            if name.startswith("adam.")
        }
        if adam:
            groups = self.optimizer.state_dict()["param_groups"]
            self.optimizer.load_state_dict({"state": {0: adam}, "param_groups": groups})
            self.optimizer.param_groups[0]["lr"] = self.lr  # loading put a copy there

    def _step(self) -> None:
        episodes = self.sampler.sample(self.config.batch, generator=self.generator)
        images = self.model.prepare(episodes, self.generator)
        noise = self.model.draw_noise(images, self.generator)
        if self.num_damaged:
            whole = images[: self.num_damaged]
            queries = self.damage(whole, Chance.draw(whole, self.generator))
            noise = noise._replace(queries=queries)
        bound: Bound = self.module(images, noise)
        loss = bound.weighted(self._kl_weight()).mean()
        self.flat.clear()
        loss.backward()
        gradient = self.flat.gather()
        norm = gradient.norm()
        self.lr.copy_(self._learning_rate())
        self.flat.vector.grad = self._safe(gradient)
        self.optimizer.step()
        self.count += 1
        terms = (bound.reconstruction, bound.kl_address, bound.kl_code)
        means = [term.detach()[self.num_damaged :].mean() for term in terms]
        skipped = (~norm.isfinite()).float()
        row = torch.stack([*means, norm, skipped, torch.ones_like(norm)])
        self.sums += row.nan_to_num(0, 0, 0)

    def _safe(self, gradient: Tensor) -> Tensor:
        """No entry more than `clip` times its usual size, Adam's root of the mean square.

        A gradient that is not finite counts as none.

        A rare batch with a gradient of a million times the usual length would otherwise move every
        parameter of one layer by 30 learning rates, all in step. Clipping the whole gradient by
        its length does not prevent that: it may all be in that layer.
        """
        gradient = torch.where(gradient.norm().isfinite(), gradient, 0.0)
        adam = self.optimizer.state.get(self.flat.vector)
        if not adam:
            return gradient
        usual = (adam["exp_avg_sq"] / (1 - BETA2 ** adam["step"])).sqrt()
        limit = torch.where(self.count < CLIP_FROM, torch.inf, self.config.clip * usual)
        return gradient.clamp(-limit, limit)

    def _learning_rate(self) -> Tensor:
        """Up over `warmup` steps, then down to zero in a straight line."""
        steps, warmup = self.config.steps, min(self.config.warmup, self.config.steps // 2)
        rise = (self.count + 1) / max(warmup, 1)
        fall = (steps - self.count) / max(steps - warmup, 1)
        return self.config.lr * torch.minimum(rise, fall).clamp(0, 1)

    def _kl_weight(self) -> Tensor:
        """From 1/10 to 1 over `kl_warmup` steps."""
        share = (self.count / max(self.config.kl_warmup, 1)).clamp(max=1)
        return (0.1 + 0.9 * share).float()

    # -- CUDA ------------------------------------------------------------------------------------

    def _warm_up(self, num_steps: int) -> None:
        """Real steps on a side stream: libraries load, buffers of Adam appear."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(num_steps):
                self._step()
        torch.cuda.current_stream().wait_stream(stream)

    def _capture(self) -> None:
        self.graph = torch.cuda.CUDAGraph()
        self.graph.register_generator_state(self.generator)
        self.flat.clear()
        # A stream of its own: graphs captured on one stream share the workspaces of its libraries,
        # and would corrupt each other when replayed at the same time.
        with torch.cuda.graph(self.graph, stream=torch.cuda.Stream()):
            self._step()
