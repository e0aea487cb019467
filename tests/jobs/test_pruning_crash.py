"""A pattern that crashes PostgreSQL 18, and the proof that no statement of the queues has it.

A row lock that meets a concurrent change lets PostgreSQL initialize the plan of the whole statement
a second time, and throw that away when the locking ends. In 18 both plans share the state by which
partitions are left out while the statement runs, so a second part of the statement that joins a
partitioned table by its partition key reads memory that was freed.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

import pytest

from colonnade import embedded, errors, sync
from colonnade.jobs._layouts.base import Forms
from colonnade.jobs._layouts.segments import Segments
from colonnade.jobs.definition import Definition

if TYPE_CHECKING:
    from collections.abc import Iterator

SETUP = """
CREATE TABLE parted (k int, v int) PARTITION BY LIST (k);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES IN (0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE INDEX ON parted (k);
INSERT INTO parted VALUES (0, 0);
"""
# The plan for tables of some pages.
PLAN = """
SET enable_hashjoin = off; SET enable_mergejoin = off;
SET enable_seqscan = off; SET enable_bitmapscan = off;
"""
# The generated series only uses memory, the freed one too.
CRASHES = """
WITH locked AS MATERIALIZED (SELECT k FROM parted FOR UPDATE),
     changed AS (UPDATE parted SET v = 0 FROM locked WHERE parted.k = locked.k)
SELECT array_agg(i) FROM locked, generate_series(1, 1000) AS i
"""
BLOCKED = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


@pytest.fixture
def own_server() -> Iterator[str]:
    """A server that may die."""
    with embedded.start() as server:
        yield server.dsn


def outcome(dsn: str) -> Exception | None:
    """The error of the statement, if any, when a row that it waits for was changed."""
    found: list[Exception] = []

    def run() -> None:
        with sync.connect(dsn) as link:
            link.execute(PLAN)
            try:
                link.execute(CRASHES)
            except Exception as error:  # noqa: BLE001 - it is what is asked for
                found.append(error)

    with sync.connect(dsn) as other, sync.connect(dsn) as watch:
        other.execute(SETUP)
        other.execute("BEGIN; UPDATE parted SET v = 1")
        thread = threading.Thread(target=run)
        thread.start()
        while not watch.fetchval(BLOCKED):
            pass
        other.execute("COMMIT")
        thread.join()
    return found[0] if found else None


def test_the_smallest_statement_that_crashes(own_server: str) -> None:
    with sync.connect(own_server) as link:
        version = link.get_server_version()
    try:
        error = outcome(own_server)
    except (OSError, errors.PostgresError, errors.InterfaceError) as late:
        # The other connections are lost as well.
        error = late
    if version.major < 18:
        assert error is None
    elif error is None:
        pytest.skip(
            f"PostgreSQL {version.major}.{version.minor} stands it: when no supported release "
            "crashes, statements may find ranges and jobs by their slots again"
        )


def test_no_statement_of_a_queue_looks_for_rows_by_their_slot() -> None:
    layout = Segments(Definition("jobs", "work", {"a": "int8"}, layout="segments"))
    kept = [*vars(layout).values(), *vars(layout.settling).values()]
    texts = [text for one in kept for text in (one if isinstance(one, Forms) else [one])]
    statements = [
        text for text in texts if isinstance(text, str) and re.search(r"\b(UPDATE|DELETE)\b", text)
    ]
    assert len(statements) >= 20
    for text in statements:
        assert not re.search(r"job_slot (OPERATOR\(pg_catalog\.)?=|= ?\w+\.job_slot", text), text
