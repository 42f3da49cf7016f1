"""Training: it learns, resumes to the same numbers, survives kill -9, runs in parallel."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from kanerva.atomic import write_atomically
from kanerva.data import EpisodeSampler, load_dataset
from kanerva.errors import KanervaError
from kanerva.evaluation.evaluate import evaluate
from kanerva.models.build import build_model
from kanerva.models.checkpoint import find, load, read_tensors, save_model, save_tensors
from kanerva.models.config import ModelConfig
from kanerva.training.adam import Adam, clipped, update
from kanerva.training.config import Config, DataConfig, TrainingConfig
from kanerva.training.parallel import Parallel
from kanerva.training.recipes import RECIPES
from kanerva.training.run import Run
from kanerva.training.schedule import Schedule
from kanerva.training.step import TrainingStep

CPU = torch.device("cpu")
MODEL = ModelConfig(num_filters=4, code_size=8, num_rows=8, key_size=8, hidden_size=16)
SMALL = Config(
    MODEL,
    DataConfig(name="glyphs", episode_length=4),
    TrainingConfig(
        steps=12,
        batch=2,
        warmup=2,
        kl_warmup=4,
        eval_every=4,
        eval_episodes=3,
        checkpoint_every=4,
        precision="float32",
    ),
)
KANERVA = [sys.executable, "-m", "kanerva.cli.main"]
SMALL_FLAGS = [
    *("--model.num-filters", "4", "--model.code-size", "8", "--model.num-rows", "8"),
    *("--data.episode-length", "4", "--training.batch", "2", "--training.eval-episodes", "3"),
]


def run(folder: Path, config: Config = SMALL) -> Run:
    folder.mkdir(parents=True, exist_ok=True)
    return Run(config, folder, data=None, parallel=Parallel(CPU))


def parameters(trained: Run) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in trained.model.state_dict().items()}


def ignore(row: dict) -> None:
    pass


def test_resuming_goes_on_to_the_same_numbers(tmp_path):
    whole = run(tmp_path / "whole")
    whole.go(ignore)

    first = run(tmp_path / "parts")
    with pytest.raises(_StopError):
        first.go(_stop_at(12))  # after a look at step 12, before its checkpoint
    second = run(tmp_path / "parts")
    second.resume()
    assert second.done == 8
    second.go(ignore)
    for name, value in parameters(whole).items():
        assert torch.equal(value, second.model.state_dict()[name]), name
    lines = [(tmp_path / name / "metrics.jsonl").read_text() for name in ("whole", "parts")]
    kept = [[_without_time(line) for line in text.splitlines()] for text in lines]
    assert kept[0] == kept[1]


class _StopError(Exception):
    pass


def _stop_at(step: int):
    def report(row: dict) -> None:
        if row["step"] == step:
            raise _StopError

    return report


def _without_time(line: str) -> dict:
    row = json.loads(line)
    del row["seconds"]
    return row


def test_resuming_with_other_settings_is_refused(tmp_path):
    run(tmp_path).go(ignore)
    other = replace(SMALL, training=replace(SMALL.training, lr=1e-5))
    with pytest.raises(KanervaError, match=r"training\.lr"):
        run(tmp_path, other).resume()


def test_a_model_alone_is_not_resumed(tmp_path):
    torch.manual_seed(0)
    save_model(tmp_path / "checkpoint-00000001.safetensors", build_model(MODEL), {})
    with pytest.raises(KanervaError, match="a checkpoint of a training"):
        run(tmp_path).resume()


@pytest.mark.parametrize("name", ["config.json", "metrics.jsonl"])
def test_what_another_run_left_is_not_overwritten(tmp_path, name):
    (tmp_path / name).write_text("of another run")
    process = start(tmp_path)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 2
    assert name in stderr
    assert [path.read_text() for path in tmp_path.iterdir()] == ["of another run"]


@pytest.mark.parametrize("damage", ["seconds", "step", "training.adam.mean", "training.generator"])
def test_a_checkpoint_that_cannot_be_resumed_says_so(tmp_path, damage):
    first = run(tmp_path)
    first.start("small")
    first.go(ignore)
    tensors, metadata = read_tensors(find(tmp_path))
    if damage in metadata:
        metadata[damage] = ["a list"]
    else:
        tensors[damage] = tensors[damage][:-1]
    save_tensors(find(tmp_path), tensors, metadata)
    with pytest.raises(KanervaError, match="metadata as kanerva writes it"):
        run(tmp_path).resume()


def test_saving_more_often_changes_no_row(tmp_path):
    reports = []
    for every in (2, 1000):
        rows: list[dict] = []
        training = replace(SMALL.training, checkpoint_every=every)
        trained = run(tmp_path / str(every), replace(SMALL, training=training))
        trained.start("small")
        trained.go(rows.append)
        reports.append([{**row, "seconds": 0, "held_out": 0} for row in rows])
    assert reports[0] == reports[1]


def test_training_learns():
    """A few dozen steps of the smallest model on real letterforms."""
    data = load_dataset("glyphs", "fit", show_progress=False)
    torch.manual_seed(0)
    model = build_model(MODEL)
    step = TrainingStep(
        model,
        EpisodeSampler(data, num_items=8),
        TrainingConfig(steps=120, batch=8, warmup=10, kl_warmup=20, precision="float32"),
        device=CPU,
    )
    step.run(10)
    before = step.progress().bound
    step.run(100)
    step.progress()
    step.run(10)
    after = step.progress()
    assert after.bound < before - 100
    assert after.skipped == 0


def test_bad_gradients_are_left_out():
    """They move nothing that was still, and Adam forgets a little."""
    for bad in (float("nan"), float("inf")):
        adam = Adam.of(torch.arange(4.0))
        update(adam, torch.tensor([bad, 1, 2, 3]), torch.tensor(0.1), torch.tensor(0.0), 4.0)
        assert torch.equal(adam.vector, torch.arange(4.0))
        assert adam.mean.abs().max() == adam.square.abs().max() == 0


def test_entries_of_a_gradient_are_clipped_by_their_usual_size():
    sizes = torch.linspace(0, 1, 100)
    square = sizes.square() * (1 - 0.999**1000)
    gradient = torch.where(sizes > 0.5, 1e6, -2.0 * sizes)
    early, late = torch.tensor(50.0), torch.tensor(1000.0)
    assert torch.equal(clipped(gradient, square, early, 4.0), gradient)  # not known yet
    expected = torch.where(sizes > 0.5, 4.0 * sizes, -2.0 * sizes)
    torch.testing.assert_close(clipped(gradient, square, late, 4.0), expected)


def test_our_adam_is_torchs():
    """Without clipping, over steps of very different sizes."""
    torch.manual_seed(0)
    ours = Adam.of(torch.randn(50, dtype=torch.float64))
    theirs = torch.nn.Parameter(ours.vector.clone())
    optimizer = torch.optim.Adam([theirs], lr=0.1)
    for count in range(200):
        gradient = torch.randn(50, dtype=torch.float64) * 10 ** (3 * torch.rand(50) - 2)
        update(ours, gradient, torch.tensor(0.1), torch.tensor(float(count)), 1e9)
        theirs.grad = gradient
        optimizer.step()
    torch.testing.assert_close(ours.vector, theirs.detach(), rtol=1e-5, atol=1e-5)


def test_flat_parameters_are_adam_on_the_parameters():
    """The vector's Adam makes the same steps as Adam on each tensor."""
    data = load_dataset("glyphs", "fit", show_progress=False)
    config = replace(SMALL.training, steps=1000, warmup=1, kl_warmup=1, clip=1e9)
    torch.manual_seed(0)
    flat = TrainingStep(build_model(MODEL), EpisodeSampler(data, num_items=4), config, device=CPU)
    torch.manual_seed(0)
    plain = build_model(MODEL).train()
    optimizer = torch.optim.Adam(plain.parameters(), lr=config.lr)
    generator = torch.Generator().manual_seed(config.seed * 1009)
    sampler = EpisodeSampler(data, num_items=4)
    flat.run(3)
    for count in range(3):
        bound = plain.elbo(sampler.sample(config.batch, generator=generator), generator=generator)
        optimizer.param_groups[0]["lr"] = config.lr * min(1, count + 1) * (1000 - count) / 999
        if count == 0:
            optimizer.param_groups[0]["lr"] = config.lr
        optimizer.zero_grad()
        bound.weighted(0.1 if count == 0 else 1.0).mean().backward()
        optimizer.step()
    for one, other in zip(flat.model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


def test_checkpoints_load_as_models(tmp_path):
    trained = run(tmp_path)
    trained.go(ignore)
    model = load(tmp_path)
    data = load_dataset("glyphs", "test", show_progress=False)
    one = evaluate(model, data, episodes=5, episode_length=4)
    other = evaluate(trained.model, data, episodes=5, episode_length=4)
    assert one == other
    assert len(list(tmp_path.glob("checkpoint-*"))) == 2  # older ones go


def test_broken_checkpoints_are_refused(tmp_path):
    torch.manual_seed(0)
    path = tmp_path / "model.safetensors"
    save_model(path, build_model(MODEL), {})
    good = path.read_bytes()
    for bad in (good[: len(good) // 2], b"", b"not a checkpoint at all", good[:9]):
        path.write_bytes(bad)
        with pytest.raises(KanervaError, match="checkpoint"):
            load(path)
    path.write_bytes(good.replace(b'"schema":"1"', b'"schema":"9"'))
    with pytest.raises(KanervaError, match="schema 1, got 9"):
        load(path)
    path.write_bytes(good.replace(b"address_net.0", b"address_nut.0"))
    with pytest.raises(KanervaError, match="parameters of the model"):
        load(path)
    for old, new in (
        (b'\\"kind\\": \\"kanerva\\"', b'\\"kind\\": \\"kanervo\\"'),
        (b'"card":"{}"', b'"card":"[]"'),
    ):
        assert old in good
        path.write_bytes(good.replace(old, new))
        with pytest.raises(KanervaError):
            load(path)
    with pytest.raises(KanervaError, match="nowhere"):
        load("nowhere")
    with pytest.raises(KanervaError, match="has none"):
        load(tmp_path.parent)


def test_no_space_while_saving_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(KanervaError, match="no space left"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def start(folder: Path, *flags: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*KANERVA, "train", "glyphs", "--out", str(folder), *SMALL_FLAGS, *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(folder: Path, pattern: str, seconds: float = 60) -> None:
    limit = time.monotonic() + seconds
    while not list(folder.glob(pattern)):
        assert time.monotonic() < limit, f"no {pattern} in {folder}"
        time.sleep(0.05)


def test_kill_at_any_moment_leaves_a_good_checkpoint(tmp_path):
    process = start(tmp_path, "--training.checkpoint-every", "2", "--training.steps", "100000")
    wait_for(tmp_path, "checkpoint-*.safetensors")
    for _ in range(3):
        time.sleep(0.4)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        tensors, metadata = read_tensors(find(tmp_path))
        assert metadata["step"] >= 2
        assert all(
            value.isfinite().all() for value in tensors.values() if value.is_floating_point()
        )
        before = metadata["step"]
        process = start(
            tmp_path,
            *("--training.checkpoint-every", "2", "--training.steps", "100000", "--resume"),
        )
        limit = time.monotonic() + 60
        while read_tensors(find(tmp_path))[1]["step"] <= before:
            assert time.monotonic() < limit
            time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in stderr


def test_two_processes_train_one_model(tmp_path):
    """torchrun with two gloo processes: one run folder, the same parameters in both."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *("--nproc-per-node", "2", "-m", "kanerva.cli.main", "train", "glyphs"),
            *("--out", str(tmp_path), "--device", "cpu", *SMALL_FLAGS),
            *("--training.steps", "6", "--training.eval-every", "3", "--json"),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=180,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(done.stdout.strip().splitlines()[-1])
    assert report["step"] == 6
    assert report["parameters_agree"]
    rows = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(row)["step"] for row in rows] == [3, 6]


def test_recipes_have_the_papers_sizes():
    omniglot, cifar = RECIPES["omniglot"].model, RECIPES["cifar10"].model
    sizes = ("num_filters", "code_size", "num_rows", "key_size")
    assert [getattr(omniglot, name) for name in sizes] == [16, 100, 64, 50]
    assert [getattr(cifar, name) for name in sizes] == [32, 200, 128, 50]
    assert RECIPES["omniglot"].data.episode_length == 32
    assert RECIPES["omniglot"].training.batch == 16
    for name, recipe in RECIPES.items():
        assert (recipe.model.kind == "vae") == name.endswith("-vae")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["train", "omnigloth"], "Did you mean omniglot?"),
        (["train"], "omniglot-vae"),
        (["train", "glyphs", "--training.learning", "1"], "--training.l"),
        (["train", "glyphs", "--training.lr", "-1"], "--training.lr"),
        (["train", "glyphs", "--model.num-rows", "0"], "num_rows"),
        (["train", "glyphs", "--model.image-shape", "3", "28", "28"], "--model.image-shape"),
        (["train", "glyphs", "--resume", "--out", "nowhere"], "--resume"),
        (["train", "omniglot", "--data-folder", "nowhere"], "nowhere"),
        (["eval", "nowhere.safetensors"], "nowhere.safetensors"),
        (["eval", "--episodes", "0", "nowhere"], "--episodes"),
    ],
)
def test_mistakes_are_one_line(args, words, tmp_path):
    done = subprocess.run([*KANERVA, *args], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_schedule_rises_holds_and_falls():
    config = TrainingConfig(steps=1000, warmup=100, decay=0.5, lr=2.0, kl_warmup=50)
    schedule = Schedule.of(config, CPU)
    rates = [schedule.learning_rate(torch.tensor(float(count))).item() for count in range(1001)]
    assert rates[0] == pytest.approx(0.02)
    assert rates[49] == pytest.approx(1.0)
    assert rates[99:551] == [2.0] * 452  # 450 of the 900 other steps
    assert rates[775] == pytest.approx(1.0)
    assert rates[1000] == 0
    weights = [schedule.kl_weight(torch.tensor(float(count))).item() for count in (0, 25, 50, 999)]
    assert weights == pytest.approx([0.1, 0.55, 1.0, 1.0])


def finish(process: subprocess.Popen[str]) -> int:
    process.communicate(timeout=120)
    return process.returncode


def test_ctrl_c_again_and_again_changes_no_number(tmp_path):
    """Interrupted at random moments and resumed, a run ends as one that was left alone."""
    flags = ("--training.steps", "400", "--training.eval-every", "80", "--device", "cpu")
    whole = start(tmp_path / "whole", *flags)
    assert finish(whole) == 0
    moments, interrupted, resume = iter((0.3, 0.05, 0.6, 0.2, 0.4)), 0, ()
    while True:
        process = start(tmp_path / "parts", *flags, *resume)
        moment = next(moments, None)
        if moment is None:
            assert finish(process) == 0
            break
        wait_for(tmp_path / "parts", "config.json")
        before = len(list((tmp_path / "parts").glob("checkpoint-*")))
        time.sleep(2.5 + moment if resume else moment)
        process.send_signal(signal.SIGINT)
        interrupted += finish(process) == 130
        if before or list((tmp_path / "parts").glob("checkpoint-*")):
            resume = ("--resume",)
    assert interrupted >= 2
    tensors, metadata = zip(
        *(read_tensors(find(tmp_path / name)) for name in ("whole", "parts")), strict=True
    )
    assert [one["step"] for one in metadata] == [400, 400]
    for name, value in tensors[0].items():
        assert torch.equal(value, tensors[1][name]), name
    rows = [
        [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        for name in ("whole", "parts")
    ]
    for one, other in zip(*rows, strict=True):
        assert {**one, "seconds": 0} == {**other, "seconds": 0}
