"""Experiments by name. Each is a function that returns a complete config."""

import dataclasses
from dataclasses import replace

from kanerva.models.config import (
    CONFIGS,
    AnyModelConfig,
    ModelConfig,
)
from kanerva.training.config import Config, DataConfig, TrainingConfig
from kanerva.training.new_recipes import (
    as_ladder_vae,
    handwriting,
    handwriting_vae,
    omniglot_fewshot,
    omniglot_fewshot2,
    omniglot_fewshot_mixed,
)

MEMORY_RATES = {"kanerva": 3e-3, "dnc": 3e-4, "lrua": 3e-4, "dynamic": 3e-3}
"""Learning rates at which each memory learns well in MIN_LONG_RUN steps or more (lab notes)."""
MIN_LONG_RUN = 5_000
"""Steps from which a run counts as long. Shorter runs end before a high rate does harm, and a low
rate does not get them far."""
NEEDS_FLOAT32 = ("dnc", "lrua")
"""Memories that are trained in float32. Their look-ups use strengths of 50 and more. With bfloat16
their addresses were seen to run away, in float32 they were not (lab notes)."""


def omniglot() -> Config:
    """The paper's Omniglot model (section 4): 16 filters, C 100, K 64, S 50, episodes of 32."""
    return Config()


def omniglot_vae() -> Config:
    """The VAE twin of the Omniglot model: the same coders, no memory."""
    return as_vae(omniglot())


def omniglot_memory_only() -> Config:
    """The Omniglot model with z from the memory alone (appendix D)."""
    return with_memory(omniglot(), "kanerva")


def omniglot_dnc() -> Config:
    """The Omniglot model around a DNC (appendix D)."""
    return with_memory(omniglot(), "dnc")


def omniglot_lrua() -> Config:
    """The Omniglot model around a memory with least recently used access (section 4.4)."""
    return with_memory(omniglot(), "lrua")


def omniglot_dynamic() -> Config:
    """The Dynamic Kanerva Machine at the sizes of the Omniglot model."""
    return with_memory(omniglot(), "dynamic")


def cifar10() -> Config:
    """The paper's CIFAR model (section 4): 32 filters, C 200, K 128, Gaussian pixels.

    No episode is read with damaged images: that would cost hundreds of nats (lab notes).
    """
    return Config(
        model=ModelConfig(
            image_shape=(3, 32, 32),
            likelihood="gaussian",
            num_filters=32,
            code_size=200,
            num_rows=128,
        ),
        data=DataConfig(name="cifar10"),
        training=TrainingConfig(lr=7e-4, damaged=0.0),
    )


def cifar10_vae() -> Config:
    """The VAE twin of the CIFAR model, with a higher rate and a longer warm-up of its KL terms."""
    config = as_vae(cifar10())
    return replace(config, training=replace(config.training, lr=1e-3, kl_warmup=6_000))


def glyphs() -> Config:
    """The Omniglot model on drawn letterforms. It needs no data files."""
    return replace(omniglot(), data=DataConfig(name="glyphs"))


def glyphs_vae() -> Config:
    """The VAE twin of the glyphs model."""
    return as_vae(glyphs())


def tiny() -> Config:
    """A small memory on glyphs, which learns visibly within two minutes on two CPU cores."""
    return Config(
        model=ModelConfig(num_filters=8, code_size=32, num_rows=32, key_size=32, hidden_size=100),
        data=DataConfig(name="glyphs", episode_length=16),
        training=TrainingConfig(
            steps=1500,
            batch=8,
            kl_warmup=100,
            warmup=50,
            eval_every=250,
            eval_episodes=40,
            checkpoint_every=500,
            precision="float32",
        ),
    )


def omniglot_vae_matched() -> Config:
    """A VAE with as many parameters as the Omniglot model, within 2 %: wider coders."""
    config = omniglot_vae()
    return replace(config, model=replace(config.model, num_filters=41, code_size=107))


def omniglot_alphabets() -> Config:
    """The Omniglot model, tested with characters of alphabets that it was not trained on."""
    return replace(omniglot(), data=DataConfig(name="omniglot-alphabets"))


def omniglot_paper() -> Config:
    """The Omniglot model with the training of the paper's text (section 4, appendix C).

    Adam at 1e-4 with no schedule, no cue damaged, random weights as frameworks of 2017 drew them.
    The text does not give the size of y, the width of the MLPs and the start of R0. See the lab
    notes for how these were chosen.
    """
    return as_in_paper(omniglot())


