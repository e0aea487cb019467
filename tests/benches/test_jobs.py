"""The benchmarks of queues run, and tell what they promise."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import colonnade.sync
from benches.jobs.held_picture import draw
from benches.jobs.referee.latencies import Latencies
from benches.jobs.snapshot import Sample, summary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benches.jobs.snapshot import Layout, Phase

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
REFEREE = [sys.executable, "-m", "benches.jobs.referee"]
ADAPTER = json.loads((ROOT / "benches/jobs/referee/adapter.json").read_text("utf-8"))
METRICS = {
    *("claim_p50_ms", "claim_p95_ms", "claim_p99_ms", "enqueue_rate", "completion_rate"),
    *("queue_depth", "producer_target_rate"),
}
TIMEOUT_S = 60.0


@pytest.fixture
def database(dsn: str) -> Iterator[str]:
    """A database of its own, as the harness makes one."""
    with colonnade.sync.connect(dsn) as connection:
        connection.execute("DROP DATABASE IF EXISTS colonnade_bench")
        connection.execute("CREATE DATABASE colonnade_bench")
        yield dsn.rpartition("/")[0] + "/colonnade_bench"
        connection.execute("DROP DATABASE colonnade_bench WITH (FORCE)")


@contextlib.contextmanager
def referee(database: str, **settings: str) -> Iterator[subprocess.Popen[str]]:
    usual = {"DATABASE_URL": database, "SAMPLE_EVERY_S": "1", "WORKER_COUNT": "4"}
    with subprocess.Popen(
        REFEREE,
        cwd=ROOT,
        env={"PATH": "/usr/bin", "PYTHONPATH": str(ROOT), **usual, **settings},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        # A line that never comes must not hold up the tests.
        limit = threading.Timer(TIMEOUT_S, process.kill)
        limit.start()
        try:
            yield process
        finally:
            limit.cancel()
            process.kill()


def lines_until(process: subprocess.Popen[str], metric: str) -> list[dict[str, Any]]:
    """The lines that it writes until this metric has a value."""
    assert process.stdout is not None
    told = []
    for line in process.stdout:
        told.append(json.loads(line))
        if told[-1].get("metric") == metric and told[-1]["value"]:
            return told
    raise AssertionError(told)


@pytest.mark.parametrize("layout", ["rows", "segments"])
def test_the_referee_gets_its_figures(layout: str, database: str) -> None:
    with referee(database, COLONNADE_LAYOUT=layout, PRODUCER_RATE="200") as process:
        told = lines_until(process, "completion_rate")
        told += lines_until(process, "producer_target_rate")
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_S) == 0
    descriptor, *samples = told
    assert descriptor["kind"] == "descriptor"
    assert descriptor["db_name"] == "colonnade_bench"
    if layout == "rows":
        assert set(ADAPTER["event_tables"]) == set(descriptor["event_tables"])
    assert {each["metric"] for each in samples} == METRICS
    for sample in samples:
        assert sample["kind"] == sample["subject_kind"] == "adapter"
        assert sample["instance_id"] == 0
    p50, p99 = ({each["metric"]: each["value"] for each in samples})["claim_p50_ms"], 1e6
    assert 0 < p50 < p99


def test_the_harness_paces_it(database: str) -> None:
    with referee(database, PRODUCER_PACING="harness") as process:
        assert process.stdin is not None
        process.stdin.write("ENQUEUE 7\nENQUEUE x\nnothing\nENQUEUE 5\n")
        process.stdin.flush()
        lines_until(process, "completion_rate")
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_S) == 0
    with colonnade.sync.connect(database) as connection:
        assert connection.fetchval("SELECT max(last_value) FROM pg_sequences") == 12


def test_it_keeps_a_depth(database: str) -> None:
    with referee(database, PRODUCER_MODE="depth-target", TARGET_DEPTH="50") as process:
        lines_until(process, "completion_rate")
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_S) == 0


def test_latencies_are_those_of_the_window() -> None:
    latencies = Latencies(30)
    assert latencies.percentiles([0.5, 0.99], 0.0) == [0.0, 0.0]
    latencies.add(np.full(100, 5000.0), 1.0)
    values = np.arange(1, 1001, dtype=float)
    latencies.add(values, 29.5)
    p50, p99 = latencies.percentiles([0.5, 0.99], 32.0)
    assert p50 == pytest.approx(500, rel=0.002)
    assert p99 == pytest.approx(990, rel=0.002)
    latencies.add(np.array([0.0, 1e12]), 70.0)
    assert latencies.percentiles([1.0], 70.0)[0] == pytest.approx(1e7, rel=0.02)


def test_what_is_left_of_a_rate_under_a_held_snapshot(tmp_path: Path) -> None:
    kept: dict[Layout, float] = {"rows": 0.1, "segments": 0.99}
    turns: list[tuple[Phase, float, float]] = [
        *(("before", -2.0, 900.0), ("before", -1.0, 1000.0), ("before", -0.5, 1000.0)),
        *(("held", 1.0, 1000.0), ("held", 3.9, 0.0), ("held", 4.0, 0.0), ("after", 5.0, 1000.0)),
    ]
    samples = [
        Sample(layout, phase, at, rate or 1000.0 * part, size_mb=at + 100, dead=int(at + 100))
        for layout, part in kept.items()
        for phase, at, rate in turns
    ]
    told = summary(samples)
    assert told["rows"]["kept of the rate, last quarter"] == pytest.approx(0.1)
    assert told["segments"]["kept of the rate, last quarter"] == pytest.approx(0.99)
    assert told["rows"]["most dead rows"] == 104
    draw([vars(each) for each in samples], tmp_path)
    picture = ET.parse(tmp_path / "held-snapshot.svg")  # noqa: S314 - our own
    assert "segments" in {element.text for element in picture.iter()}


@pytest.mark.parametrize(
    "words",
    [
        *(["benches.jobs", "--jobs", "100", "--batch", "50", "--rounds", "1", "--arrivals", "2"],),
        [
            "benches.jobs.snapshot",
            "--minutes",
            "0.02",
            "--around",
            "0.5",
            "--turn",
            "0.1",
            "--pause",
            "0",
        ],
    ],
    ids=["rivals", "snapshot"],
)
def test_the_programs_run(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr
    assert "segments" in done.stdout
