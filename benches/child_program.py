"""Runs a part of a benchmark in a fresh process, so no state of an earlier run is left."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def answer(module: str, *words: str, given: str, timeout_s: float) -> Any:
    """Run the module with `given` on its stdin, and parse its stdout as JSON.

    If the child fails, the benchmark ends with the last lines of its stderr.
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
