"""`colonnade bench`: the user's own query, by every driver."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.cli.program import run

if TYPE_CHECKING:
    from pathlib import Path

PEERS = "colonnade-columns,colonnade-rows,asyncpg-rows"


def test_a_query_is_compared(dsn: str, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    words = ("--rounds", "2", "--peers", PEERS, "--json", str(figures))
    done = run(dsn, "bench", "SELECT generate_series(1, 5000) AS n", *words)
    assert done.returncode == 0, done.stderr
    assert "5,000 rows" in done.stdout
    for title in ("Colonnade columns", "Colonnade rows", "asyncpg rows", "ratio"):
        assert title in done.stdout
    told = json.loads(figures.read_text())["results"]["query"]
    assert told["rows"] == 5000
    for name in PEERS.split(","):
        assert len(told["peers"][name]["runs"]) == 2
        assert all(run["rows"] == 5000 for run in told["peers"][name]["runs"])


def test_a_table_is_a_query(dsn: str, mixed: str) -> None:
    words = ("--rounds", "1", "--peers", "colonnade-columns")
    done = run(dsn, "bench", mixed, *words)
    assert done.returncode == 0, done.stderr
    assert "2,500 rows" in done.stdout


def test_drivers_are_listed() -> None:
    done = run(None, "bench", "--list")
    assert done.returncode == 0
    assert "colonnade-columns: Colonnade columns" in done.stdout


def test_what_cannot_be_measured(dsn: str) -> None:
    done = run(dsn, "bench", "SELECT nothing")
    assert done.returncode == 1
    assert 'column "nothing" does not exist' in done.stderr
    done = run(dsn, "bench", "CREATE TABLE cli_never (a int)")
    assert done.returncode == 1
    assert "was not run" in done.stderr
    done = run(dsn, "bench", "SELECT 1", "--peers", "nobody")
    assert done.returncode == 2
    assert "nobody" in done.stderr


def test_figures_that_cannot_be_written(dsn: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    figures = tmp_path / "file" / "figures.json"
    words = ("--rounds", "1", "--peers", "colonnade-rows", "--json", str(figures))
    done = run(dsn, "bench", "SELECT 1", *words)
    assert done.returncode == 1
    assert "Colonnade rows" in done.stdout
    assert f"colonnade: {tmp_path / 'file'}" in done.stderr
    assert "Traceback" not in done.stderr
