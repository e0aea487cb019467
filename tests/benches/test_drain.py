"""The floor, against a real server."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benches import drain_program
from benches.peers import drain_low_water

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parents[2]
SQL = "SELECT i::int4, repeat('x', i % 50) FROM generate_series(1, 5000) AS s(i)"


@pytest.fixture(scope="session", autouse=True)
def program() -> Path:
    """Build the drain if it is missing."""
    path = drain_program.program()
    if not path.exists():
        if shutil.which("cargo") is None:
            pytest.fail(f"{path} is missing, and so is cargo: make drain")
        build = ["cargo", "build", "--quiet", "--release", "-p", "colonnade-drain"]
        subprocess.run(build, cwd=ROOT, check=True)
    return path


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def wire_bytes() -> int:
    values = sum(4 + 4 + 4 + i % 50 for i in range(1, 5001))
    rows = 5000 * (1 + 4 + 2)
    # ParseComplete, BindComplete, CommandComplete with its tag, ReadyForQuery.
    return values + rows + 5 + 5 + (5 + len("SELECT 5000") + 1) + 6


@pytest.mark.parametrize("command", [drain_program.command, drain_low_water.command])
def test_rows_and_bytes_are_those_of_the_result(
    command: Callable[[str, str], list[str]], dsn: str
) -> None:
    done = run([*command(dsn, SQL), "--repeat", "3"])
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["rows"] for line in lines] == [5000] * 3
    assert [line["wire_bytes"] for line in lines] == [wire_bytes()] * 3


def test_over_the_socket(socket_dsn: str) -> None:
    done = run(drain_program.command(socket_dsn, SQL))
    assert json.loads(done.stdout)["rows"] == 5000
    refused = run(drain_low_water.command(socket_dsn, SQL))
    assert refused.returncode == 1
    assert "needs TCP" in refused.stderr


def test_an_error_of_the_server_ends_it(dsn: str) -> None:
    done = run(drain_program.command(dsn, "SELECT 1 / (3 - i) FROM generate_series(1, 9) AS s(i)"))
    assert done.returncode == 1
    assert "22012: division by zero" in done.stderr
