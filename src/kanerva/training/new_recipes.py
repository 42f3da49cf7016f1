"""Experiments that go beyond the paper: recall, and new drawings from a few examples."""

from dataclasses import replace

from kanerva.models.config import FewShotConfig, LadderVAEConfig, ModelConfig
from kanerva.training.config import Config, DataConfig, TrainingConfig


def handwriting() -> Config:
    """A memory to recall from: Fourier keys, larger coders, many kinds of damage.

    It is trained on Omniglot and on letterforms, with episodes of 64 and of 16 images. The drawers
    14 and 15 are kept for calibration.
    """
    return Config(
        model=ModelConfig(
            num_filters=32,
            code_size=128,
            num_rows=256,
            key_size=256,
            keys="fourier",
            key_width=1.5,
            address_code_size=16,
            code_posterior="product",
            reading="distribution",
            novel_share=0.5,
        ),
        data=DataConfig(name="handwriting", episode_length=64, split="fit", monitor="valid"),
        training=TrainingConfig(
            steps=9_000,
            batch=4,
            lr=2e-3,
            damaged=1.0,
            damage="varied",
            short_episodes=16,
            kl_warmup=1_000,
            eval_every=3_000,
            eval_episodes=20,
            checkpoint_every=1_000,
        ),
    )


def omniglot_fewshot() -> Config:
    """A model that predicts the next drawing of a character from the ones before it.

    Episodes are the 20 drawings of one character, of which no part is trained on in the test.
    """
    return Config(
        model=FewShotConfig(),
        data=DataConfig(
            name="omniglot-gmn",
            episode_length=20,
            episode_classes=1,
            distinct=True,
            symmetries=True,
            split="fit",
            monitor="valid",
        ),
        training=TrainingConfig(
            steps=12_000,
            batch=4,
            lr=3e-3,
            warmup=100,
            kl_warmup=300,
            damaged=0.0,
            eval_every=1_000,
            eval_episodes=96,
            checkpoint_every=500,
        ),
    )


def omniglot_fewshot2() -> Config:
    """The few-shot model with two characters in an episode, 10 drawings of each."""
    config = omniglot_fewshot()
    return replace(config, data=replace(config.data, episode_classes=2))


def omniglot_fewshot_mixed() -> Config:
    """The few-shot model with the paper's episodes: 32 drawings of any characters."""
    config = omniglot_fewshot()
    data = replace(config.data, episode_classes=None, episode_length=32)
    return replace(config, data=data, training=replace(config.training, batch=3))


def as_ladder_vae(config: Config) -> Config:
    """The few-shot experiment without a memory, with as many parameters within 2 %."""
    model = LadderVAEConfig(num_filters=36, num_wide=62)
    return replace(config, model=model)
