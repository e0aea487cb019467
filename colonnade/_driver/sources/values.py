"""The values of one column, for each kind of container."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

from colonnade._core import ArrowColumn, ArrowSource
from colonnade._driver.sources.inference import Inference
from colonnade.errors import EncodeError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from colonnade._driver.sources.piece import Column, Encoding

    Mask = NDArray[Any] | None

# Units in which NumPy cannot count a day.
_SHORT_UNITS = {"ps", "fs", "as"}
# NumPy's name for the unit of timestamps and durations without one.
_NO_UNIT = "generic"
# Units of a day or more, with counts for which NumPy's conversion cannot exceed 64 bits of days.
_LONG_UNITS = {"Y", "M", "W", "D"}
_COUNT_MOST = 10**7

# The number of objects examined together to infer their type.
_SEEN_AT_ONCE = 4_096


class Cells(NamedTuple):
    """Some rows of a column for the encoder."""

    array: ArrowColumn
    are_encoded: bool = False


class Values(ABC):
    """A column of a source."""

    are_objects = False
    """Whether each value is a Python object, which costs more than a number in an array."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def cells(
        self, start: int, stop: int, column: Column, encoding: Encoding, first_row: int
    ) -> Cells:
        """The rows from ``start`` to before ``stop``; ``first_row`` is the number of the first."""

    @abstractmethod
    def sql_type(self, name: str) -> str:
        """The type that a new table's column has for these values."""


class ArrowValues(Values):
    """An Arrow array."""

    def __init__(self, column: ArrowColumn) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def cells(
        self, start: int, stop: int, column: Column, encoding: Encoding, first_row: int
    ) -> Cells:
        del column, encoding, first_row
        return Cells(self._column.slice(start, stop - start))

    def sql_type(self, name: str) -> str:
        return ArrowSource.from_columns([name], [self._column]).sql_type(0)


class ObjectValues(Values):
    """Python objects, which are encoded like the parameters of a query."""

    are_objects = True

    def __init__(self, length: int, objects: Callable[[int, int], list[Any]]) -> None:
        self._length = length
        self._objects = objects

    def __len__(self) -> int:
        return self._length

    def cells(
        self, start: int, stop: int, column: Column, encoding: Encoding, first_row: int
    ) -> Cells:
        objects = self._objects(start, stop)
        if len(objects) != stop - start:
            # Another value's methods, or a codec, may change it.
            msg = f'column "{column.name}": its number of rows changed while it was encoded'
            raise EncodeError(msg)
        return Cells(encoding.objects(objects, column, first_row), True)

    def sql_type(self, name: str) -> str:
        seen = Inference(name, lambda array: _type_of_array(name, array))
        for start in range(0, self._length, _SEEN_AT_ONCE):
            seen.see(self._objects(start, min(start + _SEEN_AT_ONCE, self._length)), start)
        return seen.sql_type()


def _type_of_array(name: str, array: NDArray[Any]) -> str:
    return NumpyValues(array).sql_type(name)


class DictionaryValues(Values):
    """Codes, and a value for each of them."""

    def __init__(self, codes: NDArray[Any], values: Values) -> None:
        self._codes = codes
        self._values = values

    def __len__(self) -> int:
        return len(self._codes)

    def cells(
        self, start: int, stop: int, column: Column, encoding: Encoding, first_row: int
    ) -> Cells:
        values = self._values.cells(0, len(self._values), column, encoding, first_row)
        codes = self._codes[start:stop].astype("i4")
        return Cells(ArrowColumn.from_codes(codes, values.array), values.are_encoded)

    def sql_type(self, name: str) -> str:
        return self._values.sql_type(name)


class NumpyValues(Values):
    """A NumPy array, of any dimensions.

    True in the mask hides a value. With `has_null`, its library has a NULL besides NaN and NaT, and
    the mask hides all NULLs.
    """

    def __init__(
        self,
        array: NDArray[Any],
        mask: Mask = None,
        *,
        zone: bool | None = None,
        has_null: bool = False,
    ) -> None:
        self._array = array
        self._has_null = has_null
        self._mask = mask
        # Whether timestamps are instants; None if the table decides.
        self._zone = zone
        self.are_objects = array.dtype.kind in "OT"

    def __len__(self) -> int:
        return len(self._array)

    def cells(
        self, start: int, stop: int, column: Column, encoding: Encoding, first_row: int
    ) -> Cells:
        array = self._array[start:stop]
        mask = None if self._mask is None else self._mask[start:stop]
        if encoding.nan_as_null is None and not self._has_null:
            encoding = encoding._replace(nan_as_null=True)
            mask = _without_nan(array, mask)
        if array.dtype.kind == "S" and column.pg_type.name != "bytea":
            array = _decoded(array, column, first_row)
        if array.dtype.kind in "mM":
            mask = _without_nat(array, mask, column, encoding, first_row)
        if array.dtype.kind == "M" and column.pg_type.name == "date" and not self._zone:
            days = _days(array, mask, column, first_row)
            if days is None:
                return Cells(encoding.objects(_objects(array, mask), column, first_row), True)
            array = days
        made = _arrow(array, mask, column, self._zone)
        if made is not None:
            return Cells(made)
        return Cells(encoding.objects(_objects(array, mask), column, first_row), True)

    def sql_type(self, name: str) -> str:
        array, mask = self._array, self._mask
        if array.dtype.kind in "mM" and _unit(array) == _NO_UNIT:
            msg = f'column "{name}" cannot be made: {array.dtype} has no unit of time'
            raise SchemaError(msg, hint="Give it one, as datetime64[us] and timedelta64[us] have.")
        try:
            made = ArrowColumn.from_numpy(array[:0], None, is_utc=bool(self._zone))
        except TypeError as error:
            msg = f'column "{name}" cannot be made: no type stands for {array.dtype}'
            raise SchemaError(msg, hint="Cast it first.") from error
        if made is not None:
            return ArrowValues(made).sql_type(name)
        return ObjectValues(
            len(array), lambda start, stop: _objects(array[start:stop], _part(mask, start, stop))
        ).sql_type(name)


