"""The report of another process, as it was read and checked.

The file may come from anyone: its size, its types and its numbers are checked, and characters that
could drive a terminal are escaped, so that users of a `Status` need not think of that.
"""

from __future__ import annotations

import json
import math
import os
import stat
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from colonnade.observe.beat.beat_file import boot_id
from colonnade.observe.status.report import POOLS_MOST, STALLS_MOST, STATEMENTS_MOST, VERSION
from colonnade.observe.visible import visible

if TYPE_CHECKING:
    from pathlib import Path

_BYTES_MOST = 256 * 1024
_CAUSES_MOST = 20
_NUMBER_MOST = 1e15


class StatusError(Exception):
    """A report that cannot be read or believed; the text says why."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a monitor over some time; times in seconds."""

    wall: float
    utilization: float
    lag_p50: float
    lag_p99: float
    lag_max: float
    gc_pauses: int
    gc_time: float
    gc_longest: float
    stalls: dict[str, int]
    stall_time: dict[str, float]


@dataclass(frozen=True, slots=True)
class Loop:
    """An event loop: since the monitor started, and since the report before this one."""

    tasks: int
    stalled: float
    """How long the loop has not answered; 0 if it does."""
    whole: Figures
    recent: Figures


@dataclass(frozen=True, slots=True)
class PastStall:
    """A stall; `started` is a time in UTC as ISO 8601 writes it."""

    cause: str
    duration: float
    started: str
    place: str | None
    task: str | None


@dataclass(frozen=True, slots=True)
class PoolFigures:
    """The state of a pool, and its totals."""

    name: str
    size: int
    busy: int
    idle: int
    waiting: int
    max_size: int
    acquired: int
    waited: int
    wait_max: float
    given_up: int
    refused: int


@dataclass(frozen=True, slots=True)
class StatementFigures:
    """The times of the statements of one summary, in seconds."""

    summary: str
    count: int
    errors: int
    total: float
    max: float


@dataclass(frozen=True, slots=True)
class Status:
    """The report of a process."""

    pid: int
    program: str
    python: str
    interval: float
    age: float
    """Seconds since it was written; infinite if that was on another machine or before a restart."""
    loop: Loop | None
    """None if the monitor was not started."""
    stalls: list[PastStall]
    pools: list[PoolFigures]
    statements: list[StatementFigures]


def read_status(path: Path) -> Status:
    """Read a report.

    Raises StatusError if there is none, if another user wrote it, or if it is no report.
    """
    try:
        raw = json.loads(_content(path), parse_constant=_refuse)
    except OSError as error:
        raise StatusError(f"{visible(str(path))}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise StatusError(f"{visible(str(path))} is not the report of a process") from error
    try:
        return _status(_Part(raw))
    except StatusError as error:
        raise StatusError(f"{visible(str(path))}: {error}") from None


def _content(path: Path) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    with os.fdopen(os.open(path, flags), "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise StatusError(f"{visible(str(path))} is not a regular file")
        # Root may look at everyone's; no one else should believe what a stranger wrote.
        if os.geteuid() not in {0, facts.st_uid}:
            raise StatusError(f"{visible(str(path))} belongs to another user")
        data = file.read(_BYTES_MOST + 1)
    if len(data) > _BYTES_MOST:
        raise StatusError(f"{visible(str(path))} is too large for the report of a process")
    return data


def _refuse(constant: str) -> float:
    raise ValueError(constant)


class _Part:
    """An object of the JSON, whose values are checked as they are taken."""

    def __init__(self, raw: Any) -> None:
        if not isinstance(raw, dict):
            raise StatusError("not the report of a process")
        self._raw = raw

    def number(self, key: str) -> float:
        value = self._raw.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise StatusError(f"{visible(key)} is not a number")
        if not 0 <= value <= _NUMBER_MOST:
            raise StatusError(f"{visible(key)} is out of range")
        return float(value)

    def count(self, key: str) -> int:
        return int(self.number(key))

    def text(self, key: str) -> str:
        value = self._raw.get(key)
        if not isinstance(value, str):
            raise StatusError(f"{key} is not a text")
        return visible(value)

    def text_or_none(self, key: str) -> str | None:
        return None if self._raw.get(key) is None else self.text(key)

    def part(self, key: str) -> _Part:
        return _Part(self._raw.get(key))

    def part_or_none(self, key: str) -> _Part | None:
        return None if self._raw.get(key) is None else self.part(key)

    def parts(self, key: str, most: int) -> list[_Part]:
        value = self._raw.get(key)
        if not isinstance(value, list):
            raise StatusError(f"{key} is not a list")
        return [_Part(raw) for raw in value[:most]]

    def numbers(self, key: str) -> dict[str, float]:
        return self.part(key).all_numbers()

    def all_numbers(self) -> dict[str, float]:
        names = [str(name) for name in self._raw][:_CAUSES_MOST]
        return {visible(name, 40): self.number(name) for name in names}


def _status(part: _Part) -> Status:
    if part.number("version") != VERSION:
        raise StatusError("written by another version of colonnade")
    loop = part.part_or_none("loop")
    age = time.monotonic() - part.number("monotonic")
    is_of_here = part.text("boot") == boot_id()
    return Status(
        pid=part.count("pid"),
        program=part.text("program"),
        python=part.text("python"),
        interval=part.number("interval"),
        age=max(0.0, age) if is_of_here else math.inf,
        loop=None if loop is None else _loop(loop),
        stalls=[_stall(one) for one in part.parts("stalls", STALLS_MOST)],
        pools=[_pool(one) for one in part.parts("pools", POOLS_MOST)],
        statements=[_statement(one) for one in part.parts("statements", STATEMENTS_MOST)],
    )


def _loop(part: _Part) -> Loop:
    whole, recent = _figures(part.part("whole")), _figures(part.part("recent"))
    return Loop(part.count("tasks"), part.number("stalled"), whole, recent)


def _figures(part: _Part) -> Figures:
    return Figures(
        wall=part.number("wall"),
        utilization=min(1.0, part.number("utilization")),
        lag_p50=part.number("lag_p50"),
        lag_p99=part.number("lag_p99"),
        lag_max=part.number("lag_max"),
        gc_pauses=part.count("gc_pauses"),
        gc_time=part.number("gc_time"),
        gc_longest=part.number("gc_longest"),
        stalls={cause: int(count) for cause, count in part.numbers("stalls").items()},
        stall_time=part.numbers("stall_time"),
    )


def _stall(part: _Part) -> PastStall:
    return PastStall(
        cause=part.text("cause"),
        duration=part.number("duration"),
        started=part.text("started"),
        place=part.text_or_none("place"),
        task=part.text_or_none("task"),
    )


def _pool(part: _Part) -> PoolFigures:
    return PoolFigures(
        name=part.text("name"),
        size=part.count("size"),
        busy=part.count("busy"),
        idle=part.count("idle"),
        waiting=part.count("waiting"),
        max_size=part.count("max_size"),
        acquired=part.count("acquired"),
        waited=part.count("waited"),
        wait_max=part.number("wait_max"),
        given_up=part.count("given_up"),
        refused=part.count("refused"),
    )


def _statement(part: _Part) -> StatementFigures:
    return StatementFigures(
        summary=part.text("summary"),
        count=part.count("count"),
        errors=part.count("errors"),
        total=part.number("total"),
        max=part.number("max"),
    )
