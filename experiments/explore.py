"""Choices on the validation split, and where a step's time goes. Not a result."""

import sys
import time
from pathlib import Path

import torch
from together import Run, train_together

from kanerva.data import load_dataset
from kanerva.models.config import ModelConfig
from kanerva.training.config import Config, DataConfig, TrainingConfig

out = Path(sys.argv[1])
steps = int(sys.argv[2])
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.set_float32_matmul_precision("high")
torch.backends.cudnn.benchmark = True
fit, valid = (
    load_dataset("omniglot", split, data="data", show_progress=False).to(device)
    for split in ("fit", "valid")
)


def config(kind="kanerva", precision="bfloat16", model=None, **training):
    return Config(
        model=ModelConfig(kind=kind, **(model or {})),
        data=DataConfig(split="fit", monitor="valid"),
        training=TrainingConfig(steps=steps, precision=precision, **training),
    )


def sync():
    if device.type == "cuda":
        torch.cuda.synchronize()


def timed(name, run, n=200):
    run.step.run(20)
    sync()
    begin = time.perf_counter()
    run.step.run(n)
    sync()
    print(f"{name}: {(time.perf_counter() - begin) / n * 1e3:.3f} ms/step", flush=True)


def profile(run):
    from torch.profiler import ProfilerActivity

    with torch.profiler.profile(activities=[ProfilerActivity.CUDA]) as prof:
        run.step.run(10)
        sync()
    table = sorted(prof.key_averages(), key=lambda e: -e.self_device_time_total)
    total = sum(e.self_device_time_total for e in table)
    count = sum(e.count for e in table)
    print(f"kernels {count / 10:.0f} a step, {total / 1e4:.3f} ms of device time")
    for e in table[:24]:
        print(f"{e.self_device_time_total / 10:8.1f} us {e.count / 10:6.1f} x  {e.key[:90]}")


n = 200 if device.type == "cuda" else 2
for kind, precision in (("kanerva", "bfloat16"), ("vae", "bfloat16")):
    begin = time.perf_counter()
    run = Run(kind, config(kind, precision, compile=device.type == "cuda"), fit, device)
    timed(f"{kind} {precision}", run, n)
    print(f"   ready after {time.perf_counter() - begin:.1f}s", flush=True)

fast = device.type == "cuda"
options = [
    ("lr3e-3", {"lr": 3e-3}),
    ("lr6e-3", {"lr": 6e-3}),
    ("lr6e-3 fp32", {"lr": 6e-3, "precision": "float32"}),
    ("lr1e-2", {"lr": 1e-2}),
    ("lr6e-3 kl500", {"lr": 6e-3, "kl_warmup": 500}),
    ("lr6e-3 hidden400", {"lr": 6e-3, "model": {"hidden_size": 400}}),
    ("vae lr2e-3", {"lr": 2e-3, "kind": "vae"}),
]
runs = [Run(name, config(compile=fast, **option), fit, device) for name, option in options]
train_together(
    runs, valid, look_every=steps // 2, episodes=100, limit_s=200, out=out / "explore.json"
)
