"""Experiments by name. Each is a full config; every field of it is a flag."""

from dataclasses import fields, replace

from kanerva.models.config import CONFIGS, AnyModelConfig, ModelConfig
from kanerva.training.config import Config, DataConfig, TrainingConfig


def omniglot() -> Config:
    """The paper's Omniglot model (section 4): 16 filters, C 100, K 64, S 50, episodes of 32."""
    return Config()


def cifar10() -> Config:
    """The paper's CIFAR model (section 4): 32 filters, C 200, K 128, Gaussian pixels.

    Damaged queries would cost it hundreds of nats (docs/lab-notes.md).
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
    """Its twin without a memory, which wants a higher rate and its KL terms eased in for longer."""
    config = as_vae(cifar10())
    return replace(config, training=replace(config.training, lr=1e-3, kl_warmup=6_000))


def glyphs() -> Config:
    """The Omniglot model on drawn letterforms: needs no data files."""
    return replace(omniglot(), data=DataConfig(name="glyphs"))


def tiny() -> Config:
    """A small memory on glyphs: learning to be seen within two minutes on two CPU cores."""
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


def as_vae(config: Config) -> Config:
    """The same experiment without a memory; its best learning rate is lower."""
    training = replace(config.training, lr=min(config.training.lr, 2e-3), damaged=0.0)
    return replace(config, model=_as_kind(config.model, "vae"), training=training)


def _as_kind(model: AnyModelConfig, kind: str, **changes: object) -> AnyModelConfig:
    """The config of another kind of model, with the fields that both have."""
    target = CONFIGS[kind]
    names = {field.name for field in fields(target)} & {field.name for field in fields(model)}
    return target(**({name: getattr(model, name) for name in names} | changes))


RIVAL_RATES: dict[str, float] = {"kanerva": 3e-3, "dnc": 3e-4, "lrua": 3e-4, "dynamic": 3e-3}
"""Learning rates at which each memory learns well in LONG steps or more (docs/lab-notes.md)."""
LONG = 5_000
"""Shorter runs end before a high rate does harm, and get nowhere with a low one."""
SHARP: tuple[str, ...] = ("dnc", "lrua")
"""Memories that look up by strengths of 50 and more. With bfloat16, not in float32, their addresses
were seen to run away (docs/lab-notes.md), so they are trained in float32."""


def as_rival(config: Config, kind: str) -> Config:
    """The same experiment with another memory, and z from the memory alone (appendix D)."""
    long = config.training.steps >= LONG
    lr = min(config.training.lr, RIVAL_RATES[kind]) if long else config.training.lr
    precision = "float32" if kind in SHARP else config.training.precision
    return replace(
        config,
        model=_as_kind(config.model, kind, **({} if kind == "dynamic" else {"bottom_up": False})),
        training=replace(config.training, lr=lr, damaged=0.0, precision=precision),
    )


RECIPES: dict[str, Config] = {
    "omniglot": omniglot(),
    "omniglot-vae": as_vae(omniglot()),
    "omniglot-unaided": as_rival(omniglot(), "kanerva"),
    "omniglot-dnc": as_rival(omniglot(), "dnc"),
    "omniglot-lrua": as_rival(omniglot(), "lrua"),
    "omniglot-dynamic": as_rival(omniglot(), "dynamic"),
    "cifar10": cifar10(),
    "cifar10-vae": cifar10_vae(),
    "glyphs": glyphs(),
    "glyphs-vae": as_vae(glyphs()),
    "tiny": tiny(),
}
