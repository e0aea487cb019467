# Generated from colonnade/_driver/_async/write_table.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""`write_table`: a data frame as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._driver._sync.copy_in_columns import copy_columns_to_table
from colonnade._driver._sync.long_names import whole_names
from colonnade._driver._sync.plain import fetch_plain
from colonnade._driver._sync.savepoint import savepoint
from colonnade._driver._sync.transaction import transaction
from colonnade._driver.exact_dates import exact_dates
from colonnade._driver.sql.written_tables import (
    EXISTS,
    check_key,
    check_writing,
    created_once,
    emptying_sql,
    target,
)
from colonnade._driver.transport.exchanges import SCRIPT
from colonnade._words.progress import reporting
from colonnade._words.shown import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from colonnade._driver._sync.connection_base import ConnectionBase
    from colonnade._driver.copy_plan import OnConflict
    from colonnade._driver.sql.written_tables import IfExists
    from colonnade._words.progress import Progress

_SAVEPOINT = "colonnade_write_table"


def write_table(
    self: ConnectionBase,
    frame: Any,
    table_name: str,
    *,
    schema_name: str | None = None,
    if_exists: IfExists = "fail",
    columns: Sequence[str] | Mapping[str, str] | None = None,
    types: Mapping[str, str] | None = None,
    index: bool | str | Sequence[str] = False,
    nan_as_null: bool | None = None,
    on_conflict: OnConflict | None = None,
    conflict_columns: str | Sequence[str] | None = None,
    progress: Progress = False,
    timeout: float | None = None,
) -> int:
    """Copy a frame into a table, creating it if needed; return the number of rows written.

    `frame` is a frame of pandas or Polars, a table, batch or reader of pyarrow, a relation of
    DuckDB, a mapping of names to arrays, a structured array, `Columns`, or an iterable of these.
    Missing values and nulls become NULL.

    `if_exists` says how to treat an existing table: "fail" raises DuplicateTableError, "append"
    adds the rows, "replace" drops and recreates the table, "truncate" empties it and keeps its
    columns, indexes and privileges. Everything runs in one transaction: the connection's open one
    (within a savepoint), or else a new one. If anything fails, the database is unchanged.

    `columns` and `nan_as_null` are as in `copy_columns_to_table`. `types` gives SQL types for
    columns of a new table, by column name: `{"price": "numeric(12, 2)", "id": "bigint PRIMARY
    KEY"}`. The other types follow from the frame's Arrow types; see `colonnade docs dataframes`.

    `on_conflict` and `conflict_columns` need if_exists="append", and are as in
    `copy_columns_to_table`; the number is then that of the rows inserted or updated.

    `index` is as in `colonnade.write_table`. `progress` is called with the number of rows sent so
    far; True shows a bar and needs `rich`. `timeout`, in seconds, limits the copy.

    Raises DuplicateTableError as said above; InterfaceError for columns that the table does not
    have, and for a new table whose name has a dot if no `schema_name` is given; SchemaError for an
    Arrow type without a PostgreSQL type; EncodeError, with column, type and row, for a value that
    does not fit; PostgresError of the server; ValueError for a new table of an empty iterable.
    """
    from colonnade._driver.sources.geometries import with_geometry_types
    from colonnade._driver.sources.index import with_index

    check_writing(table_name, schema_name, if_exists, on_conflict, conflict_columns)
    source = with_index(frame, index)
    with exact_dates(self):
        with _one_unit(self):
            table_name, schema_name = whole_names(self.conversation, table_name, schema_name)
            is_made = _prepared(self, target(table_name, schema_name), if_exists, types)
            if is_made:
                check_key(on_conflict, target(table_name, schema_name))
            with reporting(progress, table_name, frame) as report, created_once(table_name):
                status = copy_columns_to_table(
                    self,
                    table_name,
                    source,
                    columns=columns,
                    schema_name=schema_name,
                    nan_as_null=nan_as_null,
                    create=with_geometry_types(frame, columns, types) if is_made else False,
                    on_conflict=on_conflict,
                    conflict_columns=conflict_columns,
                    progress=report,
                    timeout=timeout,
                )
            if is_made:
                _check_created(self, table_name, schema_name)
    return int(status.rpartition(" ")[2])


def _prepared(
    self: ConnectionBase, table: str, if_exists: IfExists, types: Mapping[str, str] | None
) -> bool:
    """Treat an existing table as `if_exists` says; return whether the table must be created."""
    if not _exists(self, table):
        return True
    emptying = emptying_sql(table, if_exists, types)
    if emptying:
        _run(self, emptying)
    return if_exists == "replace"


def _exists(self: ConnectionBase, table: str) -> bool:
    ((is_there,),) = fetch_plain(self, EXISTS, table)
    return bool(is_there)


def _check_created(self: ConnectionBase, table_name: str, schema_name: str | None) -> None:
    if not _exists(self, target(table_name, schema_name)):
        raise ValueError(f"frame is an empty iterable: cannot create {shown(table_name)}")


def _one_unit(self: ConnectionBase) -> AbstractContextManager[object]:
    """Make the block atomic: by a savepoint in an open transaction, else by a new transaction."""
    is_within = self.conversation.is_in_transaction
    return savepoint(self, _SAVEPOINT) if is_within else transaction(self)


def _run(self: ConnectionBase, sql: str) -> None:
    conversation = self.conversation
    conversation.ask(SCRIPT, (conversation.session, sql), None)
