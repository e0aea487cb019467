"""How SQLAlchemy's types become parameters, and what it makes of values."""

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

from colonnade.sqlalchemy._in_array import is_array
from colonnade.types import Range

try:
    from sqlalchemy.dialects.postgresql import BitString as _BitText
except ImportError:  # SQLAlchemy 2.0, where bits are a str
    _BitText = str  # type: ignore[misc,assignment]

_FLOATS = {700, 701}
_JSONS = {114, 3802}

# What SQLAlchemy calls with each value, or None; its own aliases for it are private.
Processor: TypeAlias = Any


def _cast(kind: type[Any], **attributes: Any) -> type[Any]:
    """The type, with a cast behind its parameters that tells the server of which type they are."""
    return type(f"_{kind.__name__}", (kind,), {"render_bind_cast": True, **attributes})


class _Number:
    """numeric comes as Decimal and float8 as float, which a column may want the other way."""

    render_bind_cast = True

    def bind_processor(self, dialect: Any) -> Processor:
        """Every number is a parameter as it is."""

    def result_processor(self: Any, dialect: Any, coltype: Any) -> Processor:
        """What makes a Decimal of a float, or a float of a Decimal."""
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
        """A text of bits is what the server reads."""
        return lambda value: str(value) if isinstance(value, str) else value

    def result_processor(self, dialect: Any, coltype: Any) -> Any:
        """SQLAlchemy's class for bits."""
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
        """Colonnade's class for ranges."""
        return _sent_range

    def result_processor(self, dialect: Any, coltype: Any) -> Processor:
        """SQLAlchemy's class for ranges."""
        return _got_range


class _MultiRange(ranges.AbstractMultiRangeImpl[Any]):
    def bind_processor(self, dialect: Any) -> Processor:
        """A list of Colonnade's ranges."""
        return _sent_ranges

    def result_processor(self, dialect: Any, coltype: Any) -> Processor:
        """SQLAlchemy's class for several ranges."""
        return _got_ranges


class _Array(pg.ARRAY[Any]):
    render_bind_cast = True

    def bind_processor(self, dialect: Any) -> Processor:
        """A list by its elements; an array of NumPy, Arrow, pandas or Polars as it is."""
        by_element: Any = super().bind_processor(dialect)
        return lambda value: value if is_array(value) else by_element(value)


class _Untyped(sqltypes.NullType):
    """What a statement in text selects: JSON is parsed there too, as of columns of its type."""

    def result_processor(self, dialect: Any, coltype: Any) -> Processor:
        """What parses JSON."""
        if coltype not in _JSONS:
            return None
        parse = dialect._json_deserializer or json.loads  # noqa: SLF001 - create_engine's argument
        return lambda value: None if value is None else parse(value)


class _HStore(pg.HSTORE):
    render_bind_cast = True

    def bind_processor(self, dialect: Any) -> Processor:
        """A dict is a parameter as it is."""

    def result_processor(self, dialect: Any, coltype: Any) -> Processor:
        """A dict of the text that a value comes as; with `extension_types` it is one already."""
        parse: Any = super().result_processor(dialect, coltype)
        return lambda value: parse(value) if isinstance(value, str) else value


class _Interval(pg.INTERVAL):
    render_bind_cast = True

    @classmethod
    def adapt_emulated_to_native(  # type: ignore[override]
        cls, interval: Any, **_: Any
    ) -> Any:
        """The generic Interval's form on PostgreSQL."""
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
