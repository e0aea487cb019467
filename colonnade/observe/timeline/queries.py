"""The queries of a trace, and the parts of a lane's waits that are their phases."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING

from colonnade.observe.timeline.kinds import KINDS, NETWORK, SERVER, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from colonnade.observe.timeline.native import Recorder
    from colonnade.tracing import Attribute

    Row = tuple[int, int, int]

# The order in which a query goes through its phases: the tracer's attribute, and our kind. The
# wait for a connection comes before the query.
_PHASES = (
    ("colonnade.prepare", KINDS.index("prepare")),
    ("colonnade.send", KINDS.index("send")),
    ("colonnade.server_wait", SERVER),
    ("colonnade.transfer", KINDS.index("transfer")),
    ("colonnade.decode", KINDS.index("decode")),
    ("colonnade.loop_delay", KINDS.index("loop_delay")),
)
# Phases that add up to less than this part of the query's time leave out time between its calls.
_WHOLE = 0.8
# Waits that a query may explain. A stream's caller may sleep, or wait for others, meanwhile.
_EXPLAINED = {SERVER, NETWORK, UNKNOWN}


@dataclasses.dataclass(frozen=True, slots=True)
class Query:
    """One query of a lane: its times and the durations of its phases, in nanoseconds."""

    lane: int
    name: str
    start: int
    end: int
    phases: tuple[tuple[int, int], ...]
    has_failed: bool = False
    """Then the phases may lack the one that was under way as the caller gave up."""


class QueryTracer:
    """A `colonnade.tracing.Tracer` that keeps the phases of the queries of one loop."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        recorder: Recorder,
        limit: int,
        lane_of: Callable[[], int | None],
    ) -> None:
        self._loop = loop
        self._recorder = recorder
        self._limit = limit
        self._lane_of = lane_of
        self.queries: list[Query] = []
        self.dropped = 0

    def query_started(
        self, name: str, attributes: Mapping[str, Attribute]
    ) -> tuple[int, str, int] | None:
        """Note when a query begins; None if it is of another loop or thread."""
        del attributes
        if asyncio._get_running_loop() is not self._loop:  # noqa: SLF001 - None instead of an error
            return None
        lane = self._lane_of()
        return None if lane is None else (lane, name, self._recorder.now())

    def query_ended(
        self,
        span: tuple[int, str, int] | None,
        attributes: Mapping[str, Attribute],
        error: BaseException | None,
    ) -> None:
        """Keep the query's phases."""
        if span is None or not self._recorder.is_on:
            return
        # Beyond the limit there are no waits that they could explain.
        if self._recorder.is_full or len(self.queries) >= self._limit:
            self.dropped += 1
            return
        lane, name, start = span
        phases = tuple((kind, int(float(attributes.get(key, 0.0)) * 1e9)) for key, kind in _PHASES)
        now = self._recorder.now()
        self.queries.append(Query(lane, name, start, now, phases, error is not None))


def split_by_phases(rows: list[Row], queries: Iterable[Query]) -> list[Row]:
    """The rows (kind, start, end) of one lane, in order; its queries' waits are cut into phases."""
    for query in sorted(queries, key=lambda query: query.end):
        within = [
            row
            for row in rows
            if row[0] in _EXPLAINED and row[1] >= query.start and row[2] <= query.end
        ]
        if within:
            kept = set(within)
            phases = _laid_out(query, within)
            cut = [part for row in within for part in _cut(row, phases)]
            rows = sorted([*(row for row in rows if row not in kept), *cut], key=_start)
    return rows


def _start(row: Row) -> int:
    return row[1]


def _laid_out(query: Query, waits: list[Row]) -> list[Row]:
    """The phases as intervals."""
    total = sum(duration for _, duration in query.phases)
    first_begins, last_ends = waits[0][1], waits[-1][2]
    if total >= _WHOLE * (last_ends - query.start):
        # They begin before the first wait and end after the last one, both within the query. That
        # leaves some microseconds of play; their middle is wrong by half of them at most.
        earliest = max(last_ends, query.start + total)
        latest = max(earliest, min(query.end, first_begins + total))
        return _in_a_row(query.phases, (earliest + latest) // 2 - total)
    # The caller did other things between parts of the answer: its waits are all the time there is.
    waited = sum(stop - start for _, start, stop in waits)
    scale = waited / total if total else 0.0
    if query.has_failed:
        # The time that the phases leave was for the server, which had not answered yet.
        scale = min(1.0, scale)
    scaled = tuple((kind, int(duration * scale)) for kind, duration in query.phases)
    return _spread(_in_a_row(scaled, 0), waits)


def _in_a_row(phases: tuple[tuple[int, int], ...], start: int) -> list[Row]:
    rows: list[Row] = []
    for kind, duration in phases:
        rows.append((kind, start, start + duration))
        start += duration
    return rows


def _spread(phases: list[Row], waits: list[Row]) -> list[Row]:
    """Phases on an axis of waits only, put back onto the axis of time."""
    rows: list[Row] = []
    before = 0
    for _, start, end in waits:
        shift = start - before
        last = before + end - start
        rows += [
            (kind, max(begin, before) + shift, min(stop, last) + shift)
            for kind, begin, stop in phases
            if begin < last and stop > before
        ]
        before = last
    return rows


def _cut(wait: Row, phases: list[Row]) -> list[Row]:
    """A wait in parts, each of the phase at its time; the rest was for the server."""
    kind, start, end = wait
    parts: list[Row] = []
    for phase, begin, stop in phases:
        begin, stop = max(begin, start), min(stop, end)  # noqa: PLW2901 - clipped to the wait
        if begin >= stop:
            continue
        if begin > start:
            parts.append((SERVER, start, begin))
        parts.append((phase, begin, stop))
        start = stop
    if start < end:
        parts.append((SERVER if parts or kind == UNKNOWN else kind, start, end))
    return parts
