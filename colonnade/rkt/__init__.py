"""The extensions of asyncpg-rkt to asyncpg: queries whose rows become NumPy arrays.

    query = colonnade.rkt.set_query_dtype(
        "SELECT id, name FROM items", np.dtype([("id", "i8"), ("name", "U20")])
    )
    array, nulls = await conn.fetch(query)

This module is for code written for asyncpg-rkt. New code should use ``fetch_columns``, which needs
no dtype, keeps NULLs apart from values, and supports every type. `colonnade docs rkt` lists the
types and explains the NULLs.
"""

from __future__ import annotations

from colonnade.errors import DTypeError
from colonnade.rkt._query import set_query_dtype

__all__ = ["DTypeError", "set_query_dtype"]
