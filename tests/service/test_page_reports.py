"""The reports of processes on their seconds, and the layout of a request's phases."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import colonnade
from examples.service.page.reporter import LATENCY_LEAST, bucket_of
from examples.service.page.reports import KEPT_SECONDS, Report, Reports, Second, has_ended
from examples.service.page.tables import TABLES, Tables
from examples.service.phases import Part, QueryNote, Work, current, phase, spans_of
from examples.service.recent import RecentRequests, Request


def report_of(process: int, second: int, **facts: Any) -> Report:
    report = Report(process, started=1.0, deadline=0.8)
    report.add(Second(second, **facts), [], [])
    return report


def test_processes_see_each_other_also_when_one_has_ended(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    ours, other = Reports(str(tmp_path)), Reports(str(tmp_path))
    ours.write(report_of(os.getpid(), 100, answered=3))
    other.write(report_of(gone.pid, 100, answered=4))
    for reports in (ours, other):
        found = {one.process: one for one in reports.all()}
        assert found[os.getpid()].seconds[0]["answered"] == 3
        assert found[gone.pid].seconds[0]["answered"] == 4
        assert [has_ended(found[pid]) for pid in (os.getpid(), gone.pid)] == [False, True]


def test_a_report_that_has_changed_is_read_again(tmp_path: Path) -> None:
    ours, other = Reports(str(tmp_path)), Reports(str(tmp_path))
    for second in (100, 101):
        ours.write(report_of(os.getpid(), second))
        assert [one.seconds[0]["second"] for one in other.all()] == [second]


def test_what_is_no_report_is_left_out_and_an_old_one_removed(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text('{"process": ')
    (tmp_path / "2.json").write_text('{"unknown": 1}')
    (tmp_path / "3.json").write_text("[]")
    os.utime(tmp_path / "3.json", (1, 1))
    reports = Reports(str(tmp_path))
    reports.write(report_of(os.getpid(), 100))
    assert [one.process for one in reports.all()] == [os.getpid()]
    assert not (tmp_path / "3.json").exists()


def test_without_a_folder_a_process_sees_itself_and_a_missing_one_is_an_error(
    tmp_path: Path,
) -> None:
    alone = Reports("")
    assert alone.all() == []
    alone.write(report_of(os.getpid(), 100))
    assert len(alone.all()) == 1
    lost = Reports(str(tmp_path / "missing"))
    with pytest.raises(FileNotFoundError):
        lost.write(report_of(os.getpid(), 100))
    assert len(lost.all()) == 1


def test_two_minutes_are_kept() -> None:
    report = Report(1, 1.0, 0.8)
    for second in range(300):
        stall = {"at": float(second), "cause": "gc", "seconds": 0.1, "place": ""}
        report.add(Second(second), [stall], [{"ended": float(second)}])
    assert len(report.seconds) == KEPT_SECONDS
    assert all(stall["at"] > 299 - KEPT_SECONDS for stall in report.stalls)
    assert [one["ended"] for one in report.requests] == [float(s) for s in range(288, 300)]


def test_buckets_are_a_quarter_of_a_doubling_wide() -> None:
    assert bucket_of(0) == bucket_of(LATENCY_LEAST) == 0
    for number in range(1, 60):
        start = LATENCY_LEAST * 2 ** ((number - 1) / 4)
        assert bucket_of(start * 1.001) == number
        assert bucket_of(start * 1.18) == number
    assert bucket_of(1e9) == 71


async def test_tables_of_reports_and_of_none(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        tables = Tables(await pool.fetch_columns("SELECT 'x' AS any"))
    for name, table in TABLES.items():
        empty = table(tables, [], 0)
        assert len(empty) == 0, name
        assert len(empty.names) > 2, name
    reports = [
        report_of(1, 100, answered=2, latencies={"5": 1, "9": 1}, refused={"loop": 7}),
        report_of(2, 100, answered=4, latencies={"5": 4}),
    ]
    seconds = TABLES["seconds"](tables, reports, 0)
    assert seconds["answered"].tolist() == [2, 4]
    assert seconds["refused_loop"].tolist() == [7, 0]
    latencies = TABLES["latencies"](tables, reports, 100).to_pylist()
    assert sorted((one["bucket"], one["answers"]) for one in latencies) == [(5, 5), (9, 1)]
    assert len(TABLES["seconds"](tables, reports, 101)) == 0


def test_queries_at_the_same_time_have_lanes_of_their_own() -> None:
    work = Work(began=10.0)
    times = {"colonnade.send": 0.01, "colonnade.server_wait": 0.03, "colonnade.decode": 0.0}
    work.add(Part("suppliers", 10.0, 10.5))
    work.add(Part("pool_wait", 10.0, 10.01))
    work.add(QueryNote("SELECT a FROM flights WHERE x", 10.05, times))
    work.add(QueryNote("SELECT 1", 10.06, times))
    work.add(QueryNote("SELECT 2", 10.2, times))
    spans = spans_of(work)
    assert [(span.lane, span.phase, span.name) for span in spans] == [
        (0, "suppliers", ""),
        (1, "pool_wait", ""),
        (1, "send", "flights"),
        (1, "server_wait", "flights"),
        (2, "send", "query"),
        (2, "server_wait", "query"),
        (1, "send", "query"),
        (1, "server_wait", "query"),
    ]
    assert spans[2].start == pytest.approx(0.01)
    assert spans[3].start == pytest.approx(0.02)
    assert spans[3].seconds == pytest.approx(0.03)


def test_a_phase_is_noted_for_the_request_and_without_one_for_nobody() -> None:
    with phase("columns"):
        pass
    work = Work()
    token = current.set(work)
    with pytest.raises(KeyError), phase("columns"):
        raise KeyError
    current.reset(token)
    assert [span.phase for span in spans_of(work)] == ["columns"]


def test_fresh_requests_are_taken_once() -> None:
    recent = RecentRequests()
    request = Request(1.0, 0.1, "/search", 200, "", "a")
    recent.add(request, Work())
    assert [one for one, _ in recent.take()] == [request]
    assert recent.take() == []
    assert list(recent) == [request]