def _part(mask: Mask, start: int, stop: int) -> Mask:
    return None if mask is None else mask[start:stop]


def _arrow(
    array: NDArray[Any], mask: Mask, column: Column, zone: bool | None
) -> ArrowColumn | None:
    is_utc = column.pg_type.name == "timestamptz" if zone is None else zone
    are_times = column.pg_type.name == "time" and array.dtype.kind == "m"
    try:
        return ArrowColumn.from_numpy(array, mask, is_utc=is_utc, are_times=are_times)
    except (TypeError, ValueError) as error:
        msg = f'column "{column.name}", from {array.dtype} to {column.pg_type.name}: {error}'
        raise EncodeError(msg) from error


def _objects(array: NDArray[Any], mask: Mask) -> list[Any]:
    # NumPy's scalars have more information than their Python values: a timedelta64[M] counts
    # months.
    objects = list(array) if array.dtype.kind in "mM" else array.tolist()
    if mask is None:
        return objects
    return [None if hidden else value for value, hidden in zip(objects, mask, strict=True)]


def _decoded(array: NDArray[Any], column: Column, first_row: int) -> NDArray[Any]:
    import numpy as np

    try:
        return np.char.decode(array, "utf-8")
    except UnicodeDecodeError as error:
        msg = (
            f'column "{column.name}", from row {first_row} on, from {array.dtype} to '
            f"{column.pg_type.name}: {error}"
        )
        raise EncodeError(msg) from error


def _without_nan(array: NDArray[Any], mask: Mask) -> Mask:
    """The mask with NaN hidden."""
    import numpy as np

    if array.dtype.kind != "f":
        return mask
    # A row of several numbers is missing if all of them are.
    axes = tuple(range(1, array.ndim))
    missing: NDArray[np.bool_] = np.atleast_1d(np.isnan(array).all(axis=axes))
    if not missing.any():
        return mask
    return missing if mask is None else missing | mask


def _without_nat(
    array: NDArray[Any], mask: Mask, column: Column, encoding: Encoding, first_row: int
) -> Mask:
    """The mask with NaT hidden, or the error of the first NaT that is not hidden."""
    import numpy as np

    missing: NDArray[np.bool_] = np.isnat(array)
    if mask is not None:
        missing &= ~mask
    if not missing.any():
        return mask
    if not encoding.nan_as_null:
        row = first_row + int(missing.argmax())
        msg = (
            f'column "{column.name}", row {row}, from {array.dtype} to {column.pg_type.name}: '
            "PostgreSQL has no NaT; nan_as_null=True makes it NULL"
        )
        raise EncodeError(msg)
    if mask is not None:
        missing |= mask
    return missing


def _unit(array: NDArray[Any]) -> str:
    import numpy as np

    return np.datetime_data(array.dtype)[0]


def _days(array: NDArray[Any], mask: Mask, column: Column, first_row: int) -> NDArray[Any] | None:
    """Timestamps as days, which pandas has no type for; each must be midnight.

    None if NumPy's own conversion could fail, or overflow silently.
    """
    import numpy as np

    unit = _unit(array)
    if unit in _SHORT_UNITS or unit == _NO_UNIT:
        return None
    if unit in _LONG_UNITS:
        counts = array.astype("i8")[~np.isnat(array)]
        if ((counts > _COUNT_MOST) | (counts < -_COUNT_MOST)).any():
            return None
    days = array.astype("M8[D]")
    within = days.astype(array.dtype) != array
    if mask is not None:
        within &= ~mask
    if within.any():
        place = int(within.argmax())
        msg = (
            f'column "{column.name}", row {first_row + place}, from {array.dtype} to date: '
            f"{array[place]} is not the first moment of a day, and nothing is rounded"
        )
        raise EncodeError(msg)
    return days
