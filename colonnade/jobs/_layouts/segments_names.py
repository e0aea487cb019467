"""The names of a queue's tables in the layout `segments`, quoted, and how ranges meet jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._quoting import quote_identifier, quote_literal
from colonnade.jobs._layouts.base import equal

if TYPE_CHECKING:
    from colonnade.jobs.definition import Definition

SLOTS = 8
# A range has at most so many jobs, which share a lease, a time and a priority.
RANGE_JOBS = 1000
# What makes a range known: the index has the first three.
KEY = ("job_priority", "job_place", "job_first", "job_add", "job_slot")


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
            f"(SELECT {columns} FROM {self.jobs} AS s"
            f" WHERE {equal('s.job_slot', f'{owner}.job_slot')}"
            f" AND {equal('s.job_add', f'{owner}.job_add')}"
            f" AND s.job_id OPERATOR(pg_catalog.>=) {owner}.job_first"
            f" AND s.job_id OPERATOR(pg_catalog.<=) {owner}.job_last"
            f" AND ({owner}.job_done IS NULL"
            f" OR s.job_id OPERATOR(pg_catalog.<>) ALL ({owner}.job_done))"
            " ORDER BY s.job_id)"
        )


def chunk_of(window: str) -> str:
    """An expression: the number of a job's range, of the ranges that are made of a window."""
    return (
        f"(pg_catalog.row_number() OVER ({window}) OPERATOR(pg_catalog.-) 1)"
        f" OPERATOR(pg_catalog./) {RANGE_JOBS}"
    )


def same(left: str, right: str) -> str:
    """An expression: both are one range."""
    return " AND ".join(equal(f"{left}.{name}", f"{right}.{name}") for name in KEY)
