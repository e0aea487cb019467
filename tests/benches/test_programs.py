"""Every other benchmark program runs, and reads the requested number of rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from benches import imports, parallel, selection, stream, threads
from benches.hold import __main__ as hold
from benches.observe import queries
from benches.performance import boxes
from benches.rows import __main__ as rows
from benches.small import RAW, __main__ as small
from benches.small.child import CASES, CONNECTIONS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.thorough


def test_threads_and_connections(capsys: pytest.CaptureFixture[str]) -> None:
    threads.main(["--rows", "1000", "--rounds", "1", "--threads", "2"])
    parallel.main(["--rows", "1000", "--rounds", "1", "--connections", "2"])
    told = capsys.readouterr().out
    assert "2 fetches: in turn" in told
    assert told.count("2 connections:") == 2
    assert "of the client's processor time" in told


def test_rows_are_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    selection.main(["--rows", "100", "--seconds", "0.001"])
    told = capsys.readouterr().out
    assert "filter of 100 rows x 5: colonnade" in told
    assert "take of 100 rows x 5: colonnade" in told


def test_imports_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    imports.main(["--rounds", "1", "--output", str(tmp_path / "results.json")])
    results = json.loads((tmp_path / "results.json").read_text())["imports"]
    assert set(results) == set(imports.STARTS)
    for figures in results.values():
        assert {"import asyncpg", "import colonnade"} <= set(figures) <= set(imports.IMPORTS)
        assert all(0 < figure["min"] <= figure["median"] for figure in figures.values())
    assert "1.00   1.00  import asyncpg" in capsys.readouterr().out


def test_a_loop_is_pinged_beside_a_fetch(tmp_path: Path) -> None:
    words = ["--rows", "3000", "--loops", "asyncio", "--roads", "plain", "--modes", "columns"]
    assert hold.main([*words, "--output", str(tmp_path)]) == 0
    (case,) = json.loads((tmp_path / "results.json").read_text())["cases"]
    assert [size["rows"] for size in case["holds"]] == [1000, 3000]
    assert set(case["pings"]) == {"sleep", "echo", "query"}
    for ping in case["pings"].values():
        assert ping["idle"]["count"] > 0
        assert 0 < ping["idle"]["p50"] <= ping["idle"]["p99"] <= ping["idle"]["max"]


def test_a_stream_is_read_to_its_end(tmp_path: Path) -> None:
    assert stream.main(["--rows", "200000", "--output", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "results.json").read_text())
    for colour in ("async", "sync"):
        told = results[colour]
        assert told["rows"] == 200_000
        assert 1 < told["batches"] == len(told["resident"])
        assert told["alive_max"] <= 3


def test_rows_are_fetched_and_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--rows", "100", "--rounds", "1", "--peers", "asyncpg-read,colonnade-read"]
    assert rows.main([*words, "--no-hold", "--output", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "results.json").read_text())["results"]
    for peer in results["seed_100"]["peers"].values():
        assert [run["rows"] for run in peer["runs"]] == [100]
    assert "colonnade-read ÷ asyncpg-read" in capsys.readouterr().out


def test_small_queries_are_counted(tmp_path: Path) -> None:
    words = ["--rounds", "1", "--seconds", "0.02", "--loops", "uvloop", "--tcp"]
    assert small.main([*words, "--output", str(tmp_path)]) == 0
    cases = json.loads((tmp_path / "results.json").read_text())["cases"]["uvloop"]
    assert len(cases) == len(CASES) * len(CONNECTIONS)
    for drivers in cases.values():
        assert {"colonnade", RAW} <= set(drivers) <= set(small.DRIVERS)
        assert all(figures["per_second"] > 0 for figures in drivers.values())


def test_fetches_of_one_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boxes, "PEERS", ("colonnade-columns",))
    assert boxes.main(["--rows", "100", "--seconds", "0.02", "--output", str(tmp_path)]) == 0
    times = json.loads((tmp_path / "results.json").read_text())["seconds"]
    assert list(times) == ["100"]
    assert len(times["100"]["colonnade-columns"]) >= boxes.FETCHES_MIN


def test_observers_take_turns(capsys: pytest.CaptureFixture[str]) -> None:
    queries.main(["--rounds", "1"])
    told = capsys.readouterr().out
    for name in queries.SLICES:
        assert f"\n{name} " in told
