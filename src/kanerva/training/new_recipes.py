"""Experiments that go beyond the paper: recall, and new drawings from a few examples."""

from dataclasses import replace

from kanerva.models.config import FewShotConfig, LadderVAEConfig, ModelConfig, VAEConfig
from kanerva.training.config import Config, DataConfig, TrainingConfig


def handwriting() -> Config:
    """A memory to recall from: Fourier keys, larger coders, many kinds of damage.

    It is trained on Omniglot and on letterforms, with episodes of 64 and of 16 images. The drawers
    14 and 15 are kept for calibration. This is for a GPU: each step has 2,048 images.
    """
    return Config(
        model=ModelConfig(
            num_filters=64,
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
            steps=30_000,
            batch=32,
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


def handwriting_vae() -> Config:
    """A VAE with as many parameters as the model `handwriting`, within 2 %, on the same images."""
    config = handwriting()
    training = replace(
        config.training, damaged=0.0, damage="blocks", short_episodes=0, batch=16, lr=3e-3
    )
    return replace(config, model=VAEConfig(num_filters=79, code_size=128), training=training)


def omniglot_fewshot() -> Config:
    """A model that predicts the next drawing of a character from the ones before it.

    Episodes are the 20 drawings of one character, of which no part is trained on in the test. This
    is for a GPU: each step has 640 images.
    """
    return Config(
        model=FewShotConfig(num_filters=48, num_wide=60),
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
            steps=20_000,
            batch=32,
            lr=3e-3,
            warmup=200,
            kl_warmup=500,
            damaged=0.0,
            eval_every=2_000,
            eval_episodes=96,
            checkpoint_every=1_000,
            search_convolutions=True,
        ),
    )


def omniglot_fewshot2() -> Config:
    """The few-shot model with two characters in an episode, 10 drawings of each."""
    config = omniglot_fewshot()
    assert isinstance(config.model, FewShotConfig)
    model = replace(config.model, empty_share=0.6)
    return replace(config, model=model, data=replace(config.data, episode_classes=2))


def omniglot_fewshot_mixed() -> Config:
    """The few-shot model with the paper's episodes: 32 drawings of any characters."""
    config = omniglot_fewshot()
    data = replace(config.data, episode_classes=None, episode_length=32)
    training = replace(config.training, batch=20)
    return replace(config, data=data, training=training)


def as_ladder_vae(config: Config) -> Config:
    """The few-shot experiment without a memory, with as many parameters within 2 %."""
    model = LadderVAEConfig(num_filters=52, num_wide=72)
    return replace(config, model=model)
