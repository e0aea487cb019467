"""Peers in separate environments, and the suite over TLS."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import TYPE_CHECKING

import pytest

from benches import __main__ as suite, environments
from benches.measure.measurement import Measurement
from benches.measure.peer import describe
from benches.measure.runner import run_peer

if TYPE_CHECKING:
    from pathlib import Path

    from benches.measure.peer import Peer

pytestmark = pytest.mark.thorough


@pytest.fixture
def peer() -> Peer:
    """A peer of this environment that requests a separate one."""
    known = describe("benches.peers.asyncpg_rows")
    return dataclasses.replace(
        known, unavailable="not installed: asyncpg", environment=("asyncpg>=0.32",)
    )


def test_none_is_made_unasked(peer: Peer, tmp_path: Path) -> None:
    left = environments.furnish(peer, make=False, directory=tmp_path)
    assert left.unavailable == "not installed: asyncpg; --install creates its environment"
    assert list(tmp_path.iterdir()) == []


def test_a_peer_runs_in_the_one_that_is_there(peer: Peer, tmp_path: Path, dsn: str) -> None:
    place = tmp_path / environments._name(peer.environment)
    python = place / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\ntouch {place}/used\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    found = environments.furnish(peer, make=False, directory=tmp_path)
    assert found.python == str(python)
    # The environment reports its own versions.
    assert found.unavailable is None
    assert found.installed is not None
    assert set(found.installed) == {"asyncpg"}
    outcome = run_peer(found, dsn=dsn, sql="SELECT 1 AS one", hold=False, timeout_s=60)
    assert isinstance(outcome, Measurement), outcome
    assert outcome.rows == 1
    assert (place / "used").exists()


def test_over_tls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--tls", "--rows", "3000", "--rounds", "1", "--shapes", "narrow", "--no-pictures"]
    peers = "drain,drain-tls,colonnade-columns,colonnade-columns-sync"
    status = suite.main([*words, "--no-hold", "--peers", peers, "--output", str(tmp_path)])
    told = capsys.readouterr()
    if "was built with TLS" in told.err:
        pytest.skip("none of the PostgreSQL installations was built with TLS")
    assert status == 0, told.err
    assert "skipped drain: it speaks no TLS" in told.err
    results = json.loads((tmp_path / "results.json").read_text())
    assert (results["base"], results["transport"]) == ("drain-tls", "TLS over local TCP")
    measured = results["results"]["narrow"]["peers"]
    assert {run["rows"] for peer in measured.values() for run in peer["runs"]} == {3000}
    assert list(measured) == ["drain-tls", "colonnade-columns", "colonnade-columns-sync"]
    assert measured["colonnade-columns"]["ratios"]["drain-tls"]["wall_s"]["median"] > 0
