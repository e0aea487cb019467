"""The conversion of a column to a field of a structured array: one function per pair of kinds.

Each function converts the whole column. A value that the field cannot hold raises an error that
names column and row. Only a float field that the caller asks for may round (numeric or float8); no
value wraps around or is cut off, and no NULL is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from colonnade._columns.conversion.kinds import Kind
from colonnade._columns.conversion.numpy import (
    array_of,
    dates,
    null_mask,
    objects,
    stored_values,
    texts,
    times,
)
from colonnade._columns.conversion.values import python_values
from colonnade._words.shown import shown
from colonnade.errors import DecodeError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from colonnade._core import Batch

    Fill = Callable[["Target"], Any]


class Target:
    """A field to fill, and the column that it is filled from."""

    def __init__(
        self, batch: Batch, index: int, name: str, dtype: np.dtype[Any], fill: Fill
    ) -> None:
        self.batch = batch
        self.index = index
        self.name = name
        self.dtype = dtype
        self._fill = fill
        self._replacement: Any = None
        if dtype.kind in "mM" and _unit(dtype) == "generic":
            raise SchemaError(f'the field "{name}" needs a unit, as in {dtype.kind}8[us]')

    def replace_null_by(self, value: Any) -> None:
        """Store `value` for NULL. Raises SchemaError if the field cannot hold it exactly."""
        import numpy as np

        if self.dtype.kind == "O":
            self._replacement = value
            return
        holder = np.zeros(1, dtype=self.dtype)
        try:
            holder[0] = value
            is_held = bool(np.all(_same(holder[0], value)))
        except (TypeError, ValueError, OverflowError):
            is_held = False
        if not is_held:
            raise SchemaError(
                f'null={{"{self.name}": {shown(value)}}} does not fit into {self.dtype}'
            )
        self._replacement = holder[0]

    def values(self) -> NDArray[Any]:
        """Return the field's value of every row. Raises DecodeError for one that does not fit."""
        import numpy as np

        nulls = null_mask(self.batch, self.index)
        # A subarray field is filled element by element.
        dtype = self.dtype.base
        if nulls is not None and self._replacement is None and dtype.kind not in "fmMO":
            raise self.refused(
                int(nulls.argmax()),
                f"{self.dtype} cannot hold NULL: give a value for it in null={{...}}, or give the "
                "field a dtype that can hold it (object, a float, datetime64, timedelta64)",
            )
        filled = self._fill(self)
        if nulls is None:
            return np.asarray(filled, dtype=dtype)
        # A copy, because the column's own memory must not change.
        field = np.array(filled, dtype=dtype)
        missing = {"f": "nan", "m": "NaT", "M": "NaT"}.get(dtype.kind)
        field[nulls] = missing if self._replacement is None else self._replacement
        return field

    def refuse_first(self, bad: NDArray[np.bool_], values: Any) -> None:
        """Raise DecodeError for the first row that is marked in `bad` and is not NULL."""
        nulls = null_mask(self.batch, self.index)
        if nulls is not None:
            bad = bad & ~nulls
        if bad.any():
            row = int(bad.argmax())
            raise self.refused(row, f"{values[row]} does not fit into {self.dtype}")

    def refused(self, row: int, reason: str) -> DecodeError:
        """Return the error for the value of a row."""
        field = self.batch.fields[self.index]
        return DecodeError(field.name, field.type_name, row, reason)


def _same(held: Any, value: Any) -> Any:
    """Return whether both are equal, or both NaN or NaT, which do not equal themselves."""
    return (held == value) | ((held != held) & (value != value))  # noqa: PLR0124


def _unit(dtype: np.dtype[Any]) -> str:
    import numpy as np

    return np.datetime_data(dtype)[0]


def _objects(target: Target) -> Any:
    return objects(target.batch, target.index)


def _as_stored(target: Target) -> Any:
    return stored_values(target.batch, target.index)


def _int_to_int(target: Target) -> Any:
    import numpy as np

    values = _as_stored(target)
    limits, stored = np.iinfo(target.dtype), np.iinfo(values.dtype)
    bad = np.zeros(len(values), dtype=np.bool_)
    # Compare only with limits within the stored type's range: NumPy cannot represent the others.
    if limits.min > stored.min:
        bad |= values < limits.min
    if limits.max < stored.max:
        bad |= values > limits.max
    target.refuse_first(bad, values)
    return values


