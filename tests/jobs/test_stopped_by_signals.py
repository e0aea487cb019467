"""A consumer in threads is stopped by signals that interrupt each other."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import signal
from colonnade.jobs._tasks.threads import Signal

stop, told = Signal(), Signal()
times = 0

def handler(*_):
    global times
    times += 1
    stop.set()

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
with stop.sets(told):
    while times < 300:
        stop.set()
signal.setitimer(signal.ITIMER_REAL, 0)
stop.wait(None)
told.wait(None)
stop.clear()
stop.wait(0.001)
print(stop.is_set(), told.is_set())
"""


def test_a_signal_amid_stop_does_not_lock_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "False True\n"
