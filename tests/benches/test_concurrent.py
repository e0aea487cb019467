"""The benchmarks of threads and of several connections, on a few rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from benches import parallel, threads

if TYPE_CHECKING:
    import pytest


def test_threads(capsys: pytest.CaptureFixture[str]) -> None:
    threads.main(["--rows", "1000", "--rounds", "1", "--threads", "2"])
    assert re.search(r"2 fetches: in turn [\d.]+ s, at once [\d.]+ s", capsys.readouterr().out)


def test_connections(capsys: pytest.CaptureFixture[str]) -> None:
    parallel.main(["--rows", "1000", "--rounds", "1", "--connections", "2"])
    told = capsys.readouterr().out
    assert "1 connection:" in told
    assert re.search(r"2 connections: +[\d.]+ s, +[\d.]+ x", told)
