"""The ring of slots: where jobs are added now, and when a slot is emptied.

A slot is truncated only while it has no ranges, which is seen by a statement that begins after the
lock is held; every adder to a slot holds a lock on it until the transaction ends. So it does not
matter if an adder has read the ring before it turned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from colonnade._driver.sql.quoting import quote_literal
from colonnade.jobs._layouts.base import Chore, equal
from colonnade.jobs._layouts.segments_names import SLOTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade.jobs._layouts.segments_names import Names

# The ring turns when its slot has this many bytes of jobs, or of ranges: `get` steps over the dead
# ones among them while a snapshot is held.
_JOBS_BYTES = 64 << 20
_RANGES_BYTES = 1 << 20
# Also when all jobs of the slot are done, and it has not turned for this time.
_IDLE_S = 60.0
# A truncation lets others wait no longer than this.
_LOCK_MS = 20
# An empty table has the first page of its index, and of that of its large values.
_EMPTY_BYTES = 2 * 8192


class Ring:
    """The statements of one queue's ring."""

    def __init__(self, names: Names) -> None:
        self._names = names
        listed = ", ".join(
            f"({number}, {quote_literal(names.slot(number))}::pg_catalog.regclass,"
            f" {quote_literal(names.slot_ranges(number))}::pg_catalog.regclass)"
            for number in range(SLOTS)
        )
        self.look = (
            "SELECT v.number, ring.slot, pg_catalog.pg_total_relation_size(v.jobs),"
            " pg_catalog.pg_relation_size(v.ranges),"
            f" EXISTS (SELECT FROM {names.ranges} AS r"
            f" WHERE {equal('r.job_slot', 'v.number')}),"
            " pg_catalog.date_part('epoch', pg_catalog.statement_timestamp()"
            " OPERATOR(pg_catalog.-) ring.turned_at)"
            f" FROM (VALUES {listed}) AS v (number, jobs, ranges)"
            f" CROSS JOIN {names.ring} AS ring ORDER BY v.number"
        )

    def chores(self, state: Sequence[Sequence[Any]]) -> list[Chore]:
        """The truncations and the turn that are due."""
        slots = [_Slot(*row) for row in state]
        current = slots[slots[0].current]
        following = slots[(current.number + 1) % SLOTS]
        chores = [
            self._truncation(slot.number)
            for slot in slots
            if slot is not current and slot.has_bytes and not slot.has_ranges
        ]
        if current.is_due and not (following.has_bytes or following.has_ranges):
            chores.append(self._turn(current.number, following.number))
        return chores

    def _truncation(self, number: int) -> Chore:
        jobs, ranges = self._names.slot(number), self._names.slot_ranges(number)
        return Chore(
            subject=jobs,
            lock=(
                f"SET LOCAL lock_timeout = {_LOCK_MS};"
                f" LOCK TABLE {jobs}, {ranges} IN ACCESS EXCLUSIVE MODE"
            ),
            check=(
                f"SELECT NOT EXISTS (SELECT FROM {self._names.ranges}"
                f" WHERE {equal('job_slot', str(number))})"
            ),
            act=f"TRUNCATE {jobs}, {ranges}",
        )

    def _turn(self, number: int, following: int) -> Chore:
        ring = self._names.ring
        return Chore(
            subject=ring,
            lock=(
                f"UPDATE {ring} SET slot = {following}, turned_at = pg_catalog.now()"
                " WHERE ctid OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT ctid FROM"
                f" {ring} WHERE {equal('slot', str(number))} FOR UPDATE SKIP LOCKED))"
            ),
        )


class _Slot(NamedTuple):
    """The state of a slot, as `look` tells it."""

    number: int
    current: int
    jobs_bytes: int
    ranges_bytes: int
    has_ranges: bool
    age_s: float

    @property
    def has_bytes(self) -> bool:
        """Whether there is something to truncate."""
        return self.jobs_bytes > _EMPTY_BYTES or self.ranges_bytes > 0

    @property
    def is_due(self) -> bool:
        """Whether the ring should turn, if this is the current slot."""
        return (
            self.jobs_bytes >= _JOBS_BYTES
            or self.ranges_bytes >= _RANGES_BYTES
            or (self.has_bytes and not self.has_ranges and self.age_s >= _IDLE_S)
        )
