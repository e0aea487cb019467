# Generated from tests/jobs/async/test_delays.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Jobs that wait for their time: they cost others nothing, and get their place when it comes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import colonnade
from colonnade.jobs import sync as jobs
from colonnade.jobs._sync import getting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.jobs.definition import LayoutName

DELAYED = 20_000
# In the layout segments each delay is a range of its own, and each slot is looked into.
BUFFERS_MOST = {"rows": 40, "segments": 250}
# The time of jobs has come.
COME = "job_ready_at = '-infinity', job_waits_until = least(job_waits_until, '2000-01-01')"
TABLE = {"rows": "work", "segments": "work_r"}


def buffers(connection: colonnade.sync.Connection, statement: str, *arguments: Any) -> int:
    """The pages that a statement looks at."""
    rows = connection.fetch_plain(
        f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", *arguments
    )
    told = rows[0][0]
    plan = (json.loads(told) if isinstance(told, str) else told)[0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


@pytest.mark.parametrize("known", ["nothing", "before", "after"])
def test_nobody_steps_over_them(
    pool: colonnade.sync.Pool, queue: jobs.Queue, layout: LayoutName, known: str
) -> None:
    queue.add({"a": np.arange(100)})
    with pool.acquire() as connection:
        if known == "before":
            connection.execute(f"ANALYZE jobs.{TABLE[layout]}")
        # One job after the other, as they are added in the course of a day.
        queue.add({"a": np.arange(DELAYED)}, delay=86_400.0 + np.arange(DELAYED))
        queue.add({"a": [100]})
        if known == "after":
            connection.execute(f"ANALYZE jobs.{TABLE[layout]}")
        batch = queue.get(10, timeout=0)
        settles = queue.layout.ack([batch._part(batch.ids)])
        tables = queue.layout
        looked = {
            "line_up": buffers(connection, tables.line_up, 10_000),
            "lease": buffers(connection, tables.lease, 5, 60.0, 7, True),
            "take": buffers(connection, tables.take, 5, True),
            "sweep": buffers(connection, tables.sweep),
            "ack": buffers(connection, settles.forms.brisk, *settles.arguments),
            "next_ready": buffers(connection, tables.next_ready),
        }
    assert max(looked.values()) <= BUFFERS_MOST[layout], looked
    assert (queue.stats()).delayed == DELAYED


def test_they_get_their_place_when_their_time_comes(
    pool: colonnade.sync.Pool, queue: jobs.Queue, layout: LayoutName
) -> None:
    queue.add({"a": [0, 1]}, delay=3600, priority=np.array([0, -1]))
    queue.add({"a": [2]})
    queue.add({"a": [3]}, delay=7200)
    assert (queue.peek(4)).to_pydict()["a"] == [1, 0, 2, 3]
    pool.execute(
        f"UPDATE jobs.{TABLE[layout]} SET {COME} WHERE job_ready_at < now() + interval '4000 s'"
    )
    batch = queue.get(timeout=0)
    assert batch.columns["a"].tolist() == [1, 0, 2]
    batch.ack()
    assert (queue.stats()).delayed == 1


def test_more_than_get_in_line_at_once(
    monkeypatch: pytest.MonkeyPatch,
    pool: colonnade.sync.Pool,
    queue: jobs.Queue,
    layout: LayoutName,
) -> None:
    monkeypatch.setattr(jobs.get.__module__ + "._LINED_UP", 3)
    queue.add({"a": np.arange(10)}, delay=3600.0 + np.arange(10))
    pool.execute(
        f"UPDATE jobs.{TABLE[layout]} SET job_ready_at = now(),"
        " job_waits_until = job_waits_until - interval '2 hours'"
    )
    got = []
    while batch := queue.get(2, timeout=0):
        got += batch.columns["a"].tolist()
        batch.ack()
    assert got == list(range(10))


def test_a_job_that_failed_waits_apart(
    pool: colonnade.sync.Pool, queue: jobs.Queue, layout: LayoutName
) -> None:
    queue.add({"a": [0]})
    queue.add({"a": [1]})
    waiting = f"SELECT count(*) FROM jobs.{TABLE[layout]} WHERE job_waits_until > '-infinity'"
    batch = queue.get(1, timeout=0)
    batch.nack(delay=3600)
    assert pool.fetchval(waiting) == 1
    other = queue.get(timeout=0)
    assert other.columns["a"].tolist() == [1]
    other.release()
    pool.execute(f"UPDATE jobs.{TABLE[layout]} SET {COME}")
    batch = queue.get(timeout=0)
    assert batch.columns["a"].tolist() == [0, 1]
    batch.nack(delay=0)
    assert pool.fetchval(waiting) == 0


class Watched:
    """The queue in a pool of its own, whose sweep is not due, and what it asks the server."""

    def __init__(self, queue: jobs.Queue, statements: list[str]) -> None:
        self.queue = queue
        self._statements = statements
        queue._next_sweep = float("inf")

    def got(self, limit: int = 1000, lease: float | None = 60.0) -> list[int]:
        """What `get` returns now."""
        found: list[int] = (self.queue.get(limit, lease=lease, timeout=0)).columns["a"].tolist()
        return found

    def asked(self) -> list[str]:
        """The names of the layout's statements since the last call."""
        # Loggers are told of a statement at the latest when another one follows.
        self.queue.pool.fetchval("SELECT 1")
        names = ("lease", "take", "next_ready", "line_up")
        known = {getattr(self.queue.layout, name): name for name in names}
        known["DISCARD PLANS"] = "DISCARD PLANS"
        found = [known[statement] for statement in self._statements if statement in known]
        self._statements.clear()
        return found


@pytest.fixture
def watched(dsn: str, queue: jobs.Queue) -> Iterator[Watched]:
    statements: list[str] = []

    def note(record: colonnade.LoggedQuery) -> None:
        statements.append(record.query)

    def listen(connection: colonnade.sync.Connection) -> None:
        connection.add_query_logger(note)

    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1, setup=listen) as pool:
        yield Watched(jobs.open_queue(pool, queue.definition.name), statements)


