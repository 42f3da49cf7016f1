"""Measure what the playground promises: start, first reading, many clients, the schema, hosts.

Needs chromium. `python experiments/play_acceptance.py --out results/play.json`
"""

import argparse
import json
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from playwright.sync_api import Browser, sync_playwright

from kanerva.atomic import write_atomically
from test_web_load import run_load
from test_web_schema import run_schemathesis
from web_cases import CHROMIUM, FLAGS, ask, command

TIMES = 20


def cpu_seconds() -> float:
    """Of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def start_seconds() -> float:
    """From `kanerva play` to a page that answers."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {"BROWSER": "true %s", "TMPDIR": folder}
        started = time.perf_counter()
        with command("play", "--port", "0", **environment) as (_, url):
            assert ask(url, "GET", "/").status == 200
            assert ask(url, "GET", "/api/about").status == 200
            return time.perf_counter() - started


def reading_seconds(browser: Browser, url: str, hosts: set[str]) -> list[float]:
    """Draw, click on write, and wait until the first reading is on the page."""
    found = []
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc.split(":")[0]))
    page.goto(url)
    page.locator("#characters .tile").first.wait_for()
    for number in range(TIMES + 1):
        page.locator("#pad").scroll_into_view_if_needed()
        box = page.locator("#pad").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 40 + 5 * number, box["y"] + 60)
        page.mouse.down()
        page.mouse.move(box["x"] + 200, box["y"] + 100 + 7 * number, steps=10)
        page.mouse.move(box["x"] + 60, box["y"] + 240, steps=10)
        page.mouse.up()
        found.append(page.evaluate(CLICK_AND_WAIT) / 1000)
        page.locator("#reading[data-state=done]").wait_for()
        page.wait_for_timeout(300)
    page.close()
    return found[1:]  # the first one loads code of torch


CLICK_AND_WAIT = """() => new Promise((resolve) => {
    const reading = document.getElementById("reading");
    const started = performance.now();
    let asked = false;
    new MutationObserver((_, observer) => {
        asked ||= reading.dataset.state === "waiting";
        if (!asked || reading.dataset.state === "waiting") return;
        observer.disconnect();
        requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - started)));
    }).observe(reading, { attributes: true });
    document.getElementById("write-drawing").click();
})"""


def summary(seconds: list[float]) -> dict[str, float]:
    """The median and the extremes."""
    return {
        "median_s": round(statistics.median(seconds), 3),
        "min_s": round(min(seconds), 3),
        "max_s": round(max(seconds), 3),
        "times": len(seconds),
    }


def main() -> None:
    """Measure everything and save it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/play.json"))
    out = parser.parse_args().out
    record: dict[str, object] = {
        "command": "python experiments/play_acceptance.py",
        "cores": os.cpu_count(),
        "load_average": [round(one, 1) for one in os.getloadavg()],
        "torch": torch.__version__,
        "python": platform.python_version(),
        "chromium": subprocess.run(
            [CHROMIUM, "--version"], capture_output=True, text=True
        ).stdout.strip(),
    }
    before = cpu_seconds()
    record["start"] = summary([start_seconds() for _ in range(TIMES)])
    record["start_cpu_s"] = round((cpu_seconds() - before) / TIMES, 2)  # on a busy machine, too
    print("start", record["start"], flush=True)
    hosts: set[str] = set()
    with command("serve", "--port", "0", "--json") as (_, url), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        record["first_reading"] = summary(reading_seconds(browser, url, hosts))
        browser.close()
    record["other_hosts"] = sorted(hosts - {"127.0.0.1", ""})
    print("first reading", record["first_reading"], record["other_hosts"], flush=True)
    with command("serve", "--port", "0", "--json") as (_, url):
        began = time.perf_counter()
        answered, errors = run_load(url, num_clients=50, num_rounds=8)
        record["load"] = {
            "clients": 50,
            "requests": answered,
            "errors": len(errors),
            "lost_writes": sum("AssertionError" in one for one in errors),
            "seconds": round(time.perf_counter() - began, 1),
        }
    print("load", record["load"], errors[:3], flush=True)
    with command("serve", "--port", "0", "--json") as (_, url):
        done = run_schemathesis(url, max_examples=40)
    cases = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
    record["schemathesis"] = {
        "checks": "all",
        "failures": 0 if done.returncode == 0 else done.stdout.count("Test Case ID"),
        "cases": int(cases[1]) if cases else None,
    }
    print("schemathesis", record["schemathesis"], flush=True)
    write_atomically(out, (json.dumps(record, indent=2) + "\n").encode())


if __name__ == "__main__":
    main()
