"""One training step: draw episodes, bound, gradients, Adam. On CUDA, captured as one graph."""

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from kanerva.data import EpisodeSampler
from kanerva.data.damage import DamageNoise, any_damage
from kanerva.data.varied_damage import varied_damage
from kanerva.errors import KanervaError
from kanerva.models.model import Model
from kanerva.training.adam import Adam
from kanerva.training.compiling import keep_compiled_code
from kanerva.training.config import TrainingConfig
from kanerva.training.flat import FlatParameters
from kanerva.training.objective import finish, objective
from kanerva.training.parallel import Parallel
from kanerva.training.schedule import Schedule

GENERATOR_BYTES = {"cpu": 5056, "cuda": 16}
"""How long the state of a random generator is on each kind of device."""


class Progress(NamedTuple):
    """Means over the steps since the last call of `TrainingStep.progress`."""

    reconstruction: float
    kl_address: float
    kl_code: float
    gradient_norm: float
    skipped: float
    """The share of steps whose gradient was not finite and counted as zero."""

    @property
    def bound(self) -> float:
        """The training bound: the sum of its three terms, in nats per item."""
        return self.reconstruction + self.kl_address + self.kl_code


class TrainingStep:
    """A model in training; `run` makes steps without waiting for the device.

    Everything random comes from one generator, and the schedule is computed on the device from a
    counter there, so that the whole step, from sampling to Adam, can be one CUDA graph.

    Args:
        model: the model to train, on `device`.
        sampler: draws the episodes, on the same device.
        config: how to train.
        device: where to compute.
        parallel: this process among its peers; by default it is alone.
        own_stream: on CUDA, run on a stream of its own, beside other trainings.

    """

    def __init__(
        self,
        model: Model,
        sampler: EpisodeSampler,
        config: TrainingConfig,
        *,
        device: torch.device,
        parallel: Parallel | None = None,
        own_stream: bool = False,
    ) -> None:
        parallel = parallel or Parallel(device)
        self.half = config.precision == "bfloat16"
        self.model = model
        self.sampler = sampler
        self.config = config
        self.device = device
        self.flat = FlatParameters(list(model.parameters()))
        self.parallel = parallel
        self.is_single_process = parallel.world == 1
        self.module: nn.Module = parallel.wrap(model)
        self.adam = Adam.of(self.flat.vector)
        self.damage = any_damage
        if config.damage == "varied":
            self.damage = functools.partial(varied_damage, left_out=config.left_out)
        self.objective, self.finish = objective, finish
        self.num_made = 0
        """Steps made, as `count` on the device."""
        self.is_compiled = False
        self.schedule = Schedule.of(config, device)
        self.count = torch.zeros((), dtype=torch.float64, device=device)
        self.generator = torch.Generator(device).manual_seed(config.seed * 1009 + parallel.rank)
        self.sums = torch.zeros(len(Progress._fields) + 1, device=device)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.use_graph = device.type == "cuda" and self.is_single_process
        self.stream = torch.cuda.Stream(device) if own_stream and device.type == "cuda" else None

    def use_precision(self) -> None:
        """Let products of matrices on the GPU use TF32, or not, as this training does.

        torch has one switch for the whole process, and trainings side by side may differ.
        """
        if self.device.type == "cuda":
            torch.set_float32_matmul_precision("high" if self.half else "highest")

    @property
    def is_about_to_compile(self) -> bool:
        """Whether the next step has to be compiled first."""
        due = self.num_made >= self.config.compile_from
        return due and bool(self.config.compile) and not self.is_compiled

    @property
    def is_ready(self) -> bool:
        """Whether the next step takes as long as the others: compiled, captured as a graph."""
        return not self.is_about_to_compile and (self.graph is not None or not self.use_graph)

    def compile_if_due(self) -> None:
        """Let the next step be compiled, if the settings ask for it from there on."""
        if self.is_about_to_compile:
            keep_compiled_code()
            self.synchronise()
            self.graph = None  # the compiled step is captured anew
            self.model.prepare_to_compile()
            self.damage = torch.compile(self.damage, dynamic=False)
            self.objective = torch.compile(objective, dynamic=False)
            self.finish = torch.compile(finish, dynamic=False)
            self.is_compiled = True

    def run(self, num_steps: int, *, stop: Callable[[], bool] = lambda: False) -> int:
        """Make this many steps, or fewer if `stop` says so between two; returns how many."""
        self.use_precision()
        self.model.train()
        self.model.coder.use_half(self.half)
        goal, begin = self.num_made + num_steps, self.num_made
        with self._search_convolutions(), self._on_stream():
            while self.num_made < goal:
                self.compile_if_due()
                switch = self.config.compile_from
                part = min(goal, switch if switch > self.num_made else goal) - self.num_made
                made = self._run(part, stop)
                self.num_made += made
                if made < part:
                    break
        self.model.coder.use_half(False)
        return self.num_made - begin

    def _run(self, num_steps: int, stop: Callable[[], bool]) -> int:
        made = 0
        if self.use_graph and self.graph is None:
            made = min(3, num_steps)
            self._warm_up(made)
            if made < num_steps:
                self._capture()
        while made < num_steps and not stop():
            if self.graph is not None:
                self.graph.replay()
            else:
                self._step()
            made += 1
        return made

    @contextlib.contextmanager
    def _search_convolutions(self) -> Iterator[None]:
        """Let cuDNN choose its algorithms by timing, or not, as this training does.

        The first steps choose, and a captured graph keeps what they chose.
        """
        before = torch.backends.cudnn.benchmark
        torch.backends.cudnn.benchmark = self.config.search_convolutions
        try:
            yield
        finally:
            torch.backends.cudnn.benchmark = before

    def _on_stream(self) -> contextlib.AbstractContextManager[object]:
        if self.stream is None:
            return contextlib.nullcontext()
        self.stream.wait_stream(torch.cuda.current_stream(self.device))
        return torch.cuda.stream(self.stream)

    def synchronise(self) -> None:
        """Wait until the device has made all steps."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def progress(self) -> Progress:
        """Means since the last call. This call waits for the device."""
        *sums, count = self.sums.tolist()
        self.sums.zero_()
        return Progress(*(value / max(count, 1) for value in sums))

    def state(self) -> dict[str, Tensor]:
        """Everything that a resumed run needs besides the parameters.

        Each process has random numbers of its own. With several, "generator" has a row for each.
        """
        return {
            "count": self.count,
            "sums": self.sums,
            "generator": self.parallel.gather(self.generator.get_state()).squeeze(0),
            "adam.mean": self.adam.mean,
            "adam.square": self.adam.square,
        }

    def load_state(self, state: Mapping[str, Tensor]) -> bool:
        """Continue from `state`. The model's parameters have been loaded before.

        Returns:
            Whether the random numbers continue, too. On another kind of device they cannot.

        """
        self.count.copy_(state["count"])
        self.num_made = int(state["count"])
        self.sums.copy_(state["sums"])
        self.adam.mean.copy_(state["adam.mean"])
        self.adam.square.copy_(state["adam.square"])
        generator = self._own_generator(state["generator"].cpu())
        if generator.numel() == GENERATOR_BYTES["cpu" if self.device.type == "cuda" else "cuda"]:
            seed = self.config.seed * 1009 + self.parallel.rank
            self.generator.manual_seed(seed + (int(self.count) + 1) * 2**33)
            return False
        self.generator.set_state(generator)
        return True

    def _own_generator(self, states: Tensor) -> Tensor:
        """The state of this process's generator."""
        states = states.view(-1, states.shape[-1])
        world = self.parallel.world
        if len(states) != world:
            raise KanervaError(
                "run folder",
                expected=f"a run that {_processes(world)} trained, as many as there are now",
                got=f"one that {_processes(len(states))} trained",
                fix=f"Start it with torchrun --nproc-per-node {len(states)}."
                if len(states) > 1
                else "Start it without torchrun.",
            )
        return states[self.parallel.rank].clone()  # set_state does not look at offsets

    def _step(self) -> None:
        episodes = self.sampler.sample(self.config.batch, generator=self.generator)
        images = self.model.coder.prepare(episodes, self.generator)
        parts = [self._loss(part) for part in self._by_length(images)]
        loss, terms = (torch.stack(each).mean(0) for each in zip(*parts, strict=True))
        gradient = self.flat.gradient(loss, is_single_process=self.is_single_process)
        now = (self.schedule, self.count)
        self.finish(self.adam, gradient, terms, *now, self.sums, self.config.clip)

    def _by_length(self, images: Tensor) -> tuple[Tensor, ...]:
        """The batch (B, T, ...), or its halves: long episodes, and short ones."""
        short = self.config.short_episodes
        if not short:
            return (images,)
        long, others = images.chunk(2)
        return long, others.reshape(-1, short, *images.shape[2:])

    def _loss(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """The loss of episodes of one length, and the terms of their bound."""
        noise = self.model.draw_noise(images, generator=self.generator)
        cues = None
        num_damaged = int(self.config.damaged * len(images))
        if num_damaged:
            whole = images[:num_damaged]
            cues = self.damage(whole, DamageNoise.draw(whole, self.generator))
        return self.objective(self.module, images, noise, cues, self.schedule, self.count)

    # -- CUDA ------------------------------------------------------------------------------------

    def _warm_up(self, num_steps: int) -> None:
        """Real steps on a side stream, in which libraries load their workspaces."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(num_steps):
                self._step()
        torch.cuda.current_stream().wait_stream(stream)

    def _capture(self) -> None:
        self.graph = torch.cuda.CUDAGraph()
        self.graph.register_generator_state(self.generator)
        # A stream of its own: graphs captured on one stream share the workspaces of its libraries,
        # and would corrupt each other when replayed at the same time.
        with torch.cuda.graph(self.graph, stream=torch.cuda.Stream()):
            self._step()


def _processes(number: int) -> str:
    return "one process" if number == 1 else f"{number} processes"
