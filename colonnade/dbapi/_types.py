"""PEP 249's objects for types and its constructors of values."""

from __future__ import annotations

import datetime as dt
from typing import Any

from colonnade._pep249.oids import OIDS

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
    """Equals the type codes (OIDs) of a kind of columns."""

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
        """As it is written."""
        return f"colonnade.dbapi.{self._name}"


STRING = TypeObject("STRING", "text", "varchar", "bpchar", "name", "char")
BINARY = TypeObject("BINARY", "bytea")
NUMBER = TypeObject("NUMBER", "int2", "int4", "int8", "float4", "float8", "numeric")
DATETIME = TypeObject("DATETIME", "timestamp", "timestamptz", "date", "time", "timetz", "interval")
ROWID = TypeObject("ROWID", "oid")

Date = dt.date
Time = dt.time
Timestamp = dt.datetime


def DateFromTicks(ticks: float) -> dt.date:  # noqa: N802 - PEP 249's name
    """The local date at so many seconds since the epoch."""
    return TimestampFromTicks(ticks).date()


def TimeFromTicks(ticks: float) -> dt.time:  # noqa: N802 - PEP 249's name
    """The local time of the day at so many seconds since the epoch."""
    return TimestampFromTicks(ticks).time()


def TimestampFromTicks(ticks: float) -> dt.datetime:  # noqa: N802 - PEP 249's name
    """The local time at so many seconds since the epoch, with its time zone."""
    return dt.datetime.fromtimestamp(ticks, tz=dt.UTC).astimezone()


def Binary(data: Any) -> bytes:  # noqa: N802 - PEP 249's name
    """Bytes, from anything that has some."""
    return bytes(data)