def _int_to_float(target: Target) -> Any:
    import numpy as np

    values = _as_stored(target)
    exact = 2 ** (np.finfo(target.dtype).nmant + 1)
    if exact > np.iinfo(values.dtype).max:
        return values
    beyond = values > exact
    if values.dtype.kind == "i":
        beyond |= values < -exact
    rounded = np.zeros(len(values), dtype=np.bool_)
    with np.errstate(over="ignore"):
        converted = values.astype(target.dtype)
    for row in np.flatnonzero(beyond):
        # Python compares integers with floats exactly, even with infinities.
        rounded[row] = int(values[row]) != float(converted[row])
    target.refuse_first(rounded, values)
    return converted


def _float_to_float(target: Target) -> Any:
    import numpy as np

    values = _as_stored(target)
    with np.errstate(over="ignore"):
        converted = values.astype(target.dtype)
    became_infinite = np.asarray(np.isinf(converted) & ~np.isinf(values))
    target.refuse_first(became_infinite, values)
    return converted


def _vectors(target: Target) -> Any:
    import numpy as np

    values = array_of(target.batch.column(target.index))
    with np.errstate(over="ignore"):
        converted = values.astype(target.dtype.base)
    became_infinite = np.isinf(converted) & ~np.isinf(values)
    target.refuse_first(np.asarray(became_infinite.any(axis=1)), values)
    return converted


def _decimal_to_float(target: Target) -> Any:
    import numpy as np

    values = python_values(target.batch, target.index)
    with np.errstate(over="ignore"):
        doubles = np.array([0.0 if value is None else float(value) for value in values], "f8")
        converted = doubles.astype(target.dtype)
    # Decimals of a column are finite, so an infinity means overflow.
    target.refuse_first(np.isinf(converted), values)
    return converted


def _decimal_to_int(target: Target) -> Any:
    import numpy as np

    limits = np.iinfo(target.dtype)
    integers = []
    for row, value in enumerate(python_values(target.batch, target.index)):
        integer = 0 if value is None else int(value)
        if value is not None and (integer != value or not limits.min <= integer <= limits.max):
            raise target.refused(row, f"{value} does not fit into {target.dtype}")
        integers.append(integer)
    return np.array(integers, dtype=target.dtype)


def _dates(target: Target) -> Any:
    return _to_unit(target, dates(target.batch, target.index, "D"))


def _times(target: Target) -> Any:
    return _to_unit(target, times(target.batch, target.index))


def _stored_to_unit(target: Target) -> Any:
    return _to_unit(target, _as_stored(target))


def _to_unit(target: Target, values: NDArray[Any]) -> Any:
    """Convert to the field's unit. Raises DecodeError for a value that it cannot hold exactly."""
    import numpy as np

    try:
        converted = values.astype(target.dtype)
        bad = (converted.astype(values.dtype) != values) & ~np.isnat(values)
    except OverflowError as error:
        raise DecodeError(
            target.name,
            target.batch.fields[target.index].type_name,
            _overflowing(target, values),
            f"is out of range for {target.dtype}",
        ) from error
    target.refuse_first(bad, values)
    return converted


def _overflowing(target: Target, values: NDArray[Any]) -> int:
    for row, value in enumerate(values):
        try:
            value.astype(target.dtype)
        except OverflowError:
            return row
    return 0


def _packed(target: Target) -> Any:
    """Pack all texts into fixed-width cells; None if one does not fit.

    The caller's slower way then raises the error that names the row.
    """
    import numpy as np

    size = target.dtype.itemsize
    if target.dtype.byteorder == ">" or size == 0:
        return None
    cells = target.batch.column(target.index).text_cells(target.dtype.kind, size)
    return None if cells is None else np.frombuffer(memoryview(cells), dtype=target.dtype)


def _text(target: Target) -> Any:
    packed = _packed(target)
    if packed is not None:
        return packed
    width = target.dtype.itemsize // 4
    return _fixed_width(target, list(texts(target.batch, target.index)), "", "characters", width)


def _text_bytes(target: Target) -> Any:
    packed = _packed(target)
    if packed is not None:
        return packed
    values = texts(target.batch, target.index)
    encoded = [None if value is None else value.encode() for value in values]
    return _fixed_width(target, encoded, b"", "bytes in UTF-8", target.dtype.itemsize)


