"""Arrow data from the Python values that a cursor of the driver manager is given.

pyarrow, which the manager uses itself, drops parts of some values without a word: the offset of a
time, digits below a microsecond, the time of day beside a date. Such values are kept, or refused.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from colonnade._words.arguments import HALF
from colonnade._words.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from adbc_driver_manager import DataError

__all__ = ["Given"]


class Given:
    """The `backend` that a connection of `adbc_driver_manager.dbapi` takes, over pyarrow."""

    def convert_bind_parameters(self, parameters: Any) -> pa.RecordBatch:
        """One set of parameters, as a mapping or a sequence."""
        columns, _ = self._columns([parameters])
        return _batch(columns)

    def convert_executemany_parameters(self, parameters: Any) -> tuple[pa.RecordBatch, bool]:
        """Many sets, and whether they are mappings."""
        columns, by_name = self._columns(parameters)
        return _batch(columns), by_name

    def _columns(self, sets: Iterable[Any]) -> tuple[dict[str, list[Any]], bool]:
        columns: dict[str, list[Any]] = {}
        by_name = False
        for row in sets:
            by_name = isinstance(row, dict)
            for name, value in row.items() if by_name else enumerate(row):
                columns.setdefault(str(name), []).append(value)
        return columns, by_name

    def convert_description(self, schema: object) -> list[tuple[Any, ...]]:
        """PEP 249's description of a result."""
        import pyarrow as pa

        none = (None,) * 5
        return [(field.name, field.type, *none) for field in pa.schema(_Schema(schema))]

    def import_array_stream(self, handle: Any) -> pa.RecordBatchReader:
        """The batches of a stream."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_stream(handle)

    def import_schema(self, handle: Any) -> pa.Schema:
        """A schema."""
        import pyarrow as pa

        return pa.schema(handle)


class _Schema:
    """A capsule, as an object with the protocol that pyarrow reads."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_schema__(self) -> object:
        return self._capsule


def _batch(columns: Mapping[str, list[Any]]) -> pa.RecordBatch:
    import pyarrow as pa

    arrays = []
    for name, values in columns.items():
        try:
            arrays.append(pa.array(_whole(name, values)))
        except UnicodeEncodeError as error:
            (row, *_) = (row for row, x in enumerate(values) if error.object in _leaves(x))
            raise _refused(name, row, values[row], f"has {HALF}") from error
    return pa.record_batch(arrays, names=list(columns))


def _whole(name: str, values: Sequence[Any]) -> Sequence[Any]:
    """The values of a parameter, in a form from which pyarrow loses nothing."""
    values = [_without_nat(value) for value in values]
    kinds: dict[str, tuple[int, Any]] = {}
    has_offsets = False
    for row, value in enumerate(values):
        for leaf in _leaves(value):
            if _has_nanoseconds(leaf):
                raise _refused(name, row, leaf, "has nanoseconds, and the server has microseconds")
            has_offsets |= isinstance(leaf, dt.time) and leaf.tzinfo is not None
            if isinstance(leaf, dt.date):
                kinds.setdefault(_kind(leaf), (row, leaf))
    if len(kinds) > 1 and not any(isinstance(value, dict) for value in values):
        (first, _), (second, (row, leaf)), *_ = kinds.items()
        reason = f"is of {second} among {first}, and a parameter has one type: give all one"
        raise _refused(name, row, leaf, reason)
    if has_offsets:
        # Arrow's times have no offset. The server reads the text as the type that the query needs.
        return [_text_of_times(value) for value in values]
    return values


def _has_nanoseconds(leaf: Any) -> bool:
    # Of pandas, whose classes are subclasses of Python's.
    return bool(getattr(leaf, "nanosecond", 0) or getattr(leaf, "nanoseconds", 0))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _leaves(part)
    else:
        yield value


def _without_nat(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_without_nat(part) for part in value]
    # NaT is a datetime of pandas that equals nothing.
    return None if isinstance(value, dt.datetime) and value != value else value  # noqa: PLR0124


def _text_of_times(value: Any) -> Any:
    """Times as text, and a list as PostgreSQL's array literal; other values themselves."""
    if isinstance(value, list | tuple):
        parts = ("NULL" if part is None else str(_text_of_times(part)) for part in value)
        return f"{{{','.join(parts)}}}"
    return value.isoformat() if isinstance(value, dt.time) else value


def _kind(value: dt.date) -> str:
    if not isinstance(value, dt.datetime):
        return "dates"
    return f"datetimes {'without' if value.tzinfo is None else 'with'} an offset"


def _refused(name: str, row: int, value: object, reason: str) -> DataError:
    from adbc_driver_manager import AdbcStatusCode, DataError

    text = f"parameter {shown(name)}, row {row}: {shown(value)} {reason}"
    return DataError(text, status_code=AdbcStatusCode.INVALID_DATA)
