"""`colonnade jobs top` in a terminal and in a pipe, with real queues."""

from __future__ import annotations

import io
import signal
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

import colonnade.sync
from colonnade.cli.jobs.view import Histories, Line, age_text, table_of
from colonnade.jobs import sync as jobs
from tests.cli.program import run, run_on_terminal
from tests.cli.screen import on_screen

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = "cli_jobs_top"
TOP = ("jobs", "top", "--schema", SCHEMA)


@pytest.fixture
def pool(dsn: str) -> Iterator[colonnade.sync.Pool]:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=2) as pool:
        pool.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        yield pool
        pool.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


@pytest.fixture
def queue(pool: colonnade.sync.Pool) -> jobs.Queue:
    queue = jobs.create_queue(pool, "emails", {"a": "int8"}, schema=SCHEMA)
    queue.add({"a": [1, 2, 3]})
    return queue


def test_it_follows_the_queue_until_q(
    dsn: str, pool: colonnade.sync.Pool, queue: jobs.Queue
) -> None:
    with on_screen(*TOP, "-d", dsn) as screen:
        for part in ("q quits", "emails", "rows", "oldest"):
            screen.await_text(part)
        queue.add({"a": list(range(4318))})
        screen.await_next("4,321")
        # A queue that is made meanwhile is shown, too.
        jobs.create_queue(pool, "reports", {"a": "int8"}, schema=SCHEMA)
        screen.await_next("reports")
        screen.resize(60, 10)
        screen.await_text("emails")
        screen.await_text("4,321")
        screen.type(b"q")
        assert screen.await_end() == 0
        assert screen.is_restored()
        assert "Traceback" not in screen.written


@pytest.mark.usefixtures("queue")
@pytest.mark.parametrize(
    ("keys", "number", "status"),
    [(b"\x03", None, 0), (b"", signal.SIGTERM, 143)],
    ids=["ctrl-c", "SIGTERM"],
)
def test_every_end_restores_the_terminal(
    keys: bytes, number: int | None, status: int, dsn: str
) -> None:
    with on_screen(*TOP, "emails", "-d", dsn) as screen:
        screen.await_text("emails")
        if number is None:
            screen.type(keys)
        else:
            screen.process.send_signal(number)
        assert screen.await_end() == status
        assert screen.is_restored()
        assert "Traceback" not in screen.written


def test_it_survives_a_lost_connection(
    dsn: str, connection: colonnade.sync.Connection, queue: jobs.Queue
) -> None:
    name = "colonnade top under test"
    with on_screen(*TOP, "-d", dsn, env={"PGAPPNAME": name}) as screen:
        screen.await_text("emails")
        kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1"
        connection.fetch(kill, name)
        queue.add({"a": list(range(1000))})
        screen.await_next("1,003")
        screen.type(b"q")
        assert screen.await_end() == 0
        assert "Traceback" not in screen.written


@pytest.mark.usefixtures("queue")
def test_it_waits_no_longer_than_a_second_for_a_count(
    dsn: str, connection: colonnade.sync.Connection
) -> None:
    with on_screen(*TOP, "-d", dsn) as screen, connection.transaction():
        screen.await_text("emails")
        # The next count waits for this lock, and keys are followed all the same.
        connection.execute(f"LOCK TABLE {SCHEMA}.emails IN ACCESS EXCLUSIVE MODE")
        screen.await_next("emails")
        screen.await_next("emails")
        screen.type(b"q")
        assert screen.await_end() == 0
        assert screen.is_restored()
        assert "Traceback" not in screen.written


@pytest.mark.usefixtures("queue")
def test_plain_text_in_a_pipe_and_once(dsn: str) -> None:
    done = run(dsn, *TOP)
    assert (done.returncode, done.stderr) == (0, "")
    head, line = done.stdout.splitlines()
    assert head.split() == [
        "queue",
        "layout",
        *["total", "ready", "delayed", "leased", "dead", "oldest"],
    ]
    assert line.split()[:6] == ["emails", "rows", "3", "3", "0", "0"]
    shown = run_on_terminal(dsn, *TOP, "--once")
    assert shown.status == 0
    assert "\x1b[?1049h" not in shown.out
    assert "emails" in shown.out


@pytest.mark.usefixtures("pool")
def test_without_queues_it_says_so(dsn: str) -> None:
    done = run(dsn, *TOP)
    assert (done.returncode, done.stdout) == (0, f'there are no queues in the schema "{SCHEMA}"\n')


def test_numbers_and_their_course() -> None:
    stats = jobs.QueueStats(12_000, 11_000, 900, 100, 7, 3700.0)
    lines = [Line("a\x1b[2J[red]", "segments", stats), Line("closed", "rows", None)]
    histories = Histories()
    histories.add(lines, 10.0)
    later = jobs.QueueStats(10_000, 9_000, 900, 100, 7, 3700.0)
    histories.add([Line(lines[0].name, "segments", later)], 12.0)
    console = Console(file=io.StringIO(), width=140, force_terminal=False)
    console.print(table_of(lines, histories, console.width))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    for part in ("a\\x1b[2J[red]", "12,000", "1 h 1 min", "-1,000/s", "█", "no right to read it"):
        assert part in shown, shown


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_no_number_is_cut(width: int) -> None:
    stats = jobs.QueueStats(12_000_000, 11_000_001, 999_999, 100, 7, 3700.0)
    lines = [Line("a queue with a long name", "segments", stats), Line("closed", "rows", None)]
    histories = Histories()
    histories.add(lines, 1.0)
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(table_of(lines, histories, width))
    head, line, _ = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert {"queue", "ready", "dead", "oldest"} <= set(head.split())
    assert "11,000,001" in line
    assert "1 h 1 min" in line
    assert len(line) <= width


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0.0 ms"), (59.0, "59.0 s"), (61, "1 min 1 s"), (90_000, "1 d 1 h")],
)
def test_ages(seconds: float, text: str) -> None:
    assert age_text(seconds) == text
