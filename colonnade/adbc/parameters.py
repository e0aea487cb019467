"""The parameters of a statement, from the Arrow data that are bound to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from colonnade import Named, dbapi
from colonnade._words.shown import shown
from colonnade._words.type_facts import ARRAY_OIDS, OIDS
from colonnade.types import TextValue

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Bound", "bound_to"]

# Arrow's fixed types -> those of the server. Texts and columns of nulls have none: the server reads
# them as the type that the query needs.
_NAMES = {
    "bool": "bool",
    **dict.fromkeys(("int8", "uint8", "int16"), "int2"),
    **dict.fromkeys(("uint16", "int32"), "int4"),
    **dict.fromkeys(("uint32", "int64"), "int8"),
    "uint64": "numeric",
    **dict.fromkeys(("halffloat", "float"), "float4"),
    "double": "float8",
    **dict.fromkeys(("binary", "large_binary", "binary_view"), "bytea"),
    **dict.fromkeys(("date32[day]", "date64[ms]"), "date"),
    "month_day_nano_interval": "interval",
}


class Bound(NamedTuple):
    """A query with its arguments."""

    sql: str
    types: list[int]
    """The OIDs of the parameters' types; 0 for one that the server infers."""
    runs: list[tuple[Any, ...]]
    """The arguments of each run."""


def bound_to(query: str, rows: pa.Table, *, by_name: bool) -> Bound:
    """Return a query with the columns of a table as its parameters."""
    sql = query
    columns = [_whole(name, rows[place]) for place, name in enumerate(rows.column_names)]
    if by_name:
        named = Named(query)
        sql, columns = (
            named.sql,
            list(named.args(dict(zip(rows.column_names, columns, strict=True)))),
        )
    values = [map(_sent, column.to_pylist()) for column in columns]
    return Bound(sql, [_oid(column.type) for column in columns], list(zip(*values, strict=True)))


def _whole(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in the units of the server, to which pyarrow's Python objects are cut, too."""
    import pyarrow as pa

    held = _held(column.type)
    if held != column.type:
        # A cast reads the elements of lists that a slice leaves out, too.
        taken = column.take(pa.array(range(len(column)), pa.int64()))
        try:
            return taken.cast(held)
        except pa.ArrowInvalid as error:
            row = next(row for row in range(len(column)) if not _fits(column[row : row + 1], held))
            raise _too_fine(name, row, column.type, f"{held}") from error
    if pa.types.is_interval(held):
        for row, value in enumerate(column.to_pylist()):
            if value is not None and value.nanoseconds % 1000:
                raise _too_fine(name, row, held, "microseconds")
    return column


def _fits(value: pa.ChunkedArray, held: pa.DataType) -> bool:
    import pyarrow as pa

    try:
        value.take(pa.array([0], pa.int64())).cast(held)
    except pa.ArrowInvalid:
        return False
    return True


def _too_fine(name: str, row: int, kind: pa.DataType, unit: str) -> dbapi.DataError:
    return dbapi.DataError(
        f"parameter {shown(name)}, row {row}: a value of {kind} has more digits than the server's"
        f" types: round it to {unit} first"
    )


def _held(kind: pa.DataType) -> pa.DataType:
    """The type of the same values in microseconds and days."""
    import pyarrow as pa

    if _is_list(kind) or pa.types.is_dictionary(kind):
        inner = _held(kind.value_type)
        if inner == kind.value_type:
            return kind
        return pa.list_(inner) if _is_list(kind) else inner
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_held(field.type)) for field in kind])
    if pa.types.is_date64(kind):
        return pa.date32()
    if getattr(kind, "unit", None) != "ns":
        return kind
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return pa.time64("us") if pa.types.is_time(kind) else pa.duration("us")


def _oid(kind: pa.DataType) -> int:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _oid(kind.value_type)
    if pa.types.is_timestamp(kind):
        return OIDS["timestamp" if kind.tz is None else "timestamptz"]
    if isinstance(kind, pa.UuidType):
        return OIDS["uuid"]
    if _is_list(kind):
        element = kind.value_type
        while _is_list(element):
            element = element.value_type
        oid = _oid(element)
        return ARRAY_OIDS[oid] if oid else 0
    families = {
        "numeric": pa.types.is_decimal,
        "bytea": pa.types.is_fixed_size_binary,
        "time": pa.types.is_time,
        "interval": pa.types.is_duration,
    }
    name = next((name for name, fits in families.items() if fits(kind)), _NAMES.get(str(kind)))
    return OIDS[name] if name else 0


def _is_list(kind: pa.DataType) -> bool:
    import pyarrow as pa

    is_view = pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind)
    is_plain = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return bool(is_view or is_plain or pa.types.is_fixed_size_list(kind))


def _sent(value: Any) -> Any:
    """A value as a parameter; the server reads a text as the type that it is cast to."""
    import pyarrow as pa

    if isinstance(value, pa.MonthDayNano):
        return _interval(value)
    return TextValue(value) if type(value) is str else value


def _interval(value: pa.MonthDayNano) -> TextValue:
    """An interval as text, because a timedelta has no months.

    Each part has its sign: one alone would mean all parts if IntervalStyle says so.
    """
    minutes, micros = divmod(abs(value.nanoseconds) // 1000, 60_000_000)
    clock = f"{minutes // 60}:{minutes % 60:02}:{micros // 1_000_000:02}.{micros % 1_000_000:06}"
    sign = "-" if value.nanoseconds < 0 else "+"
    return TextValue(f"{value.months:+} mons {value.days:+} days {sign}{clock}")
