"""The values of a column as pyarrow has them, and the same values read from text.

Dates and times are the numbers that Arrow stores, so that none lies beyond Python's calendar. Text
of them is read by NumPy.
"""

from __future__ import annotations

import base64
import json
import math
import re
import struct
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from colonnade.columns import Columns

_INTERVAL = re.compile(
    r"P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)D)?"
    r"(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?)(\d+)(?:\.(\d{1,9}))?S)?)?"
)
_CLOCK = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?")


def stored(columns: Columns) -> tuple[pa.DataType, list[Any]]:
    """The first column's Arrow type, and its values."""
    array = pa.table(columns)[0]
    return array.type, [_of_scalar(scalar) for scalar in array]


def _of_scalar(scalar: Any) -> Any:
    kind = scalar.type
    if not scalar.is_valid:
        return None
    if isinstance(kind, pa.JsonType):
        return json.loads(scalar.value.as_py())
    if isinstance(kind, pa.UuidType):
        return uuid.UUID(bytes=scalar.value.as_py())
    if isinstance(kind, pa.BaseExtensionType) or pa.types.is_dictionary(kind):
        return _of_scalar(scalar.value)
    if pa.types.is_map(kind):
        return dict(scalar.as_py())
    if isinstance(scalar, (pa.ListScalar, pa.LargeListScalar, pa.FixedSizeListScalar)):
        return [_of_scalar(item) for item in scalar.values]
    if pa.types.is_struct(kind):
        return {name: _of_scalar(member) for name, member in scalar.items()}
    if pa.types.is_interval(kind):
        return tuple(scalar.value)
    if pa.types.is_temporal(kind):
        return scalar.value
    if pa.types.is_floating(kind):
        return _bits(scalar.as_py())
    return scalar.as_py()


def _bits(number: float) -> bytes | str:
    """A number such that -0.0 is not 0.0, and NaN equals itself."""
    return "NaN" if math.isnan(number) else struct.pack("<d", number)


def read(value: Any, kind: pa.DataType) -> Any:
    """A value of JSON, or the text of a CSV cell, as the value of that Arrow type."""
    if value is None:
        return None
    if isinstance(kind, pa.JsonType):
        return value
    if isinstance(kind, pa.UuidType):
        return uuid.UUID(value)
    if isinstance(kind, pa.BaseExtensionType):
        return read(value, kind.storage_type)
    if pa.types.is_dictionary(kind):
        return read(value, kind.value_type)
    if pa.types.is_map(kind):
        return {name: read(member, kind.item_type) for name, member in value.items()}
    if pa.types.is_nested(kind):
        if not pa.types.is_struct(kind):
            return [read(item, kind.value_type) for item in value]
        assert list(value) == [field.name for field in kind]
        return {field.name: read(value[field.name], field.type) for field in kind}
    return _read_scalar(value, kind)


def _read_scalar(value: Any, kind: pa.DataType) -> Any:
    if pa.types.is_boolean(kind):
        return {"true": True, "false": False}.get(value, value)
    if pa.types.is_integer(kind):
        # A double holds each number; all others are text.
        assert isinstance(value, str) or abs(value) < 2**53
        return int(value)
    if pa.types.is_float32(kind):
        return _bits(float(np.float32(value)))
    if pa.types.is_floating(kind):
        return _bits(float(value))
    if pa.types.is_decimal(kind):
        assert isinstance(value, str)
        number = Decimal(value)
        assert number.as_tuple().exponent == -kind.scale
        return number
    if pa.types.is_binary(kind):
        return base64.b64decode(value, validate=True)
    if pa.types.is_date(kind):
        return int(np.datetime64(value, "D").astype("int64"))
    if pa.types.is_time(kind):
        return _clock_us(value)
    if pa.types.is_timestamp(kind):
        assert value.endswith("Z") == (kind.tz is not None)
        return int(np.datetime64(value.removesuffix("Z"), kind.unit).astype("int64"))
    if pa.types.is_interval(kind):
        return _interval(value)
    assert pa.types.is_string(kind) or pa.types.is_large_string(kind), kind
    return value


def read_cell(cell: str, kind: pa.DataType) -> Any:
    """The value of a CSV cell that is not NULL: nested values and JSON are JSON text."""
    is_json = isinstance(kind, pa.JsonType) or pa.types.is_nested(kind)
    return read(json.loads(cell) if is_json else cell, kind)


def _clock_us(text: str) -> int:
    match = _CLOCK.fullmatch(text)
    assert match, text
    hours, minutes, seconds, fraction = match.groups()
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    return whole * 1_000_000 + int((fraction or "").ljust(6, "0"))


def _interval(text: str) -> tuple[int, int, int]:
    match = _INTERVAL.fullmatch(text)
    assert match, text
    assert text[-1] not in "PT"
    years, months, days, hours, minutes, sign, seconds, fraction = match.groups("0")
    nanos = int(seconds) * 10**9 + int(fraction.ljust(9, "0"))
    nanos = -nanos if sign == "-" else nanos
    clock = (int(hours) * 60 + int(minutes)) * 60 * 10**9 + nanos
    return int(years) * 12 + int(months), int(days), clock
