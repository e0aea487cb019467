"""An old cargo, or none, ends in a sentence: in make, in pip, and in uv."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UV = ROOT / ".tools" / "bin" / "uv"
OLD = "cargo 1.70.0 (ec8a8a0ca 2023-04-25)"
SENTENCE = "Colonnade is built with Rust 1.88 or newer, but "
# The folders of the programs that make itself and tools/environments/find-python call.
PLAIN = ("/usr/bin", "/bin")


def run(folder: Path, *command: str, path: tuple[str, ...] = ()) -> tuple[int, str]:
    """Run with that folder first on PATH; return the exit status and what is printed."""
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(folder), *(path or os.environ["PATH"].split(os.pathsep))]),
        "PYTHON": sys.executable,
    }
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def old(folder: Path, version: str = OLD) -> None:
    for name in ("cargo", "rustc"):
        (folder / name).write_text(f"#!/bin/sh\necho '{version}'\n", "utf-8")
        (folder / name).chmod(0o755)


@pytest.mark.parametrize(
    "command",
    [
        ("make", "need-cargo"),
        (str(UV), "build", "--offline", "--wheel", "--no-build-isolation", "--out-dir", "build"),
    ],
    ids=["make", "uv"],
)
def test_an_old_cargo(tmp_path: Path, command: tuple[str, ...]) -> None:
    old(tmp_path)
    status, said = run(tmp_path, *command)
    assert status != 0
    assert f"{SENTENCE}{tmp_path}/cargo is 1.70.0. `rustup update stable`" in said
    assert "https://rustup.rs" in said
    assert "Traceback" not in said


def test_no_cargo(tmp_path: Path) -> None:
    status, said = run(tmp_path, "make", "need-cargo", path=PLAIN)
    assert status != 0
    assert f"{SENTENCE}there is no cargo on PATH. https://rustup.rs" in said


@pytest.mark.parametrize("version", ["cargo 1.88.0", "cargo 2.1.0-nightly (x)", "no version"])
def test_a_cargo_that_suits(tmp_path: Path, version: str) -> None:
    old(tmp_path, version)
    assert run(tmp_path, "make", "need-cargo") == (0, "")
