"""No option of a config is accepted and dropped.

The test walks every recipe and every option of its config, changes that option alone, and looks
where `CHECKS` says that its effect must be seen. An option without an entry fails the test.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
import torch
from PIL import Image

from kanerva.data import Dataset, EpisodeSampler
from kanerva.errors import KanervaError
from kanerva.models.build import build_model
from kanerva.models.checkpoint import save_model
from kanerva.training.changes import settings, with_changes
from kanerva.training.config import Config
from kanerva.training.objective import objective
from kanerva.training.parallel import Parallel
from kanerva.training.prepare import Images, check_fits, load_images, new_training
from kanerva.training.recipes import RECIPES
from kanerva.training.run import Run
from kanerva.training.schedule import Schedule
from kanerva.training.step import TrainingStep
from small_runs import CPU, train


class Check(NamedTuple):
    """How the effect of an option is seen."""

    other: Callable[[object], object]
    """From the value of an option to another one."""
    look: Callable[[Config, Path], object]
    """What must differ between a config and the same with that value."""
    also: Mapping[str, object] = MappingProxyType({})
    """Changes of both configs, so that the option matters at all."""


def to(value: object) -> Callable[[object], object]:
    """Always the same value."""
    return lambda now: value


SIZES = {
    **{"model.num_filters": 2, "model.code_size": 4, "model.num_rows": 4, "model.key_size": 4},
    **{"model.address_code_size": 3, "model.hidden_size": 5, "data.episode_length": 4},
    **{"training.batch": 8, "training.steps": 6, "training.warmup": 2, "training.kl_warmup": 4},
    **{"training.eval_every": 3, "training.eval_episodes": 2, "training.checkpoint_every": 3},
    **{"training.precision": "float32", "training.short_episodes": 0, "model.num_wide": 2},
    **{"model.group_codes": 2, "model.coarse_groups": 1},
}


def shrunk(config: Config) -> Config:
    """The experiment at small sizes, on images of 8 x 8 pixels."""
    channels = config.model.image_shape[0]
    sizes = {name: value for name, value in SIZES.items() if name in settings(config)}
    return with_changes(config, {"model.image_shape": [channels, 8, 8], **sizes})


def images_for(config: Config, num_images: int = 40) -> Dataset:
    generator = torch.Generator().manual_seed(0)
    shape = (num_images, *config.model.image_shape)
    bernoulli = config.model.likelihood == "bernoulli"
    return Dataset(
        name="random",
        split="train",
        images=torch.randint(256, shape, dtype=torch.uint8, generator=generator),
        labels=torch.arange(num_images) % 2,
        class_names=("one", "two"),
        likelihood="bernoulli" if bernoulli else "gaussian",
        binarisation="threshold20" if bernoulli else "none",
        encoding="random",
    )


# -- where effects are seen ----------------------------------------------------------------------


def shapes(config: Config, folder: Path) -> object:
    """The parameters that a model has."""
    model = build_model(config.model)
    return {name: tuple(value.shape) for name, value in model.named_parameters()}


def training(config: Config) -> TrainingStep:
    return new_training(config, images_for(config), parallel=Parallel(CPU))


def after_two_steps(config: Config, folder: Path) -> object:
    """The parameters after two training steps."""
    step = training(config)
    step.run(2)
    return tuple(step.flat.vector.tolist())


def after_a_late_step(config: Config, folder: Path) -> object:
    """The parameters after three steps, the last as if 200 had been made: clipping begins late."""
    step = training(config)
    step.run(2)
    step.count.fill_(200)
    step.run(1)
    return tuple(step.flat.vector.tolist())


def schedule(config: Config, folder: Path) -> object:
    """The learning rate and the weight of the KL terms at every step."""
    numbers = Schedule.of(config.training, CPU)
    counts = torch.arange(20.0)
    return (
        [numbers.learning_rate(count).item() for count in counts],
        [numbers.kl_weight(count).item() for count in counts],
    )


def fits_ink(config: Config, folder: Path) -> object:
    """Whether a model is accepted for images of ink."""
    try:
        check_fits(config, images_for(shrunk(RECIPES["omniglot"])))
    except KanervaError as error:
        return str(error)
    return "accepted"


def loaded_images(config: Config, folder: Path) -> object:
    """The data that a training reads from files."""
    images = load_images(config, device=CPU)
    sampler = EpisodeSampler(images.train, num_items=2)
    episode = sampler.sample(1, generator=torch.Generator().manual_seed(0))
    return len(images.train), len(images.monitor), episode.sum().item()


def recorded(config: Config, folder: Path) -> object:
    """The rows of a run: their steps, and how many episodes were evaluated at each."""
    rows = make_run(config, folder).folder.rows()
    return [(row["step"], row["held_out"]["episodes"]) for row in rows if "held_out" in row]


def saved(config: Config, folder: Path) -> object:
    """The checkpoints that a run leaves."""
    make_run(config, folder)
    return [path.name for path in sorted(run_folder(config, folder).glob("checkpoint-*"))]


def compiled(config: Config, folder: Path) -> object:
    """Whether torch.compile makes the first step."""
    step = training(config)
    step.compile_if_due()
    return step.objective is not objective


def searches_convolutions(config: Config, folder: Path) -> object:
    """Whether cuDNN may search while a step is made, and afterwards."""
    step, seen = training(config), []

    def look(*arguments: Any, **named: Any) -> Any:
        seen.append(torch.backends.cudnn.benchmark)
        return objective(*arguments, **named)

    step.objective = look
    step.run(1)
    return seen, torch.backends.cudnn.benchmark


def run_folder(config: Config, folder: Path) -> Path:
    return folder / str(config.training.eval_every) / str(config.training.checkpoint_every)


def make_run(config: Config, folder: Path) -> Run:
    images = Images(images_for(config), images_for(config, 20))
    run = Run(config, run_folder(config, folder), images=images, parallel=Parallel(CPU))
    run.start("small")
    train(run)
    return run


ON_GLYPHS = {
    **{"data.name": "glyphs", "model.image_shape": [1, 28, 28], "model.likelihood": "bernoulli"},
    "model.code_size": 49,  # a map of 7 x 7 places has a multiple of 49 entries
}
NETWORK_KEYS = {"model.keys": "network", "model.key_width": 1.0}
REFUSED = {
    **{"vae": {"training.damaged", "training.damage", "training.left_out"}},
    **{"ladder-vae": {"training.damaged", "training.damage", "training.left_out"}},
    "fewshot": {
        *{"training.damaged", "training.damage", "training.left_out"},
        *{"model.reading", "model.writing", "model.noisy_input"},
    },
}
"""Options that a kind of model refuses to have changed."""
CHECKS = {
    "model.image_shape": Check(to([2, 8, 8]), shapes),
    "model.likelihood": Check(
        lambda now: "gaussian" if now == "bernoulli" else "bernoulli",
        fits_ink,
        {"model.image_shape": [1, 8, 8]},
    ),
    "model.num_filters": Check(to(3), shapes),
    "model.code_size": Check(to(8), shapes),
    "model.num_rows": Check(to(6), after_two_steps, NETWORK_KEYS),
    "model.key_size": Check(to(6), shapes, NETWORK_KEYS),
    "model.keys": Check(
        lambda now: "fourier" if now == "network" else "network", shapes, {"model.key_width": 1.0}
    ),
    "model.key_width": Check(to(2.0), after_two_steps, {"model.keys": "fourier"}),
    "model.novel_share": Check(
        lambda now: 0.0 if now else 0.3,
        shapes,
        {"model.bottom_up": True, "model.code_posterior": "product"},
    ),
    "model.num_wide": Check(to(3), shapes),
    "model.group_codes": Check(to(3), shapes),
    "model.coarse_groups": Check(to(2), shapes),
    "model.fine_groups": Check(to(2), shapes),
    "model.empty_share": Check(to(0.7), after_two_steps),
    "model.address_code_size": Check(to(2), shapes),
    "model.hidden_size": Check(to(7), shapes),
    "model.bottom_up": Check(
        lambda now: not now,
        shapes,
        {"model.novel_share": 0.0, "model.code_posterior": "correction"},
    ),
    "model.input_noise": Check(to(0.5), after_two_steps),
    "model.noisy_input": Check(to("image"), after_two_steps),
    # Without the bottom-up stream there is no q(z|x, y, M) to give a form to.
    "model.code_posterior": Check(
        lambda now: "correction" if now == "direct" else "direct",
        after_two_steps,
        {"model.bottom_up": True, "model.novel_share": 0.0},
    ),
    "model.prior_std": Check(lambda now: 2 + now, after_two_steps),
    "model.noise_var": Check(to(0.5), after_two_steps),
    "model.covariance": Check(to("diagonal"), after_two_steps),
    # With a full covariance the posterior is the same for every chunk.
    "model.chunk": Check(to(1), after_two_steps, {"model.covariance": "diagonal"}),
    "model.reading": Check(to("sample"), after_two_steps),
    "model.writing": Check(
        lambda now: "sample" if now == "distribution" else "distribution", after_two_steps
    ),
    "data.name": Check(to("FOLDER"), loaded_images, ON_GLYPHS),
    "data.episode_length": Check(to(6), after_two_steps),
    "data.episode_classes": Check(lambda now: None if now else 1, after_two_steps),
    "data.distinct": Check(lambda now: not now, after_two_steps),
    "data.symmetries": Check(lambda now: not now, after_two_steps),
    "data.binarisation": Check(to("stochastic"), loaded_images, ON_GLYPHS),
    "data.split": Check(lambda now: "train" if now == "fit" else "fit", loaded_images, ON_GLYPHS),
    "data.monitor": Check(
        lambda now: "test" if now == "valid" else "valid", loaded_images, ON_GLYPHS
    ),
    "training.start": Check(
        lambda now: "truncated" if now == "components" else "components", after_two_steps
    ),
    "training.steps": Check(to(8), schedule),
    "training.batch": Check(to(6), after_two_steps),
    "training.lr": Check(to(1e-2), after_two_steps),
    "training.warmup": Check(to(1), schedule),
    "training.decay": Check(to(0.75), schedule),
    "training.kl_warmup": Check(to(2), schedule),
    # Entries of a gradient are clipped from step 100 on.
    "training.clip": Check(to(0.01), after_a_late_step, {"training.steps": 1000}),
    "training.damaged": Check(to(0.5), after_two_steps),
    # Where no image is damaged it does not matter how.
    "training.damage": Check(
        lambda now: "blocks" if now == "varied" else "varied",
        after_two_steps,
        {"training.damaged": 0.5},
    ),
    "training.left_out": Check(
        to("block12"), after_two_steps, {"training.damage": "varied", "training.damaged": 0.5}
    ),
    "training.short_episodes": Check(to(2), after_two_steps),
    "training.start_from": Check(to(None), after_two_steps),
    "training.seed": Check(to(1), after_two_steps),
    "training.eval_every": Check(to(2), recorded),
    "training.eval_episodes": Check(to(3), recorded),
    "training.checkpoint_every": Check(to(2), saved),
    "training.precision": Check(to("bfloat16"), after_two_steps),
    "training.compile": Check(to(True), compiled),
    "training.compile_from": Check(to(1), compiled, {"training.compile": True}),
    "training.search_convolutions": Check(lambda now: not now, searches_convolutions),
}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> str:
    """A folder of images: a grey square on black."""
    folder = tmp_path_factory.mktemp("pictures")
    for number in range(30):
        image = Image.new("L", (28, 28))
        image.paste(8 * number, (7, 7, 21, 21))
        image.save(folder / f"{number}.png")
    return str(folder)


@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated")  # torch's own
@pytest.mark.parametrize("recipe", RECIPES)
def test_every_option_has_an_effect(recipe, tmp_path, pictures):
    base = shrunk(RECIPES[recipe])
    for option in settings(base):
        check = CHECKS[option]
        refused = REFUSED.get(base.model.kind, set())
        also = {
            name: value
            for name, value in check.also.items()
            if name in settings(base) and name not in refused
        }
        here = with_changes(base, also)
        part, name = option.split(".")
        now = getattr(getattr(here, part), name)
        value = pictures if option == "data.name" else check.other(now)
        if option == "training.start_from":
            value = other_model(here, tmp_path)
        assert value != now, f"{recipe}: choose another value for {option}"
        if option in refused:
            with pytest.raises(KanervaError, match=name.replace("_", ".")):
                with_changes(here, {option: value})
            continue
        there = with_changes(here, {option: value})
        assert check.look(here, tmp_path) != check.look(there, tmp_path), f"{recipe}: {option}"


def other_model(config: Config, folder: Path) -> str:
    """A file with a model of the same sizes and other parameters."""
    torch.manual_seed(1)
    path = folder / "other.safetensors"
    save_model(path, build_model(config.model), {})
    return str(path)


def test_every_option_is_checked():
    """And nothing is checked that no recipe has."""
    assert {option for config in RECIPES.values() for option in settings(config)} == set(CHECKS)
