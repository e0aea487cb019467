"""Converts values of rows and of other libraries to one form for comparison."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa

import colonnade

_ADDRESSES = (ipaddress.IPv4Address, ipaddress.IPv6Address)
_NETWORKS = (ipaddress.IPv4Network, ipaddress.IPv6Network)


def of_row(value: Any) -> Any:
    """The column's form of a row's value: text, numbers, lists and dictionaries."""
    if isinstance(value, colonnade.Range):
        return {
            "lower": of_row(value.lower),
            "upper": of_row(value.upper),
            "lower_inc": value.lower_inc,
            "upper_inc": value.upper_inc,
            "empty": value.isempty,
        }
    if isinstance(value, colonnade.BitString):
        return value.as_string().replace(" ", "")
    if isinstance(value, (*_ADDRESSES, *_NETWORKS)):
        return str(value)
    if isinstance(value, time) and value.tzinfo is not None:
        offset = value.utcoffset()
        assert offset is not None
        return {"time": value.replace(tzinfo=None), "offset": int(offset.total_seconds())}
    if isinstance(value, colonnade.Polygon):
        return [list(point) for point in value]
    if isinstance(value, colonnade.Path):
        return {"is_closed": value.is_closed, "points": [list(point) for point in value]}
    if isinstance(value, (colonnade.Point, colonnade.Box, colonnade.Line)):
        return _flat(value)
    if isinstance(value, (colonnade.LineSegment, colonnade.Circle)):
        return _flat(value)
    if isinstance(value, colonnade.Record):
        return {name: of_row(field) for name, field in value.items()}
    if isinstance(value, list):
        return [of_row(element) for element in value]
    return value


def _flat(figure: Any) -> list[float]:
    return [n for part in figure for n in (part if isinstance(part, tuple) else (part,))]


def unified(given: Any, want: Any) -> Any:
    """A library's value in the form of the expected one."""
    if want is None:
        return None if _is_missing(given) else given
    if isinstance(want, list):
        shown = given.to_list() if hasattr(given, "to_list") else list(given)
        if len(shown) != len(want):
            return shown
        return [unified(value, wanted) for value, wanted in zip(shown, want, strict=True)]
    if isinstance(want, dict):
        return _unified_dict(given, want)
    if isinstance(given, np.generic):
        given = given.item()
    if isinstance(given, pa.lib.MonthDayNano):
        assert given.months == 0
        return timedelta(days=given.days, microseconds=given.nanoseconds // 1000)
    if isinstance(want, UUID) and isinstance(given, bytes):
        return UUID(bytes=given)
    return _unified_moment(given, want)


def _unified_dict(given: Any, want: dict[str, Any]) -> Any:
    if isinstance(given, (np.void, np.ma.core.mvoid)):
        given = {name: given[name] for name in given.dtype.names or ()}
    if isinstance(given, colonnade.Range | colonnade.Record) or not isinstance(given, Mapping):
        given = of_row(given)
    if not isinstance(given, Mapping) or given.keys() != want.keys():
        return given
    return {name: unified(given[name], wanted) for name, wanted in want.items()}


def _unified_moment(given: Any, want: Any) -> Any:
    if isinstance(want, time) and isinstance(given, timedelta):
        return (datetime(2000, 1, 1) + given).time()
    if isinstance(want, datetime) and isinstance(given, datetime):
        plain = given.to_pydatetime() if isinstance(given, pd.Timestamp) else given
        if plain.tzinfo is not None:
            return plain.astimezone(UTC)
        return plain.replace(tzinfo=want.tzinfo)
    if isinstance(want, date) and isinstance(given, datetime):
        return given.date()
    return given.to_pytimedelta() if isinstance(given, pd.Timedelta) else of_row(given)


def _is_missing(given: Any) -> bool:
    if given is None or given is np.ma.masked:
        return True
    if isinstance(given, np.ma.core.mvoid):
        mask: Any = given.mask
        return all(bool(mask[name]) for name in given.dtype.names or ())
    if isinstance(given, np.ndarray):
        return bool(given.dtype.kind == "f" and np.isnan(given).all())
    return bool(np.ndim(given) == 0 and pd.isna(given))
