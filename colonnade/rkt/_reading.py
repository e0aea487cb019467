"""Converts a column to the values of a field: one function per family of types.

Each function returns a value for every row. Values of NULL rows are arbitrary, because the caller
overwrites them with surrogates.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from colonnade._columns.conversion.numpy import objects, values_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from colonnade.rkt._fields import Part

_DAY_US = 86_400_000_000
_MONTH_DAYS = 30
_UNIT_US = {
    "W": 7 * _DAY_US,
    "D": _DAY_US,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
    "ms": 1_000,
    "us": 1,
    "generic": 1,
}


def stored(part: Part) -> NDArray[Any]:
    """View numbers without a copy; booleans as bytes."""
    values = values_of(part.column)
    return values.view("u1") if values.dtype.kind == "b" else values


def object_values(part: Part) -> NDArray[np.object_]:
    """Return the Python objects that records would contain."""
    return objects(part.batch, part.field.place)


def decimals(part: Part) -> list[Decimal | None]:
    """Convert numerics from text to Decimal; NULL becomes None."""
    texts = part.column.stored_pylist()
    return [None if text is None else Decimal(text) for text in texts]


def text_cells(part: Part) -> NDArray[Any]:
    """Return text in cells of fixed width; a `U` field's column already has them."""
    return values_of(part.column) if part.field.dtype.kind == "U" else byte_cells(part)


def byte_cells(part: Part) -> NDArray[np.bytes_]:
    """Return bytes in cells of fixed width, padded with zeros.

    Raises DTypeError for a value longer than the cell.
    """
    import numpy as np

    width = part.field.dtype.itemsize
    cells = part.column.byte_cells(width)
    if cells is None:
        values = part.column.stored_pylist()
        lengths = (len(value or b"") for value in values)
        row, size = next((row, size) for row, size in enumerate(lengths) if size > width)
        raise part.field.too_long(size, part.first_row + row)
    return np.frombuffer(memoryview(cells), dtype=f"S{width}")


def bits(part: Part) -> NDArray[np.bytes_]:
    """Pack bit strings into bytes; the first bit is the highest of the first byte."""
    return _in_cells(part, [_packed(bits) for bits in part.column.stored_pylist()])


def _packed(bits: str | None) -> bytes:
    if not bits:
        return b""
    size = -(-len(bits) // 8)
    return int(bits.ljust(size * 8, "0"), 2).to_bytes(size, "big")


def _in_cells(part: Part, values: list[bytes]) -> NDArray[np.bytes_]:
    import numpy as np

    width = part.field.dtype.itemsize
    for row, value in enumerate(values):
        if len(value) > width:
            raise part.field.too_long(len(value), part.first_row + row)
    return np.array(values, dtype=f"S{width}")


def uuids(part: Part) -> NDArray[np.bytes_]:
    """Return the 16 bytes of each UUID."""
    return values_of(part.column).view("S16")


def figures(part: Part) -> NDArray[np.void]:
    """Return the coordinates of each geometric value as consecutive float8."""
    import numpy as np

    ((_, floats),) = part.column.parts()
    size = part.field.dtype.itemsize
    values = values_of(floats)
    return np.frombuffer(values.tobytes(), dtype=np.dtype((np.void, size)))


def tids(part: Part) -> NDArray[np.void]:
    """Return each tid as four bytes of block number and two of offset."""
    import numpy as np

    (_, block), (_, offset) = part.column.parts()
    rows = np.empty(len(part.column), dtype=[("block", "u4"), ("offset", "u2")])
    rows["block"] = values_of(block)
    rows["offset"] = values_of(offset)
    return rows.view(np.dtype((np.void, 6)))


def dates(part: Part) -> NDArray[np.int64]:
    """Convert days to the field's unit."""
    import numpy as np

    return _moments(part, values_of(part.column).astype(np.int64), _DAY_US)


def timestamps(part: Part) -> NDArray[np.int64]:
    """Convert microseconds to the field's unit, rounded down."""
    import numpy as np

    return _moments(part, values_of(part.column).view(np.int64), 1)


def times(part: Part) -> NDArray[np.int64]:
    """Convert microseconds since midnight to the field's unit, rounded towards zero."""
    import numpy as np

    return _durations(part, values_of(part.column).view(np.int64))


def times_with_zone(part: Part) -> NDArray[np.int64]:
    """Convert to UTC; the zone can move the result below 0 or past 24 hours."""
    import numpy as np

    (_, time), (_, offset) = part.column.parts()
    east = values_of(offset).astype(np.int64) * 1_000_000
    return _durations(part, values_of(time).view(np.int64) - east)


def intervals(part: Part) -> NDArray[np.int64]:
    """Convert intervals, with months of 30 days and days of 24 hours.

    Raises DecodeError for an interval that does not fit the field.
    """
    import numpy as np

    data = memoryview(part.column.values())
    parts = np.frombuffer(data, dtype=[("months", "i4"), ("days", "i4"), ("ns", "i8")])
    # Neither product nor sum leaves 64 bits: 2**31 months of 30 days are 5.6e15 microseconds.
    days = parts["months"].astype(np.int64) * _MONTH_DAYS + parts["days"]
    whole = days.astype(np.float64) * _DAY_US + parts["ns"] / 1_000
    far = part.first_of(np.abs(whole) >= 2.0**63)
    if far is not None:
        raise part.refused(far, f"is out of range for {part.field.dtype}")
    return _durations(part, days * _DAY_US + parts["ns"] // 1_000)


def _moments(part: Part, counts: NDArray[np.int64], count_us: int) -> NDArray[np.int64]:
    """Convert counts of `count_us` microseconds since 1970 to the field's unit, rounded down."""
    import numpy as np

    unit, multiple = np.datetime_data(part.field.dtype)
    if unit in {"Y", "M"}:
        stored_as = "M8[D]" if count_us == _DAY_US else "M8[us]"
        target = part.field.dtype.newbyteorder("=")
        converted: NDArray[np.int64] = counts.view(stored_as).astype(target).view(np.int64)
        return converted
    if unit == "ns":
        return _finer(part, counts, count_us * 1_000) // multiple
    target_us = _UNIT_US[unit] * multiple
    if target_us % count_us == 0:
        return counts // (target_us // count_us)
    if count_us % target_us == 0:
        return _finer(part, counts, count_us // target_us)
    return _finer(part, counts, count_us) // target_us


def _durations(part: Part, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Convert microseconds to the field's unit, rounded towards zero."""
    import numpy as np

    unit, multiple = np.datetime_data(part.field.dtype)
    if unit == "ns":
        counts, divisor = _finer(part, counts, 1_000), multiple
    else:
        divisor = _UNIT_US[unit] * multiple
    if divisor == 1:
        return counts
    whole = counts // divisor
    # Floor division is one too low for negative counts with a remainder.
    whole += (counts < 0) & (whole * divisor != counts)
    return whole


def _finer(part: Part, counts: NDArray[np.int64], factor: int) -> NDArray[np.int64]:
    """Multiply the counts; raise DecodeError for the first that would overflow 64 bits."""
    import numpy as np

    most = np.iinfo(np.int64).max // factor
    far = part.first_of((counts > most) | (counts < -most))
    if far is not None:
        raise part.refused(far, f"is out of range for {part.field.dtype}")
    return counts * factor
