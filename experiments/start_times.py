"""Where the time goes from `kanerva train RECIPE` to its first evaluation.

    python experiments/start_times.py                      # omniglot on a GPU, 2,000 steps
    python experiments/start_times.py tiny --steps 10 --device cpu

Each line is one part of the start, in seconds. Run it twice: the first time, files are not in the
memory of the system yet.
"""

import argparse
import time

BEGIN = time.perf_counter()


class Clock:
    """Prints the time since the last call."""

    def __init__(self) -> None:
        self.last = BEGIN

    def __call__(self, part: str) -> None:
        now = time.perf_counter()
        print(f"{now - self.last:7.2f} s  {now - BEGIN:7.2f} s  {part}", flush=True)
        self.last = now


def main() -> None:
    """Make the same steps as the command, one after the other."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("recipe", nargs="?", default="omniglot")
    options.add_argument("--steps", type=int, default=2000)
    options.add_argument("--device", default="cuda")
    chosen = options.parse_args()
    clock = Clock()

    from kanerva.cli.commands import parse

    parse(["train", chosen.recipe])
    clock("command line")
    import torch

    clock("import torch")
    import kanerva.cli.show
    import kanerva.training.side_by_side  # noqa: F401
    from kanerva.data import EpisodeSampler
    from kanerva.evaluation.evaluate import evaluate
    from kanerva.training.prepare import initial_model, load_images
    from kanerva.training.recipes import RECIPES
    from kanerva.training.step import TrainingStep

    clock("import kanerva")
    config, device = RECIPES[chosen.recipe], torch.device(chosen.device)
    torch.zeros(1, device=device).item()
    clock("context of the device")
    images = load_images(config, device=device)
    clock("images")
    sampler = EpisodeSampler(images.train, num_items=config.data.episode_length)
    model = initial_model(config, sampler)
    clock("initial parameters")
    model = model.to(device)
    if device.type == "cuda":
        model.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
    step = TrainingStep(model, sampler, config.training, device=device)
    clock("training step, not made")
    step.run(1)
    step.synchronise()
    clock("first step")
    step.run(4)
    step.synchronise()
    clock("four more, with the capture of a graph")
    step.run(chosen.steps - 5)
    step.synchronise()
    clock(f"{chosen.steps - 5} steps")
    for which in ("first", "second"):
        bound = evaluate(
            model,
            images.monitor,
            num_episodes=config.training.eval_episodes,
            episode_length=config.data.episode_length,
        ).bound
        clock(f"{which} evaluation: {bound:.2f} nats")


if __name__ == "__main__":
    main()
