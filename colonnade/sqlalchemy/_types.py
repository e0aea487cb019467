"""The dialect's types: how they send parameters and convert fetched values."""

# ruff: noqa: ARG002 - the arguments are SQLAlchemy's

from __future__ import annotations

import decimal
import json
from collections.abc import Iterable
from typing import Any, TypeAlias

from sqlalchemy import types as sqltypes
from sqlalchemy.dialects import postgresql as pg
from sqlalchemy.dialects.postgresql import ranges
from sqlalchemy.engine import processors

from colonnade._words.type_facts import FLOATS, OIDS
from colonnade.sqlalchemy._in_array import is_array
from colonnade.types import Range

try:
    from sqlalchemy.dialects.postgresql import BitString as _BitText
except ImportError:  # SQLAlchemy 2.0, where bits are a str
    _BitText = str  # type: ignore[misc,assignment]

_FLOATS = {OIDS[name] for name in FLOATS}
_JSONS = {OIDS["json"], OIDS["jsonb"]}

# A function of one value, or None; SQLAlchemy's own aliases for it are private.
Processor: TypeAlias = Any


def _cast(kind: type[Any], **attributes: Any) -> type[Any]:
    """Return a subclass of the type whose parameters have a cast, which declares their type."""
    return type(f"_{kind.__name__}", (kind,), {"render_bind_cast": True, **attributes})


class _Number:
    """A number. The driver returns Decimal or float; a column may ask for the other class."""

    render_bind_cast = True

    def bind_processor(self, dialect: Any) -> Processor:
        """Return None: the driver takes every number."""

    def result_processor(self: Any, dialect: Any, coltype: Any) -> Processor:
        """Return the conversion of float to Decimal, or of Decimal to float, if one is needed."""
        if not self.asdecimal:
            return None if coltype in _FLOATS else processors.to_float
        if coltype in _FLOATS:
            scale = self._effective_decimal_return_scale
            return processors.to_decimal_processor_factory(decimal.Decimal, scale)
        return None


class _Numeric(_Number, sqltypes.Numeric[Any]):
    pass


class _Float(_Number, sqltypes.Float[Any]):
    pass


class _Bit(pg.BIT):
    render_bind_cast = True

    def bind_processor(self, dialect: Any) -> Any:
        """Send a str of bits as text, which the server parses."""
        return lambda value: str(value) if isinstance(value, str) else value

    def result_processor(self, dialect: Any, coltype: Any) -> Any:
        """Convert to SQLAlchemy's class for bit strings."""
        return lambda value: None if value is None else _BitText(value.as_string().replace(" ", ""))


def _sent_range(value: Any) -> Any:
    if not isinstance(value, ranges.Range):
        return value
    return Range(
        value.lower,
        value.upper,
        lower_inc=value.bounds[0] == "[",
        upper_inc=value.bounds[1] == "]",
        empty=value.empty,
    )


def _got_range(value: Any) -> Any:
    if value is None:
        return None
    if value.isempty:
        return ranges.Range(empty=True)
    bounds: Any = ("[" if value.lower_inc else "(") + ("]" if value.upper_inc else ")")
    return ranges.Range(value.lower, value.upper, bounds=bounds)


def _sent_ranges(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    return [_sent_range(element) for element in value]


def _got_ranges(value: Iterable[Any] | None) -> Any:
    return None if value is None else ranges.MultiRange(_got_range(it) for it in value)


class _Range(ranges.AbstractSingleRangeImpl[Any]):
    def bind_processor(self, dialect: Any) -> Processor:
        """Convert to Colonnade's class for ranges."""
        return _sent_range

    def result_processor(self, dialect: Any, coltype: Any) -> Processor:
        """Convert to SQLAlchemy's class for ranges."""
        return _got_range


class _MultiRange(ranges.AbstractMultiRangeImpl[Any]):
    def bind_processor(self, dialect: Any) -> Processor:
        """Convert to a list of Colonnade's ranges."""
        return _sent_ranges

    def result_processor(self, dialect: Any, coltype: Any) -> Processor:
        """Convert to SQLAlchemy's class for multiranges."""
        return _got_ranges


class _Array(pg.ARRAY[Any]):
    render_bind_cast = True

    def bind_processor(self, dialect: Any) -> Processor:
        """Convert each element of a list; send an array of NumPy, Arrow, pandas or Polars as is."""
        by_element: Any = super().bind_processor(dialect)
        return lambda value: value if is_array(value) else by_element(value)


class _Untyped(sqltypes.NullType):
    """The type of a text() statement's columns: JSON is parsed, as for columns declared as JSON."""

    def result_processor(self, dialect: Any, coltype: Any) -> Processor:
        """Return the JSON parser for json and jsonb, None for all other types."""
        if coltype not in _JSONS:
            return None
        parse = dialect._json_deserializer or json.loads  # noqa: SLF001 - create_engine's argument
        return lambda value: None if value is None else parse(value)


class _HStore(pg.HSTORE):
    render_bind_cast = True

    def bind_processor(self, dialect: Any) -> Processor:
        """Return None: the driver takes a dict."""

    def result_processor(self, dialect: Any, coltype: Any) -> Processor:
        """Parse a str to a dict; with `extension_types` the driver returns a dict already."""
        parse: Any = super().result_processor(dialect, coltype)
        return lambda value: parse(value) if isinstance(value, str) else value


class _Interval(pg.INTERVAL):
    render_bind_cast = True

    @classmethod
    def adapt_emulated_to_native(  # type: ignore[override]
        cls, interval: Any, **_: Any
    ) -> Any:
        """Return PostgreSQL's type for the generic Interval."""
        return cls(precision=interval.second_precision)


_JSON_INDEXES: dict[type[Any], type[Any]] = {
    sqltypes.JSON.JSONIntIndexType: _cast(
        sqltypes.JSON.JSONIntIndexType, __visit_name__="json_int_index"
    ),
    sqltypes.JSON.JSONStrIndexType: _cast(
        sqltypes.JSON.JSONStrIndexType, __visit_name__="json_str_index"
    ),
}

#: SQLAlchemy's types -> those of this dialect.
COLSPECS: dict[type[Any], type[Any]] = {
    **{
        kind: _cast(kind)
        for kind in (
            sqltypes.BigInteger,
            sqltypes.Boolean,
            sqltypes.Date,
            sqltypes.DateTime,
            sqltypes.Integer,
            sqltypes.LargeBinary,
            sqltypes.SmallInteger,
            sqltypes.String,
            sqltypes.Time,
            pg.CITEXT,
            pg.OID,
            pg.REGCLASS,
            pg.REGCONFIG,
        )
    },
    **_JSON_INDEXES,
    sqltypes.ARRAY: _Array,
    sqltypes.Enum: _cast(pg.ENUM),
    sqltypes.Float: _Float,
    sqltypes.Interval: _Interval,
    sqltypes.NullType: _Untyped,
    sqltypes.Numeric: _Numeric,
    pg.BIT: _Bit,
    pg.HSTORE: _HStore,
    pg.INTERVAL: _Interval,
    ranges.AbstractSingleRange: _Range,
    ranges.AbstractMultiRange: _MultiRange,
}
