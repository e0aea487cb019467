"""Runs a program under callgrind and reads the instruction count of each of its parts."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# For a program that hangs; a busy machine takes some minutes.
TIMEOUT_S = 1800.0
_SUMMARY = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)
_PART = re.compile(r"\.(\d+)$")


class CallgrindError(Exception):
    """The program or callgrind failed; the message contains its output."""


def unavailable() -> str | None:
    """Return why callgrind cannot run, or None."""
    if shutil.which("valgrind") is None:
        return "valgrind is not installed"
    return None


def version() -> str:
    """Return the version of valgrind."""
    done = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def vectors() -> str:
    """Return the widest vector extension that the processor has and valgrind supports."""
    try:
        flags = Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return "unknown"
    return next((name for name in ("avx2", "avx") if name in flags), "sse2")


def run(
    program: Sequence[str],
    options: Sequence[str],
    given: str = "",
    place: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> tuple[str, list[int]]:
    """Return the program's standard output, and the instructions of each part, in order.

    `options` tell callgrind where a part ends; `given` is the program's standard input, `place` its
    working directory, and `variables` its environment. The lengths of its path and environment move
    its memory, and loops over bytes take more or fewer steps for it: name it from `place`, and it
    is the same everywhere.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise CallgrindError(str(unavailable()))
    with tempfile.TemporaryDirectory(prefix="colonnade-callgrind-") as directory:
        out = Path(directory) / "out"
        command = [valgrind, "--tool=callgrind", f"--callgrind-out-file={out}", *options]
        # The time of a dict look-up depends on string hashes, so fix their seed.
        environment = {"PYTHONHASHSEED": "0", **(variables or {})}
        try:
            done = subprocess.run(
                [*command, *program],
                input=given,
                capture_output=True,
                text=True,
                check=False,
                timeout=TIMEOUT_S,
                env=environment,
                cwd=place,
            )
        except subprocess.TimeoutExpired:
            raise CallgrindError(f"{program[0]}: did not finish within {TIMEOUT_S:g} s") from None
        if done.returncode != 0:
            raise CallgrindError(f"{program[0]}: {done.stderr.strip()[-2000:]}")
        return done.stdout, [_instructions(part) for part in _parts(Path(directory))]


def _parts(directory: Path) -> list[Path]:
    numbered = ((path, _PART.search(path.name)) for path in directory.iterdir())
    return [path for _, path in sorted((int(found[1]), path) for path, found in numbered if found)]


def _instructions(part: Path) -> int:
    found = _SUMMARY.search(part.read_text())
    if found is None:
        raise CallgrindError("callgrind wrote no sum")
    return int(found[1])
