"""Colonnade for SQLAlchemy: the dialect `postgresql+colonnade`, and columns through its selects.

    from sqlalchemy import create_engine, select
    from colonnade.sqlalchemy import fetch_columns

    engine = create_engine("postgresql+colonnade://user:password@host/database")
    with engine.connect() as connection:
        columns = fetch_columns(connection, select(items).where(items.c.price > 10))

The same URL serves `create_async_engine`; there the functions are awaited. See
`colonnade docs sqlalchemy`.
"""

from __future__ import annotations

from colonnade._words.extras import needed_by

with needed_by("colonnade.sqlalchemy", "sqlalchemy"):
    from colonnade.sqlalchemy._column_queries import (
        AsyncColumnBatches,
        ColumnBatches,
        fetch_columns,
        iter_columns,
    )
    from colonnade.sqlalchemy._column_types import column_types
    from colonnade.sqlalchemy._in_array import in_array
    from colonnade.sqlalchemy._or_to_union_all import or_to_union_all
    from colonnade.sqlalchemy._struct_type import StructType
    from colonnade.sqlalchemy.dialect import ColonnadeAsyncDialect, ColonnadeDialect

__all__ = [
    "AsyncColumnBatches",
    "ColonnadeAsyncDialect",
    "ColonnadeDialect",
    "ColumnBatches",
    "StructType",
    "column_types",
    "fetch_columns",
    "in_array",
    "iter_columns",
    "or_to_union_all",
]
