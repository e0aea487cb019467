"""`colonnade observe check`, as a container's probe calls it: from a shell, for its exit status."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from colonnade import observe
from tests.cli.program import run
from tests.support.until import until

PROGRAM = Path(sys.executable).with_name("colonnade")


def probe(command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as the probe of a container does."""
    return subprocess.run(
        ["/bin/sh", "-c", command.replace("colonnade", shlex.quote(str(PROGRAM)), 1)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={},
    )


async def test_the_probe_of_a_container(tmp_path: Path) -> None:
    path = tmp_path / "beat"
    command = f"colonnade observe check {path} --max-age 60"
    async with observe.Beat(path):
        done = probe(command)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("alive: process ")
        assert done.stdout.count("\n") == 1
        # With any reader of the output, or none.
        for end in (">&-", ">/dev/full", "| true; exit ${PIPESTATUS:-0}"):
            assert probe(f"{command} {end}").returncode == 0, end
    done = probe(command)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"not alive: '{path}' does not exist\n"


async def test_the_age_is_what_the_option_says(tmp_path: Path) -> None:
    path = tmp_path / "beat"
    async with observe.Beat(path, interval=3600):
        await until(lambda: not observe.is_alive(path, 0.05))
        for option in ("--max-age 0.05", "--max-age=0.05"):
            done = probe(f"colonnade observe check {option} {path}")
            assert done.returncode == 1
            assert "more than 0.05 s" in done.stderr
        assert probe(f"colonnade observe check --max-age=3600 {path}").returncode == 0


@pytest.mark.parametrize(
    "words",
    [
        ["check"],
        ["check", ""],
        ["check", "a", "b"],
        ["check", "a", "--max-age", "soon"],
        ["check", "a", "--max-age", "0"],
        ["check", "a", "--max-age", "nan"],
        ["check", "a", "--no-such-option"],
        ["no-such-command"],
    ],
)
def test_wrong_usage_is_no_verdict(words: list[str]) -> None:
    done = run(None, "observe", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: colonnade observe" in done.stderr


def test_an_option_without_its_value_is_wrong_usage() -> None:
    done = run(None, "observe", "check", "a", "--max-age")
    assert (done.returncode, done.stdout) == (2, "")
    assert "requires an argument" in done.stderr


def test_both_ways_to_the_check_agree(tmp_path: Path) -> None:
    # `--` is read by click alone.
    for path in (str(tmp_path / "missing"), "/dev/null", "\x1b[31m", "\udc80"):
        plain = run(None, "observe", "check", path)
        clicked = run(None, "observe", "check", "--", path)
        assert plain.returncode == clicked.returncode == 1
        assert plain.stderr == clicked.stderr
        assert plain.stderr.isascii()
        assert "\x1b" not in plain.stderr


def test_the_help_has_the_exit_status() -> None:
    done = run(None, "observe", "check", "--help")
    assert done.returncode == 0
    assert "exit status" in done.stdout
