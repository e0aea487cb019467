"""`write_table`: a data frame as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._driver.sql.written_tables import EXISTS, IfExists, check_writing, target
from colonnade.frames.connectable import Connectable, connection_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal

    from colonnade import sync
    from colonnade._words.progress import Progress

__all__ = ["IfExists", "table_exists", "write_table"]


def write_table(
    frame: Any,
    table_name: str,
    con: Connectable,
    *,
    schema_name: str | None = None,
    if_exists: IfExists = "fail",
    columns: Sequence[str] | Mapping[str, str] | None = None,
    types: Mapping[str, str] | None = None,
    index: bool | str | Sequence[str] = False,
    nan_as_null: bool | None = None,
    on_conflict: Literal["nothing", "update"] | None = None,
    conflict_columns: str | Sequence[str] | None = None,
    progress: Progress = False,
    timeout: float | None = None,
) -> int:
    """Copy a frame into a table, creating it if needed; return the number of rows written.

    `frame` is a frame of pandas or Polars, a table, batch or reader of pyarrow, a relation of
    DuckDB, a mapping of names to arrays, a structured array, `Columns`, or an iterable of these.
    Missing values and nulls become NULL. `con` is as in `read_sql`.

    `if_exists` says how to treat an existing table: "fail" raises DuplicateTableError, "append"
    adds the rows, "replace" drops and recreates the table, "truncate" empties it and keeps its
    columns, indexes and privileges. Everything runs in one transaction: the connection's open one
    (within a savepoint), or else a new one. If anything fails, the database is unchanged.

    `columns` and `nan_as_null` are as in `copy_columns_to_table`. `types` gives SQL types for
    columns of a new table, by column name: `{"price": "numeric(12, 2)", "id": "bigint PRIMARY
    KEY"}`. The other types follow from the frame's Arrow types; see `colonnade docs dataframes`.

    `index` is for pandas. True writes the levels of the index as columns by their names; a level
    without a name becomes "index", or "level_0", "level_1", ... in a MultiIndex. A name, or one
    name per level, chooses other names.

    `on_conflict` and `conflict_columns` need if_exists="append", and are as in
    `copy_columns_to_table`. If a row's key exists in the table, "nothing" keeps the table's row,
    and "update" overwrites it. The function then returns the number of rows inserted or updated.

    `progress` is called with the number of rows sent so far; True shows a bar and needs `rich`.
    `timeout`, in seconds, limits the copy.

    Raises DuplicateTableError as said above; InterfaceError for columns that the table does not
    have, and for a new table whose name has a dot if no `schema_name` is given; SchemaError for an
    Arrow type without a PostgreSQL type; EncodeError, with column, type and row, for a value that
    does not fit; PostgresError of the server; ValueError for a new table of an empty iterable.
    """
    check_writing(table_name, schema_name, if_exists, on_conflict, conflict_columns)
    with connection_of(con) as connection:
        return connection.write_table(
            frame,
            table_name,
            schema_name=schema_name,
            if_exists=if_exists,
            columns=columns,
            types=types,
            index=index,
            nan_as_null=nan_as_null,
            on_conflict=on_conflict,
            conflict_columns=conflict_columns,
            progress=progress,
            timeout=timeout,
        )


def table_exists(connection: sync.Connection, table_name: str, schema_name: str | None) -> bool:
    """Return whether the table exists; without a schema, the search path is searched."""
    ((is_there,),) = connection.fetch_plain(EXISTS, target(table_name, schema_name))
    return bool(is_there)
