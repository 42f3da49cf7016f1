"""Whether a training is compiled, and where the compiler keeps what it made."""

import os
from dataclasses import replace

from kanerva.data.paths import absolute, cache_folder
from kanerva.training.config import TrainingConfig
from kanerva.training.parallel import Parallel

COMPILE_S = 35.0
"""Seconds that compiling takes at most on an H200 (11 to 35, lab notes)."""
SAVED_S = 1e-3
"""Seconds that a compiled step saves there: 1.5 ms instead of 2.5 ms."""
COMPILE_FROM = 2_000
"""Steps before compiling, where it was decided here: the first evaluation does not wait for it."""
ABOUT = "compiling the step: about 30 s, or 10 s if this was compiled here before"
"""What is said meanwhile."""


def decide_to_compile(config: TrainingConfig, parallel: Parallel) -> TrainingConfig:
    """The settings with a decision where there was none: compile if that saves time.

    Several processes of one training are not compiled: this was never measured.
    """
    if config.compile is not None:
        return config
    start = config.compile_from or COMPILE_FROM
    saves = (config.steps - start) * SAVED_S > COMPILE_S
    if parallel.device.type == "cuda" and parallel.world == 1 and saves:
        return replace(config, compile=True, compile_from=start)
    return replace(config, compile=False)


def keep_compiled_code() -> None:
    """Let the compiler keep what it makes in our cache, unless the user chose another place."""
    folder = absolute(cache_folder() / "compiled")
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(folder))
    os.environ.setdefault("TORCHINDUCTOR_FX_GRAPH_CACHE", "1")
    os.environ.setdefault("TORCHINDUCTOR_AUTOGRAD_CACHE", "1")
