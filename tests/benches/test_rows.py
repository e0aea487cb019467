"""The benchmark of rows, on a hundred of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from benches.rows import __main__ as rows
from benches.rows.__main__ import above_floor
from benches.rows.reading import ROWS_MIN, repeats
from colonnade.cli.measure.measurement import Measurement
from colonnade.cli.measure.peers import Peer
from colonnade.cli.measure.runner import Run
from colonnade.cli.measure.summary import Summaries

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_small_results_are_fetched_many_times() -> None:
    assert repeats("SELECT * FROM colonnade_bench.seed_100") == ROWS_MIN // 100
    assert repeats("SELECT * FROM colonnade_bench.seed_1000000") == 1


def test_two_peers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--rows", "100", "--rounds", "1", "--peers", "asyncpg-read,colonnade-read"]
    assert rows.main([*words, "--no-hold", "--output", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "results.json").read_text())["results"]
    assert list(results) == ["seed_100"]
    for peer in results["seed_100"]["peers"].values():
        assert [run["rows"] for run in peer["runs"]] == [100]
    assert "colonnade-read ÷ asyncpg-read" in capsys.readouterr().out


def test_the_floor_is_taken_off_both() -> None:
    costs = {"drain": 1.0, "colonnade-read": 2.0, "asyncpg-read": 5.0}
    peers = [Peer(name, name, "rows", "", (), None) for name in costs]
    summaries = Summaries(peers)
    for peer in peers:
        cost = costs[peer.name]
        made = Measurement(rows=1, wall_s=cost, cpu_user_s=cost, cpu_system_s=0.0)
        summaries.add(Run(0, peer), made)
    assert above_floor(summaries) == [
        "cpu_s above the floor, colonnade-read ÷ asyncpg-read: 0.25",
        "wall_s above the floor, colonnade-read ÷ asyncpg-read: 0.25",
    ]