def omniglot_paper_vae() -> Config:
    """The VAE twin of the model with the paper's training."""
    return as_vae(omniglot_paper())


def cifar10_paper() -> Config:
    """The CIFAR model with the training of the paper's text: all but the sizes as for Omniglot."""
    return as_in_paper(cifar10())


def cifar10_paper_vae() -> Config:
    """The VAE twin of the CIFAR model with the paper's training."""
    return as_vae(cifar10_paper())


def as_in_paper(config: Config) -> Config:
    """The same sizes with the training of the paper's text."""
    assert isinstance(config.model, ModelConfig)
    model = replace(
        config.model,
        address_code_size=50,
        hidden_size=200,
        prior_std=1.0,
        code_posterior="direct",
    )
    training = replace(
        config.training,
        start="truncated",
        lr=1e-4,
        steps=300_000,
        warmup=0,
        kl_warmup=0,
        decay=0.0,
        damaged=0.0,
        eval_every=5_000,
        checkpoint_every=20_000,
    )
    return replace(config, model=model, training=training)


def as_vae(config: Config) -> Config:
    """The same experiment without a memory. Its best learning rate is lower."""
    training = replace(config.training, lr=min(config.training.lr, 2e-3), damaged=0.0)
    return replace(config, model=_as_kind(config.model, "vae"), training=training)


def with_memory(config: Config, kind: str) -> Config:
    """The same experiment around another memory, with z from the memory alone (appendix D).

    Args:
        config: an experiment of the Kanerva Machine.
        kind: "kanerva", "dnc", "lrua" or "dynamic".

    Example:
        >>> from kanerva.training.recipes import tiny, with_memory
        >>> with_memory(tiny(), "dnc").model.kind
        'dnc'

    """
    is_long = config.training.steps >= MIN_LONG_RUN
    lr = min(config.training.lr, MEMORY_RATES[kind]) if is_long else config.training.lr
    precision = "float32" if kind in NEEDS_FLOAT32 else config.training.precision
    return replace(
        config,
        model=_as_kind(config.model, kind),
        training=replace(config.training, lr=lr, damaged=0.0, precision=precision),
    )


def _as_kind(model: AnyModelConfig, kind: str) -> AnyModelConfig:
    """The config of another kind of model with the same sizes, and no bottom-up stream."""
    names = {field.name for field in dataclasses.fields(CONFIGS[kind])}
    same = {name: value for name, value in dataclasses.asdict(model).items() if name in names}
    if "bottom_up" in names:
        same |= {"bottom_up": False, "code_posterior": "correction"}
    return CONFIGS[kind](**same)


RECIPES: dict[str, Config] = {
    "omniglot": omniglot(),
    "omniglot-vae": omniglot_vae(),
    "omniglot-vae-matched": omniglot_vae_matched(),
    "omniglot-alphabets": omniglot_alphabets(),
    "omniglot-paper": omniglot_paper(),
    "omniglot-paper-vae": omniglot_paper_vae(),
    "omniglot-memory-only": omniglot_memory_only(),
    "omniglot-dnc": omniglot_dnc(),
    "omniglot-lrua": omniglot_lrua(),
    "omniglot-dynamic": omniglot_dynamic(),
    "omniglot-fewshot": omniglot_fewshot(),
    "omniglot-fewshot-vae": as_ladder_vae(omniglot_fewshot()),
    "omniglot-fewshot2": omniglot_fewshot2(),
    "omniglot-fewshot2-vae": as_ladder_vae(omniglot_fewshot2()),
    "omniglot-fewshot-mixed": omniglot_fewshot_mixed(),
    "omniglot-fewshot-mixed-vae": as_ladder_vae(omniglot_fewshot_mixed()),
    "cifar10": cifar10(),
    "cifar10-vae": cifar10_vae(),
    "cifar10-paper": cifar10_paper(),
    "cifar10-paper-vae": cifar10_paper_vae(),
    "handwriting": handwriting(),
    "handwriting-vae": handwriting_vae(),
    "glyphs": glyphs(),
    "glyphs-vae": glyphs_vae(),
    "tiny": tiny(),
}
"""Every recipe that `kanerva train` and plans know by name."""
