"""What SQLAlchemy's parameters become for the driver."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from collections.abc import Iterable
from typing import Any

from colonnade.types import TextValue

_INT4_LIMIT = 2**31
_INT8_LIMIT = 2**63
_INT4, _INT8, _NUMERIC = 23, 20, 1700
# The types of Python's values, where nothing in the statement says of which type they are.
_OIDS: dict[type, int] = {
    bool: 16,
    bytes: 17,
    float: 701,
    dt.date: 1082,
    dt.time: 1083,
    dt.timedelta: 1186,
    decimal.Decimal: _NUMERIC,
    uuid.UUID: 2950,
}
_TIMESTAMP, _TIMESTAMPTZ = 1114, 1184


def as_parameters(values: Iterable[Any]) -> tuple[Any, ...]:
    """The values, with each text as one that the server reads, whatever its type is."""
    return tuple(TextValue(value) if type(value) is str else value for value in values)


def declared_types(values: Iterable[Any]) -> tuple[int, ...]:
    """The OIDs of the values' own types; 0 where a value has none, as a text."""
    return tuple(_oid(value) for value in values)


def _oid(value: Any) -> int:
    if type(value) is int:
        if -_INT4_LIMIT <= value < _INT4_LIMIT:
            return _INT4
        return _INT8 if -_INT8_LIMIT <= value < _INT8_LIMIT else _NUMERIC
    if type(value) is dt.datetime:
        return _TIMESTAMP if value.tzinfo is None else _TIMESTAMPTZ
    return _OIDS.get(type(value), 0)
