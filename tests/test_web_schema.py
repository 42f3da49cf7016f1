"""schemathesis tries the whole API with all its checks, on a real server."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from kanerva.web.background import serving
from web_cases import new_session

HERE = Path(__file__).parent


def run_schemathesis(url: str, *, max_examples: int, seed: int = 1) -> subprocess.CompletedProcess:
    """`schemathesis run` with all checks, for a session that has a memory called playground."""
    cookie = new_session(url, "playground")["cookie"]
    words = ("run", f"{url}openapi.json", "--checks", "all", "--continue-on-failure")
    with tempfile.TemporaryDirectory() as folder:  # it leaves files where it runs
        return subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "--no-color", *words),
                *("--max-examples", str(max_examples), "--seed", str(seed)),
                *("--header", f"Cookie: {cookie}"),
            ],
            cwd=folder,
            env={**os.environ, "SCHEMATHESIS_HOOKS": "schema_hooks", "PYTHONPATH": str(HERE)},
            capture_output=True,
            text=True,
            timeout=600,
        )


def test_no_check_fails():
    with serving(model="omniglot", samples="omniglot") as url:
        done = run_schemathesis(url, max_examples=6)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-1000:]
    assert re.search(r"Tested: 14\b", done.stdout), done.stdout[-3000:]
    assert re.search(r"(\d+) generated, \1 passed", done.stdout), done.stdout[-3000:]
