"""What asyncpg-rkt adds to asyncpg: queries whose rows become NumPy arrays.

    query = colonnade.rkt.set_query_dtype(
        "SELECT id, name FROM items", np.dtype([("id", "i8"), ("name", "U20")])
    )
    array, nulls = await conn.fetch(query)

For code that was written for asyncpg-rkt. New code is better served by ``fetch_columns``, which
needs no dtype, loses no NULL, and holds every type. ``docs/rkt.md`` has the types and the nulls.
"""

from __future__ import annotations

from colonnade.errors import DTypeError
from colonnade.rkt._query import set_query_dtype

__all__ = ["DTypeError", "set_query_dtype"]
