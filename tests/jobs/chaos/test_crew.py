"""The processes of a run end with it, whatever way it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.jobs.chaos.crew import _ROOT

pytestmark = pytest.mark.thorough

_CONDUCTOR = """
import random, sys, threading
from pathlib import Path
from tests.jobs.chaos.crew import Station
from tests.jobs.chaos.plan import Kind, Plan, Post, Road

station = Station(
    0, Post(Kind.{kind}, Road.DIRECT), Plan(1, 1), dsn="postgresql://127.0.0.1:9/none",
    directory=Path(sys.argv[1]), environment={{}},
)
station.keep_manned(random.Random(1))
print(station._process.pid, flush=True)
threading.Event().wait()
"""


def _is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except FileNotFoundError:
        return False
    return stat.rpartition(b")")[2].split()[0] != b"Z"


def test_a_worker_ends_with_its_conductor(tmp_path: Path) -> None:
    for kind in ("CONSUMER", "THREADS"):
        conductor = subprocess.Popen(
            [sys.executable, "-c", _CONDUCTOR.format(kind=kind), str(tmp_path)],
            cwd=_ROOT,
            stdout=subprocess.PIPE,
            env=os.environ,
        )
        assert conductor.stdout is not None
        worker = int(conductor.stdout.readline())
        conductor.kill()
        conductor.wait()
        conductor.stdout.close()
        give_up = time.monotonic() + 30
        while _is_alive(worker):
            assert time.monotonic() < give_up, "the worker goes on"
            time.sleep(0.01)
