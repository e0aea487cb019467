"""Runs a part of a benchmark as a program of its own: nothing of an earlier run is left in it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def answer(module: str, *words: str, given: str, timeout_s: float) -> Any:
    """Run the module with `given` on its stdin, and read what it says as JSON.

    A child that fails ends the benchmark, with the end of what it has complained of.
    """
    done = subprocess.run(
        [sys.executable, "-m", module, *words],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_s,
    )
    if done.returncode != 0:
        raise SystemExit(f"{module}: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout)
