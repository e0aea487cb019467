"""Kills processes whose event loop hangs: ``python -m examples.service.supervisor PID FOLDER``.

A process that hangs still runs, and its web server's supervisor waits for it: Granian and uvicorn
for ever. The beat comes from inside the loop, so it stops. A killed worker is replaced by its
server.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import time
from pathlib import Path

from colonnade import observe

#: A process that begins or ends has a file without a beat for less than this.
_MOMENT_S = 0.5


def hanging(parent: int, folder: Path, max_age: float) -> list[int]:
    """The children of a process that have a file of a beat, and no longer beat."""
    silent = _silent(parent, folder, max_age)
    if silent:
        time.sleep(_MOMENT_S)
        silent &= _silent(parent, folder, max_age)
    return sorted(silent)


def _silent(parent: int, folder: Path, max_age: float) -> set[int]:
    """The children of a process whose files are there and have no beat, at this moment."""
    return {
        int(path.stem)
        for path in folder.glob("*.beat")
        if path.stem.isdecimal()
        and _is_child(int(path.stem), parent)
        and not observe.is_alive(path, max_age=max_age)
        # Of a process that has just ended, nobody is to be killed.
        and _is_child(int(path.stem), parent)
    }


def _is_child(pid: int, parent: int) -> bool:
    """Whether the process runs, and was started by the parent: numbers are used again."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii")
    except (OSError, UnicodeDecodeError):
        return False
    state, owner = stat.rpartition(")")[2].split()[:2]
    return int(owner) == parent and state not in "ZX"


def watch(parent: int, folder: Path, max_age: float) -> None:
    """Look each half a second until the parent is gone; kill what hangs, and say so."""
    while Path(f"/proc/{parent}").exists():
        for pid in hanging(parent, folder, max_age):
            print(f"process {pid} has not beaten for {max_age:g} s: killed", flush=True)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parent", type=int, help="the process of the web server")
    parser.add_argument("folder", type=Path, help="SERVICE_BEAT_FOLDER")
    parser.add_argument("--max-age", type=float, default=5.0)
    options = parser.parse_args()
    if not Path(f"/proc/{options.parent}").exists():
        parser.error(f"there is no process {options.parent}")
    if not options.folder.is_dir():
        parser.error(f"there is no folder {options.folder}")
    watch(options.parent, options.folder, options.max_age)
