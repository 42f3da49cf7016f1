"""The seconds of a training are those of its steps, not of handing them to a GPU."""

import sys
import time
from types import FrameType

import pytest
import torch

from kanerva.training.parallel import Parallel
from kanerva.training.prepare import load_images
from kanerva.training.run import Run
from small_runs import SMALL, small_run, train, with_training

WATCHED = ("advance", "synchronise", "at_milestone")


def test_the_clock_waits_for_the_device(tmp_path):
    """Every slice ends with `synchronise` before its time is taken and its milestone is reached.

    On a CPU this has no effect on the time, so the test looks at the order of the calls.
    """
    run = small_run(tmp_path)
    calls: list[tuple[str, float]] = []

    def profile(frame: FrameType, event: str, _: object) -> None:
        name, file = frame.f_code.co_name, frame.f_code.co_filename
        if event == "call" and name in WATCHED and "kanerva/training" in file:
            calls.append((name, run.seconds))

    sys.setprofile(profile)
    try:
        train(run)
    finally:
        sys.setprofile(None)
    assert [name for name, _ in calls] == list(WATCHED) * 3  # at steps 4, 8 and 12
    for (_, before), (_, waited), (_, after) in zip(*[iter(calls)] * 3, strict=True):
        assert before == waited < after


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_the_time_of_steps_on_a_gpu(tmp_path):
    device = torch.device("cuda")
    config = with_training(SMALL, steps=600, eval_every=600, checkpoint_every=600)
    images = load_images(config, device=device)
    run = Run(config, tmp_path, images=images, parallel=Parallel(device))
    run.warm_up()
    torch.cuda.synchronize()
    start = time.perf_counter()
    run.step.run(500)
    torch.cuda.synchronize()
    seconds_per_step = (time.perf_counter() - start) / 500
    train(run)  # the other 596
    assert run.seconds > 0.7 * 596 * seconds_per_step