def _cells(target: Target) -> Any:
    if stored_values(target.batch, target.index).dtype == target.dtype:
        return _as_stored(target)
    if target.batch.fields[target.index].type_name == "bytea":
        return _bytes(target) if target.dtype.kind == "S" else _refuse_bytes(target)
    return _text(target) if target.dtype.kind == "U" else _text_bytes(target)


def _refuse_bytes(target: Target) -> NoReturn:
    raise SchemaError(f'column "{target.name}" (bytea) cannot become {target.dtype}')


def _bytes(target: Target) -> Any:
    values = python_values(target.batch, target.index)
    for row, value in enumerate(values):
        if value is not None and value.endswith(b"\0"):
            raise target.refused(
                row,
                "NumPy's S drops zero bytes at the end of the value: use object or V",
            )
    return _fixed_width(target, values, b"", "bytes", target.dtype.itemsize)


def _fixed_width(target: Target, values: list[Any], empty: Any, unit: str, width: int) -> Any:
    import numpy as np

    filled = [empty if value is None else value for value in values]
    if filled and max(map(len, filled)) > width:
        row = next(row for row, value in enumerate(filled) if len(value) > width)
        raise target.refused(row, f"{len(filled[row])} {unit} do not fit into {target.dtype}")
    return np.array(filled, dtype=target.dtype) if width else filled


def _raw_bytes(target: Target) -> Any:
    import numpy as np

    width = target.dtype.itemsize
    values = python_values(target.batch, target.index)
    for row, value in enumerate(values):
        if value is not None and len(value) != width:
            raise target.refused(row, f"the field needs exactly {width} bytes, not {len(value)}")
    zeros = bytes(width)
    joined = b"".join(zeros if value is None else value for value in values)
    return np.frombuffer(joined, dtype=target.dtype) if width else np.zeros(len(values), "V")


def _uuid_bytes(target: Target) -> Any:
    if target.dtype.itemsize != 16:  # noqa: PLR2004
        raise SchemaError(
            f'column "{target.name}" (uuid) needs a field of 16 bytes, not {target.dtype}'
        )
    return _as_stored(target)


def _uuid_text(target: Target) -> Any:
    values = python_values(target.batch, target.index)
    texts = [None if value is None else str(value) for value in values]
    if target.dtype.kind == "S":
        encoded = [None if text is None else text.encode() for text in texts]
        return _fixed_width(target, encoded, b"", "bytes", target.dtype.itemsize)
    return _fixed_width(target, texts, "", "characters", target.dtype.itemsize // 4)


# Kind of the column -> kind of the field's dtype -> conversion.
FILLS: dict[Kind, dict[str, Fill]] = {
    Kind.BOOL: {"b": _as_stored, "i": _as_stored, "u": _as_stored, "O": _objects},
    Kind.INT: {"i": _int_to_int, "u": _int_to_int, "f": _int_to_float, "O": _objects},
    Kind.FLOAT: {"f": _float_to_float, "O": _objects},
    Kind.DECIMAL: {
        "i": _decimal_to_int,
        "u": _decimal_to_int,
        "f": _decimal_to_float,
        "O": _objects,
    },
    Kind.DATE: {"M": _dates, "O": _objects},
    Kind.TIMESTAMP: {"M": _stored_to_unit, "O": _objects},
    Kind.TIME: {"m": _times, "O": _objects},
    Kind.DURATION: {"m": _stored_to_unit, "O": _objects},
    Kind.TEXT: {"U": _text, "S": _text_bytes, "O": _objects},
    Kind.DICTIONARY: {"U": _text, "S": _text_bytes, "O": _objects},
    Kind.CELLS: {"U": _cells, "S": _cells, "O": _objects},
    Kind.BINARY: {"S": _bytes, "V": _raw_bytes, "O": _objects},
    Kind.UUID: {"V": _uuid_bytes, "U": _uuid_text, "S": _uuid_text, "O": _objects},
    Kind.FIXED_LIST: {"f": _vectors, "O": _objects},
    Kind.LIST: {"O": _objects},
    Kind.STRUCT: {"O": _objects},
    Kind.MAP: {"O": _objects},
    Kind.INTERVAL: {"O": _objects},
    Kind.NULL: {"O": _objects},
    Kind.OTHER: {"O": _objects},
}
