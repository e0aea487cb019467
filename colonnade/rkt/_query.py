"""A query string with a NumPy dtype as an attribute; the text itself is unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._driver.dtype_query import DtypeQuery, ResultBuilder
from colonnade._words.arguments import check_choice
from colonnade._words.shown import class_name
from colonnade.errors import DTypeError
from colonnade.rkt._builders import BlocksBuilder, RowsBuilder
from colonnade.rkt._matching import matched_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from colonnade._core import PgType
    from colonnade.rkt._fields import Field


class TypedQuery(DtypeQuery):
    """The text of a query, and the dtype of its rows."""

    __slots__ = ("dtype", "infinity")

    dtype: np.dtype[Any]
    infinity: str

    def builder(self, columns: list[tuple[str, PgType, int]]) -> ResultBuilder:
        """Return the builder of one array, or of blocks if the dtype's metadata asks for them."""
        metadata: Mapping[str, object] = self.dtype.metadata or {}
        if metadata.get("blocks"):
            return BlocksBuilder(self.dtype, self._fields(columns), self.infinity)
        return self.row_builder(columns)

    def row_builder(self, columns: list[tuple[str, PgType, int]]) -> RowsBuilder:
        """Return the builder of one array, for rows that are read one by one."""
        return RowsBuilder(self.dtype, self._fields(columns), self.infinity)

    def _fields(self, columns: list[tuple[str, PgType, int]]) -> tuple[Field, ...]:
        return matched_fields(self.dtype, columns) if columns else ()


def set_query_dtype(query: str, dtype: Any, *, infinity: str = "raise") -> DtypeQuery:
    """Return the query with a dtype, so that `fetch*` methods return NumPy arrays, not records.

    `dtype` is a structured dtype, or a value that `numpy.dtype` converts to one. Its fields match
    the columns of the result by position; their names may differ. Each field must have the dtype
    that `colonnade docs rkt` lists for the column's type, or `object`.

    `fetch` returns a pair: a structured array, and a list with `row * fields + field` for each
    NULL. If the dtype's `metadata["blocks"]` is true, the first item is instead one row that holds
    an array per column; columns of equal dtype are rows of one two-dimensional array, which is
    their `base`. `fetchrow` returns one row and the list of its NULL fields, or None without rows.
    `fetchval` returns a NumPy value, or None for NULL.

    `infinity` decides how infinite dates and timestamps are read: "raise" (DecodeError), "null"
    or "saturate", as in `fetch_columns`.

    The result is a `str` equal to the query. String operations return a plain `str` without the
    dtype, and such a query returns records.

    Raises TypeError if the query is not a `str`, ValueError for another `infinity`, and DTypeError
    if the dtype is not structured. Running the query raises DTypeError if the dtype does not match
    the result, before the first row, and if a text is longer than its field.
    """
    if not isinstance(query, str):
        raise TypeError(f"query must be a str, not {class_name(query)}")
    # asyncpg-rkt unpickles bytes, which is unsafe; NumPy would read them as the name of a dtype.
    if isinstance(dtype, bytes):
        raise DTypeError("the dtype must be a structure, not bytes: nothing is unpickled")
    import numpy as np

    row = np.dtype(dtype)
    if not row.names:
        raise DTypeError(f"the dtype must be a structure, not {row.str}")
    check_choice("infinity", infinity, ("raise", "null", "saturate"))
    typed = TypedQuery(query)
    typed.dtype = row
    typed.infinity = infinity
    return typed
