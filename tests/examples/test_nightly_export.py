"""The nightly export: its files, again, after a kill, beside another run, and by Dagster."""

from __future__ import annotations

import datetime as dt
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pyarrow.dataset as pads
import pytest

from colonnade import sync
from examples.nightly_export import days

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parents[2]
FIRST, END = dt.date(2020, 1, 1), dt.date(2020, 1, 5)
ALL = days.days_between(FIRST, END)
PER_DAY = 250
COMMAND = [
    *(sys.executable, "-W", "error", "-m", "examples.nightly_export"),
    *("--first", str(FIRST), "--until", str(END)),
]


@pytest.fixture
def orders(dsn: str) -> Iterator[sync.Connection]:
    with sync.connect(dsn) as connection:
        connection.execute(
            "CREATE TABLE orders AS SELECT i AS id, date '2020-01-01' + (i / 250) AS day,"
            " 'PT' AS country, i::numeric / 4 AS amount FROM generate_series(0, 749) AS i"
        )
        yield connection
        connection.execute("DROP TABLE IF EXISTS orders")


def exported(folder: Path, dsn: str, *more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLONNADE_DSN": dsn}
    return subprocess.run(
        [*COMMAND, str(folder), *more],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def left_over(folder: Path) -> list[str]:
    """Files that are no day's file."""
    expected = {days.path_of(folder, day) for day in ALL}
    return sorted(
        str(path) for path in folder.rglob("*") if path.is_file() and path not in expected
    )


def test_a_night(tmp_path: Path, dsn: str, orders: sync.Connection) -> None:
    done = exported(tmp_path, dsn)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split(",")[0] for line in done.stdout.splitlines()] == [
        *(f"{day}: {PER_DAY} rows" for day in ALL[:3]),
        "2020-01-04: 0 rows",
    ]
    table = pads.dataset(tmp_path, partitioning="hive").to_table()
    assert table.num_rows == 3 * PER_DAY
    assert sorted(table["id"].to_pylist()) == list(range(3 * PER_DAY))
    frame = pl.scan_parquet(tmp_path / "**/*.parquet", hive_partitioning=True)
    sums = frame.group_by("day").agg(pl.col("amount").sum()).sort("day").collect()
    wanted = orders.fetch("SELECT day, sum(amount) FROM orders GROUP BY day ORDER BY day")
    assert sums.rows() == [tuple(row) for row in wanted]

    # The next night: rows that came late to the latest day, and nothing else to do.
    orders.execute("INSERT INTO orders VALUES (1000, '2020-01-04', 'DE', 1)")
    again = exported(tmp_path, dsn)
    assert [line.split(",")[0] for line in again.stdout.splitlines()] == ["2020-01-04: 1 rows"]
    assert left_over(tmp_path) == []


def test_a_killed_run_goes_on(tmp_path: Path, dsn: str, orders: sync.Connection) -> None:
    # The third day waits for a lock, so that the run is amid its work when it is stopped.
    orders.execute("ALTER TABLE orders RENAME TO kept")
    orders.execute(
        "CREATE FUNCTION waits(day date) RETURNS boolean LANGUAGE sql AS"
        " $$ SELECT CASE WHEN day = '2020-01-03' THEN pg_advisory_xact_lock(1) IS NULL"
        " ELSE false END $$"
    )
    orders.execute("CREATE VIEW orders AS SELECT * FROM kept WHERE waits(day) IS NOT NULL")
    try:
        with orders.transaction():
            orders.execute("SELECT pg_advisory_xact_lock(1)")
            environment = {**os.environ, "COLONNADE_DSN": dsn}
            with subprocess.Popen([*COMMAND, str(tmp_path)], cwd=ROOT, env=environment) as run:
                wait_until(
                    lambda: orders.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted")
                )
                busy = exported(tmp_path, dsn)
                assert (busy.returncode, busy.stderr) == (75, "another export is at work\n")
                run.send_signal(signal.SIGTERM)
                assert run.wait(30) == 143
            assert left_over(tmp_path) == []
            # The query was cancelled, too.
            wait_until(
                lambda: not orders.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted")
            )
        assert [path.parent.name for path in sorted(tmp_path.rglob("*.parquet"))] == [
            "day=2020-01-01",
            "day=2020-01-02",
        ]
        kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
        assert exported(tmp_path, dsn).returncode == 0
        assert pads.dataset(tmp_path, partitioning="hive").count_rows() == 3 * PER_DAY
        assert {path: path.stat().st_mtime_ns for path in kept} == kept
    finally:
        orders.execute("DROP VIEW orders; DROP TABLE kept; DROP FUNCTION waits")


def wait_until(condition: Callable[[], object]) -> None:
    give_up = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < give_up


def test_a_day_that_fails_does_not_stop_the_others(
    tmp_path: Path, dsn: str, orders: sync.Connection
) -> None:
    orders.execute("UPDATE orders SET amount = 'NaN' WHERE id = 300")
    done = exported(tmp_path, dsn)
    assert done.returncode == 1
    assert "2020-01-02: " in done.stderr
    assert "amount" in done.stderr
    assert len(list(tmp_path.rglob("*.parquet"))) == 3
    orders.execute("UPDATE orders SET amount = 1 WHERE id = 300")
    assert exported(tmp_path, dsn).returncode == 0
    assert len(list(tmp_path.rglob("*.parquet"))) == 4


def test_no_server_means_later(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    done = exported(tmp_path, f"postgresql://nobody@127.0.0.1:{port}/nothing")
    assert done.returncode == 75
    assert done.stderr.startswith("the server cannot be reached: ")


def test_wrong_usage(tmp_path: Path) -> None:
    assert exported(tmp_path, "").returncode == 2
    assert exported(tmp_path, "", "--first", "yesterday").returncode == 2


# Dagster warns of its own future.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("orders")
def test_dagster_runs_its_partitions(
    tmp_path: Path, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dagster = pytest.importorskip("dagster", reason="Dagster is in the group examples")
    from examples.nightly_export import with_dagster

    monkeypatch.setenv("COLONNADE_DSN", dsn)
    monkeypatch.setenv("EXPORT_FOLDER", str(tmp_path / "orders"))
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    monkeypatch.setenv("DAGSTER_DISABLE_TELEMETRY", "1")
    job = with_dagster.definitions.get_job_def("nightly")
    with dagster.DagsterInstance.ephemeral() as instance:
        for _ in range(2):
            result = job.execute_in_process(partition_key="2020-01-02", instance=instance)
            assert result.success
            (event,) = result.asset_materializations_for_node("orders_by_day")
            assert event.metadata["rows"].value == PER_DAY
    table = pads.dataset(tmp_path / "orders", partitioning="hive").to_table()
    assert table.num_rows == PER_DAY