def test_one_statement_gets_where_nothing_has_to_get_in_line(
    queue: jobs.Queue, watched: Watched
) -> None:
    queue.add({"a": [0]}, delay=3600)
    queue.add({"a": [1, 2]})
    assert watched.got(1) == [1]
    assert watched.asked() == ["lease"]
    assert watched.got(lease=None) == [2]
    assert watched.asked() == ["take"]
    assert watched.got() == []
    assert watched.asked() == ["lease", "next_ready"]
    # It was in vain: the next one looks, which costs less.
    assert watched.got() == []
    assert watched.asked() == ["next_ready"]
    queue.add({"a": [3]})
    assert watched.got() == [3]
    assert watched.asked() == ["next_ready", "lease"]


def test_a_slow_get_lets_plans_be_made_anew(
    queue: jobs.Queue, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan for a table that was nearly empty reads all of it, until vacuum comes."""
    queue.add({"a": np.arange(30)})
    assert len(watched.got(10)) == 10
    assert watched.asked() == ["lease"]
    monkeypatch.setattr(getting, "_SLOW_S", 0.0)
    assert len(watched.got(10)) == 10
    assert watched.asked() == ["lease", "DISCARD PLANS"]
    # Not each time.
    assert len(watched.got(10)) == 10
    assert watched.asked() == ["lease"]


def test_one_whose_time_has_come_is_first_beside_a_backlog(
    pool: colonnade.sync.Pool, queue: jobs.Queue, watched: Watched, layout: LayoutName
) -> None:
    queue.add({"a": [0]}, delay=3600, priority=-1)
    queue.add({"a": [1, 2]})
    assert watched.got(1) == [1]
    pool.execute(f"UPDATE jobs.{TABLE[layout]} SET {COME} WHERE job_priority = -1")
    watched.asked()
    assert watched.got(1) == [0]
    assert watched.asked() == ["lease", "next_ready", "line_up", "lease"]
    assert watched.got() == [2]
    assert watched.asked() == ["lease"]


@pytest.mark.parametrize("lease", [60.0, None])
def test_one_that_is_locked_keeps_no_others(
    pool: colonnade.sync.Pool, queue: jobs.Queue, layout: LayoutName, lease: float | None
) -> None:
    queue.add({"a": [0]}, delay=3600)
    queue.add({"a": [1, 2]})
    pool.execute(f"UPDATE jobs.{TABLE[layout]} SET {COME} WHERE job_waits_until > '-infinity'")
    with pool.acquire() as other, other.transaction():
        other.execute(
            f"SELECT FROM jobs.{TABLE[layout]} WHERE job_waits_until > '-infinity' FOR UPDATE"
        )
        assert (queue.get(timeout=0, lease=lease)).columns["a"].tolist() == [1, 2]
    assert (queue.get(timeout=0, lease=lease)).columns["a"].tolist() == [0]


def test_an_expired_one_becomes_a_dead_letter_at_its_time(
    pool: colonnade.sync.Pool, queue: jobs.Queue, layout: LayoutName
) -> None:
    queue.add({"a": [0]}, delay=3600, ttl=60)
    pool.execute(f"UPDATE jobs.{TABLE[layout]} SET {COME}, job_expires_at = '-infinity'")
    assert not queue.get(timeout=0)
    queue.sweep()
    queue._next_sweep = 0.0
    queue.sweep()
    assert (queue.dead()).to_pydict()["job_reason"] == ["expired"]
