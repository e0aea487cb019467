"""Many values as one parameter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy import types as sqltypes
from sqlalchemy.dialects import postgresql as pg

from colonnade._shown import class_name, shown


def in_array(column: Any, values: Iterable[Any]) -> sa.ColumnElement[bool]:
    """Whether the column is one of the values: `column = ANY ($1)`, with all values in one array.

    `column` is a column, an attribute of the ORM or any expression of a known type. `values` are an
    array of one dimension of NumPy, pandas, Polars or pyarrow, which is encoded without a Python
    object per value, or any iterable of what the column's type takes. However many there are, the
    text of the statement is the same, so SQLAlchemy compiles and the server prepares it once; IN
    has a parameter for each, up to 65,535.

    It is true and false where `in_()` is, with SQL's rules: a NULL in the column gives NULL, None
    among the values finds nothing and makes NULL of false, no values at all give false. NaN equals
    NaN in PostgreSQL, so a NaN in an array of floats finds a NaN; in a pandas array, and in a
    masked one, what is missing is NULL.

    Raises TypeError for a str, a mapping or a single value, and ValueError for an array of several
    dimensions and for a column without a type, or of an array type.
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
            "in_array is for single values, and this column has arrays"
        )
    return kind


def _checked(values: Any) -> Any:
    if isinstance(values, str | bytes | dict) or not isinstance(values, Iterable):
        raise TypeError(f"in_array takes an array or a list of values, not {shown(values)}")
    if not is_array(values):
        return list(values)
    dimensions = getattr(values, "ndim", 1)
    if dimensions != 1:
        raise ValueError(f"in_array takes an array of one dimension, not of {dimensions}")
    return values


def is_array(value: object) -> bool:
    """Whether the driver takes the value as an array without a look at each element."""
    return (
        hasattr(value, "__arrow_c_stream__")
        or hasattr(value, "__arrow_c_array__")
        or (hasattr(value, "dtype") and hasattr(value, "__len__"))
    )
