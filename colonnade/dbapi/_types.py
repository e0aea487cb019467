"""PEP 249's type objects and its constructors of values."""

from __future__ import annotations

import datetime as dt
from typing import Any

from colonnade._words.type_facts import NUMBERS, OIDS, TIMES

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Date",
    "DateFromTicks",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "TypeObject",
]


class TypeObject:
    """A group of types, such as NUMBER; it compares equal to the OID of each of them."""

    __slots__ = ("_name", "_oids")

    def __init__(self, name: str, *types: str) -> None:
        self._name = name
        self._oids = frozenset(OIDS[name] for name in types)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int):
            return other in self._oids
        return self is other

    def __hash__(self) -> int:
        return hash(self._oids)

    def __repr__(self) -> str:
        """The expression that names the object."""
        return f"colonnade.dbapi.{self._name}"


STRING = TypeObject("STRING", "text", "varchar", "bpchar", "name", "char")
BINARY = TypeObject("BINARY", "bytea")
NUMBER = TypeObject("NUMBER", *NUMBERS)
DATETIME = TypeObject("DATETIME", *TIMES)
ROWID = TypeObject("ROWID", "oid")

Date = dt.date
Time = dt.time
Timestamp = dt.datetime


def DateFromTicks(ticks: float) -> dt.date:  # noqa: N802 - PEP 249's name
    """Return the local date of a POSIX timestamp in seconds."""
    return TimestampFromTicks(ticks).date()


def TimeFromTicks(ticks: float) -> dt.time:  # noqa: N802 - PEP 249's name
    """Return the local time of day of a POSIX timestamp in seconds, without a time zone."""
    return TimestampFromTicks(ticks).time()


def TimestampFromTicks(ticks: float) -> dt.datetime:  # noqa: N802 - PEP 249's name
    """Return the local date and time of a POSIX timestamp in seconds, with the local time zone."""
    return dt.datetime.fromtimestamp(ticks, tz=dt.UTC).astimezone()


def Binary(data: Any) -> bytes:  # noqa: N802 - PEP 249's name
    """Convert a bytes-like object to bytes, to be sent as `bytea`."""
    return bytes(data)
