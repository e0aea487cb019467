"""The types that a select declares for its columns, as a `schema=`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy import types as sqltypes
from sqlalchemy.dialects import postgresql as pg

from colonnade._words.shown import class_name
from colonnade.sqlalchemy.dialect import ColonnadeDialect

# Used to find PostgreSQL's implementation of a generic type such as Interval.
_DIALECT = ColonnadeDialect()  # type: ignore[no-untyped-call] # SQLAlchemy's
_DIGITS_128 = 38
_DIGITS_256 = 76

# Arrow types for columns of tables. A subclass comes before its base class.
_OF_TABLES: tuple[tuple[type[Any], str], ...] = (
    (sqltypes.Boolean, "bool"),
    (sqltypes.SmallInteger, "int16"),
    (sqltypes.BigInteger, "int64"),
    (sqltypes.Integer, "int32"),
    (sqltypes.Date, "date32"),
    (sqltypes.Time, "time64[us]"),
    (sqltypes.LargeBinary, "binary"),
    (sqltypes.String, "utf8"),
)


def column_types(select: Any) -> dict[str, str]:
    """Return the Arrow types that a select declares, by column name, as a `schema=`.

    A column of a table gets the type that the table declares: `Integer` is int32, `Numeric(10, 2)`
    is decimal128(10, 2), `DateTime(timezone=True)` is timestamp[us, UTC], and so on. If the
    database column has a type that cannot be converted to it, `fetch_columns` raises an error
    before the first row. `Float` and `Numeric(asdecimal=False)` are float64 and an `Enum` is a
    dictionary, for expressions as well. The result leaves out all other columns, which keep the
    type that PostgreSQL's value has by default: intervals, arrays, JSON, numeric without precision,
    and other expressions.

    Raises TypeError for an object that is not a select.
    """
    columns = getattr(select, "selected_columns", None)
    if columns is None:
        raise TypeError(f"column_types takes a select, not {class_name(select)}")
    return dict(_named(columns.items()))


def _named(columns: Any) -> Iterator[tuple[str, str]]:
    for name, column in columns:
        inner = column.element if isinstance(column, sa.Label) else column
        declared = _declared(_plain(column.type), is_of_table=isinstance(inner, sa.Column))
        if declared is not None:
            yield name, declared


def _plain(kind: sqltypes.TypeEngine[Any]) -> Any:
    """Return the database's type, without the TypeDecorators that convert its values in Python."""
    kind = kind.dialect_impl(_DIALECT)
    while isinstance(kind, sqltypes.TypeDecorator):
        kind = kind.impl_instance
    return kind


def _declared(kind: Any, *, is_of_table: bool) -> str | None:
    if isinstance(kind, sqltypes.Enum):
        return "dictionary<int32, utf8>"
    if isinstance(kind, sqltypes.Numeric | sqltypes.Float) and not kind.asdecimal:
        return "float64"
    if not is_of_table or isinstance(kind, sqltypes.ARRAY | pg.CITEXT):
        return None
    if isinstance(kind, sqltypes.Numeric):
        return _decimal(kind)
    if isinstance(kind, sqltypes.DateTime):
        return "timestamp[us, UTC]" if kind.timezone else "timestamp[us]"
    if isinstance(kind, sqltypes.Time) and kind.timezone:
        return None
    if isinstance(kind, sqltypes.Uuid):
        # A column without native UUIDs is a char(32).
        return "fixed_size_binary[16]" if kind.native_uuid else "utf8"
    return next((name for known, name in _OF_TABLES if isinstance(kind, known)), None)


def _decimal(kind: Any) -> str | None:
    digits, scale = kind.precision, kind.scale or 0
    if isinstance(kind, sqltypes.Float) or digits is None or digits > _DIGITS_256:
        return None
    width = 128 if digits <= _DIGITS_128 else 256
    return f"decimal{width}({digits}, {scale})"
