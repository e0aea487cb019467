"""Many values as one array parameter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy import types as sqltypes
from sqlalchemy.dialects import postgresql as pg

from colonnade._words.shown import class_name, shown


def in_array(column: Any, values: Iterable[Any]) -> sa.ColumnElement[bool]:
    """Return the condition `column = ANY ($1)`, with all values in one array parameter.

    `column` is a column, an ORM attribute or any expression with a type. `values` are a
    one-dimensional array of NumPy, pandas, Polars or pyarrow, which is encoded without a Python
    object per value, or an iterable of values of the column's type. The SQL text does not depend on
    the number of values, so SQLAlchemy compiles it once and the server prepares it once; `IN` has a
    parameter for each value, 65,535 at most.

    The condition is true and false where `in_()` is, by SQL's rules: NULL in the column gives NULL;
    None among the values matches nothing and turns false into NULL; an empty array gives false. NaN
    equals NaN in PostgreSQL, so a NaN in an array of floats matches a NaN. A missing value of a
    pandas array or of a masked array is NULL.

    Raises TypeError if `values` is a str, bytes, a dict or a single value, or `column` is not an
    expression; ValueError for an array of several dimensions, and for a column without a type or
    of an array type.
    """
    expression = _expression(column)
    return expression == sa.any_(
        sa.bindparam(None, _checked(values), type_=pg.ARRAY(_element_type(expression)), unique=True)
    )


def _expression(column: Any) -> sa.ColumnElement[Any]:
    inspected = column.__clause_element__() if hasattr(column, "__clause_element__") else column
    if not isinstance(inspected, sa.ColumnElement):
        raise TypeError(f"in_array takes a column or an expression, not {class_name(column)}")
    return inspected


def _element_type(expression: sa.ColumnElement[Any]) -> sqltypes.TypeEngine[Any]:
    kind = expression.type
    if isinstance(kind, sqltypes.NullType):
        raise ValueError(  # noqa: TRY004 - the value of its type
            "the expression has no type: give it one with sqlalchemy.type_coerce()"
        )
    if isinstance(kind, sqltypes.ARRAY):
        raise ValueError(  # noqa: TRY004
            "in_array needs a column of single values, and this column has arrays"
        )
    return kind


def _checked(values: Any) -> Any:
    if isinstance(values, str | bytes | dict) or not isinstance(values, Iterable):
        raise TypeError(f"in_array takes an array or a list of values, not {shown(values)}")
    if not is_array(values):
        return list(values)
    dimensions = getattr(values, "ndim", 1)
    if dimensions != 1:
        raise ValueError(f"in_array takes an array with one dimension, not with {dimensions}")
    return values


def is_array(value: object) -> bool:
    """Return whether the driver encodes the value as an array without a look at each element."""
    return (
        hasattr(value, "__arrow_c_stream__")
        or hasattr(value, "__arrow_c_array__")
        or (hasattr(value, "dtype") and hasattr(value, "__len__"))
    )
