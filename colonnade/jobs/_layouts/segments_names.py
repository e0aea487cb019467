"""The names of a queue's tables in the layout `segments`, quoted, and how ranges meet jobs.

No statement that updates, deletes or locks rows finds them by their slot, the partition key of the
tables: an add has a number of its own, and is in one slot. A comparison of the slot would
let PostgreSQL leave out partitions while the statement runs, and a row that was changed meanwhile
makes PostgreSQL 18 use memory that it has freed (`tests/jobs/test_pruning_crash.py` has the
smallest such statement). To look into all of them costs a step into each index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._driver.sql.quoting import quote_identifier, quote_literal
from colonnade.jobs._layouts.base import NO_TIME, equal

if TYPE_CHECKING:
    from colonnade.jobs.definition import Definition

SLOTS = 8
# A range has at most this many jobs, which share a lease, a time and a priority.
RANGE_JOBS = 1000
# The key of a range: the index has the first three columns.
KEY = ("job_priority", "job_place", "job_first", "job_add")


class Names:
    """The tables of one queue."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self.jobs = definition.table
        self.ranges = self.table("_r")
        self.ring = self.table("_ring")
        self.ids = self.table("_ids")
        self.adds = self.table("_adds")

    def table(self, suffix: str) -> str:
        """A table of the queue, with its schema."""
        definition = self._definition
        return f"{quote_identifier(definition.schema)}.{quote_identifier(definition.name + suffix)}"

    def slot(self, number: int) -> str:
        """The jobs of a slot."""
        return self.table(f"_s{number}")

    def slot_ranges(self, number: int) -> str:
        """The ranges of a slot."""
        return self.table(f"_r{number}")

    def next_of(self, sequence: str) -> str:
        """An expression: the next number of a sequence."""
        return f"pg_catalog.nextval({quote_literal(sequence)}::pg_catalog.regclass)"

    def jobs_of(self, owner: str, columns: str) -> str:
        """A lateral query of the jobs of a range that are not done, by their ids."""
        return (
            f"SELECT {columns} FROM {self.jobs} AS s"
            f" WHERE {equal('s.job_add', f'{owner}.job_add')}"
            f" AND s.job_id OPERATOR(pg_catalog.>=) {owner}.job_first"
            f" AND s.job_id OPERATOR(pg_catalog.<=) {owner}.job_last"
            f" AND ({owner}.job_done IS NULL"
            f" OR s.job_id OPERATOR(pg_catalog.<>) ALL ({owner}.job_done))"
            " ORDER BY s.job_id"
        )


def chunk_of(window: str) -> str:
    """An expression: the number of a job's range, of the ranges that are made of a window."""
    return (
        f"(pg_catalog.row_number() OVER ({window}) OPERATOR(pg_catalog.-) 1)"
        f" OPERATOR(pg_catalog./) {RANGE_JOBS}"
    )


def same(left: str, right: str) -> str:
    """An expression: both are one range, in line, as every held range is."""
    return f"{equal(f'{left}.job_waits_until', NO_TIME)} AND {same_key(left, right)}"


def same_key(left: str, right: str) -> str:
    """An expression: both have the key of one range."""
    return " AND ".join(equal(f"{left}.{name}", f"{right}.{name}") for name in KEY)
