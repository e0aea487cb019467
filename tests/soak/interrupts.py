"""The soak of blocking code under Ctrl-C: a separate program, and its interrupter."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

from tests.soak.books import WrongResultError
from tests.soak.interrupted import USERS
from tests.support.leftovers import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

MODES = list(USERS)
_GONE_SECONDS_MAX = 60.0


def soak(
    dsn: str, mode: str, operations: int, seed: int, seconds_max: float
) -> Mapping[str, Counter[str]]:
    """Interrupt a program at random times until it has ended; return its counts.

    Raises WrongResultError with its output if it failed or did not end.
    """
    random = Random(seed)
    command = [sys.executable, "-W", "error", "-m", "tests.soak.interrupted"]
    program = subprocess.Popen(
        [*command, dsn, mode, str(operations), str(seed)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONFAULTHANDLER": "1"},
    )
    assert program.stdout is not None
    give_up = time.monotonic() + seconds_max
    try:
        first = program.stdout.readline()
        while program.poll() is None and time.monotonic() < give_up:
            program.send_signal(signal.SIGINT)
            try:
                program.wait(random.expovariate(150.0))
            except subprocess.TimeoutExpired:
                continue
        printed, errors = program.communicate(timeout=_GONE_SECONDS_MAX)
    finally:
        program.kill()
        program.wait()
    if program.returncode != 0 or first != "ready\n":
        raise WrongResultError(f"{mode}: exit code {program.returncode}\n{first}{printed}{errors}")
    return {name: Counter(counts) for name, counts in json.loads(printed).items()}
