"""The text of a query that carries its dtype beside itself, and not within."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._shaped_query import Shape, ShapedQuery
from colonnade._shown import class_name, shown
from colonnade.errors import DTypeError
from colonnade.rkt._fields import Field, matched_fields
from colonnade.rkt._shapes import BlocksShape, RowsShape

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from colonnade._core import PgType


class TypedQuery(ShapedQuery):
    """The text of a query, and the dtype that its rows shall have."""

    __slots__ = ("dtype", "infinity")

    dtype: np.dtype[Any]
    infinity: str

    def shape(self, columns: list[tuple[str, PgType, int]]) -> Shape:
        """The array, or the blocks of arrays, that the rows go to."""
        metadata: Mapping[str, object] = self.dtype.metadata or {}
        if metadata.get("blocks"):
            return BlocksShape(self.dtype, self._fields(columns), self.infinity)
        return self.row_shape(columns)

    def row_shape(self, columns: list[tuple[str, PgType, int]]) -> RowsShape:
        """The array that rows go to which are taken one by one."""
        return RowsShape(self.dtype, self._fields(columns), self.infinity)

    def _fields(self, columns: list[tuple[str, PgType, int]]) -> tuple[Field, ...]:
        return matched_fields(self.dtype, columns) if columns else ()


def set_query_dtype(query: str, dtype: Any, *, infinity: str = "raise") -> ShapedQuery:
    """The query, to be given to `fetch` and its relatives for NumPy arrays in place of records.

    `dtype` is a structured dtype, or what `numpy.dtype` makes one of. Its fields take the columns
    of the result in their order; their names need not be those of the columns. Each must be just
    the type that PostgreSQL's is, or `object`; `docs/rkt.md` has the table.

    `fetch` returns a structured array, and a list of the places of NULLs: `row * fields + field`.
    With a true `metadata["blocks"]` in the dtype the first is instead one row of arrays, each of
    which has a column by name or position; those of equal dtypes are the rows of one block, the
    `base` of each. `fetchrow` returns one row and the places of its NULLs, or None; `fetchval`
    returns a NumPy value, or None for a NULL.

    `infinity` says what becomes of infinite dates and timestamps: "raise" (DecodeError), "null"
    or "saturate", as in `fetch_columns`.

    The result is a `str` that equals the query. What makes another text of it loses the dtype, and
    the query then gives records.

    Raises DTypeError where the dtype is no structure; the query raises it where the dtype does not
    match the result, before the first row, and where a text is longer than its field.
    """
    if not isinstance(query, str):
        raise TypeError(f"query must be a str, not {class_name(query)}")
    # NumPy would take bytes for the name of a dtype. asyncpg-rkt unpickled them.
    if isinstance(dtype, bytes):
        raise DTypeError("the dtype must be a structure, not bytes: nothing is unpickled")
    import numpy as np

    row = np.dtype(dtype)
    if not row.names:
        raise DTypeError(f"the dtype must be a structure, not {row.str}")
    if infinity not in {"raise", "null", "saturate"}:
        raise ValueError(f'infinity must be "raise", "null" or "saturate", not {shown(infinity)}')
    typed = TypedQuery(query)
    typed.dtype = row
    typed.infinity = infinity
    return typed
