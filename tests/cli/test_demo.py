"""The demo from end to end, on a small table."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import colonnade

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 1000
FLIGHTS = 336_776
PEERS = "colonnade-columns,colonnade-rows,asyncpg-rows"
PICTURES = {"flights.svg", "flights.png", "observations.svg", "observations.png"}


def command(output: Path, *words: str) -> list[str]:
    return [
        *(sys.executable, "-m", "colonnade.cli", "demo", "--rows", str(ROWS), "--rounds", "1"),
        *("--peers", PEERS, "--output", str(output), *words),
    ]


def environment(**extra: str) -> dict[str, str]:
    """Name no server but the one given."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    kept.pop("COLONNADE_DSN", None)
    return {**kept, **extra}


def schemas(dsn: str) -> list[str]:
    """Name what a demo has left on the server."""
    return asyncio.run(left_schemas(dsn))


async def left_schemas(dsn: str) -> list[str]:
    connection = await colonnade.connect(dsn)
    try:
        found = await connection.fetch(
            "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'colonnade_demo%'"
        )
    finally:
        await connection.close()
    return [row[0] for row in found]


def test_with_a_private_server(tmp_path: Path) -> None:
    output, figures = tmp_path / "pictures", tmp_path / "figures.json"
    done = subprocess.run(
        command(output, "--json", str(figures)),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    assert "a private server" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
    assert "\r" not in done.stdout + done.stderr
    for name in ("Colonnade columns", "Colonnade rows", "asyncpg rows", "time_hour", "airline"):
        assert name in done.stdout
    assert {path.name for path in output.iterdir()} == PICTURES
    check_figures(figures)


def check_figures(path: Path) -> None:
    results = json.loads(path.read_text())["results"]
    assert {name: result["rows"] for name, result in results.items()} == {
        "flights": FLIGHTS,
        "observations": ROWS,
    }
    for result in results.values():
        for name in PEERS.split(","):
            (run,) = result["peers"][name]["runs"]
            assert run["rows"] == result["rows"]
            assert run["wall_s"] > 0
            assert run["loop_gap_s"] is not None
            assert run["peak_memory_bytes"] is not None


def test_a_given_server_is_left_as_it_was(tmp_path: Path, dsn: str) -> None:
    done = subprocess.run(
        command(tmp_path / "pictures"),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=environment(COLONNADE_DSN=dsn),
    )
    assert done.returncode == 0, done.stderr
    assert "COLONNADE_DSN" in done.stdout
    assert schemas(dsn) == []


@pytest.mark.parametrize("moment", ["Server:", "flights:", "the same as rows"])
def test_an_interrupt_leaves_nothing_behind(moment: str, tmp_path: Path, dsn: str) -> None:
    output = tmp_path / "pictures"
    demo = subprocess.Popen(
        command(output, "--json", str(tmp_path / "figures.json")),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(COLONNADE_DSN=dsn, PYTHONUNBUFFERED="1"),
    )
    try:
        assert demo.stdout is not None
        for line in demo.stdout:
            if moment in line:
                break
        # Somewhere into the step that begins with these words.
        time.sleep(0.3)
        demo.send_signal(signal.SIGINT)
        _, told = demo.communicate(timeout=60)
    finally:
        demo.kill()
        demo.wait()
    assert demo.returncode == 130, told
    assert "interrupted" in told
    assert "Traceback" not in told
    assert list(tmp_path.iterdir()) == []
    assert schemas(dsn) == []


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    done = subprocess.run(
        command(tmp_path / "pictures"),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=environment(COLONNADE_DSN="postgresql://nobody:secret@127.0.0.1:1/none"),
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stdout + done.stderr
