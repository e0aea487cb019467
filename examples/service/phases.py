"""The phases of a request: its queries in theirs, and the parts that handlers name.

Every request pays for its notes, so they are raw; they are laid out for the few that are shown.
"""

from __future__ import annotations

import contextlib
import contextvars
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

_PARTS_MAX = 64
#: Shorter ones cannot be seen.
_SECONDS_MIN = 20e-6
_PHASES = ("prepare", "send", "server_wait", "transfer", "decode", "loop_delay")
_TABLE = re.compile(r"\bFROM\s+(\w+)", re.IGNORECASE)


class Part(NamedTuple):
    """A part that a handler named, or a wait for a connection."""

    phase: str
    began: float
    ended: float


class QueryNote(NamedTuple):
    """A query, as the driver told of it at its end."""

    text: str
    ended: float
    attributes: Mapping[str, Any]


Note: TypeAlias = Part | QueryNote


class Span(NamedTuple):
    """A piece of a request's time, for a picture; in seconds since the request began."""

    lane: int
    """0 for what handlers name; queries that run at the same time have lanes of their own."""
    phase: str
    name: str
    start: float
    seconds: float


@dataclass(slots=True)
class Work:
    """The notes of one request."""

    began: float = field(default_factory=time.perf_counter)
    notes: list[Note] = field(default_factory=list)

    def add(self, note: Note) -> None:
        """Keep a note, unless there are too many."""
        if len(self.notes) < _PARTS_MAX:
            self.notes.append(note)


#: The notes of the request that the current task serves.
current: contextvars.ContextVar[Work | None] = contextvars.ContextVar("work", default=None)


@contextlib.contextmanager
def phase(name: str) -> Generator[None]:
    """Name what the request does in the block."""
    work = current.get()
    began = time.perf_counter()
    try:
        yield
    finally:
        if work is not None:
            work.add(Part(name, began, time.perf_counter()))


class PhaseTracer:
    """Notes the queries of requests, and their waits for a connection.

    `tracing.add_tracer` and `tracing.add_pool_observer` take it.
    """

    def query_started(self, name: str, attributes: Mapping[str, Any]) -> tuple[Work, str] | None:
        """Keep whose query it is."""
        del name
        work = current.get()
        return None if work is None else (work, str(attributes["db.query.text"]))

    def query_ended(
        self,
        span: tuple[Work, str] | None,
        attributes: Mapping[str, Any],
        error: BaseException | None,
    ) -> None:
        """Note its phases."""
        if span is not None and error is None:
            work, text = span
            work.add(QueryNote(text, time.perf_counter(), attributes))

    def pool_event(self, pool: Any, event: str, seconds: float) -> None:
        """Note a wait."""
        del pool
        work = current.get() if event in {"acquired", "timed_out"} else None
        if work is not None and seconds >= _SECONDS_MIN:
            now = time.perf_counter()
            work.add(Part("pool_wait", now - seconds, now))


def spans_of(work: Work) -> list[Span]:
    """The notes laid out in lanes, the earliest first."""
    named = [note for note in work.notes if isinstance(note, Part) and note.phase != "pool_wait"]
    spans = [
        Span(0, part.phase, "", part.began - work.began, part.ended - part.began) for part in named
    ]
    runs = [_run_of(note, work.began) for note in work.notes if note not in named]
    ends: list[float] = []
    for run in sorted((run for run in runs if run), key=lambda run: run[0].start):
        start, end = run[0].start, run[-1].start + run[-1].seconds
        lane = next((n for n, free in enumerate(ends) if free <= start + _SECONDS_MIN), len(ends))
        ends[lane : lane + 1] = [end]
        spans += [span._replace(lane=lane + 1) for span in run]
    return spans


def _run_of(note: Note, began: float) -> list[Span]:
    """A wait, or the phases of a query one after the other."""
    if isinstance(note, Part):
        return [Span(0, note.phase, "", note.began - began, note.ended - note.began)]
    table = _TABLE.search(note.text)
    name = table[1] if table else "query"
    lengths = [(one, float(note.attributes.get(f"colonnade.{one}", 0.0))) for one in _PHASES]
    start = note.ended - began - sum(seconds for _, seconds in lengths)
    run = []
    for one, seconds in lengths:
        if seconds >= _SECONDS_MIN:
            run.append(Span(0, one, name, start, seconds))
        start += seconds
    return run
