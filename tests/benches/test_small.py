"""Small queries are counted, by both drivers, in every case."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from benches.small import __main__ as small
from benches.small.child import CASES, CONNECTIONS

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_small_queries_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--rounds", "1", "--seconds", "0.02", "--loops", "uvloop", "--tcp"]
    assert small.main([*words, "--output", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["transport"] == "local TCP"
    cases = results["cases"]["uvloop"]
    assert len(cases) == len(CASES) * len(CONNECTIONS)
    for drivers in cases.values():
        assert set(drivers) == set(small.DRIVERS)
        for figures in drivers.values():
            assert figures["per_second"] > 0
            assert figures["client_us"] > 0
    assert "10 rows, 10 connections" in capsys.readouterr().out
