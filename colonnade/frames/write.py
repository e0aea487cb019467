"""`write_table`: a data frame as a table."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from colonnade._driver.sql.quoting import quote_identifier, whole_on
from colonnade._words.arguments import check_names
from colonnade._words.shown import class_name, shown
from colonnade.errors import DuplicateTableError, InterfaceError
from colonnade.frames.connectable import Connectable, connection_of
from colonnade.frames.geo import with_geometry_types
from colonnade.frames.index import with_index
from colonnade.frames.progress import Progress, reporting

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager

    from colonnade import sync

IfExists: TypeAlias = Literal["fail", "append", "replace", "truncate"]
OnConflict: TypeAlias = Literal["nothing", "update"]
_SAVEPOINT = "colonnade_write_table"
_IF_EXISTS = ("fail", "append", "replace", "truncate")


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
    on_conflict: OnConflict | None = None,
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
    _check_options(table_name, schema_name, if_exists, on_conflict, conflict_columns)
    source = with_index(frame, index)
    with connection_of(con) as connection, _one_unit(connection):
        table_name, schema_name = whole_on(connection, table_name, schema_name)
        is_made = _prepared(connection, table_name, schema_name, if_exists, types)
        if is_made and on_conflict is not None:
            raise InterfaceError(_no_key(table_name, schema_name))
        with reporting(progress, table_name, frame) as report:
            status = connection.copy_columns_to_table(
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
        if is_made and not table_exists(connection, table_name, schema_name):
            raise ValueError(f"frame is an empty iterable: cannot create {shown(table_name)}")
    return int(status.rpartition(" ")[2])


def _check_options(
    table_name: object,
    schema_name: object,
    if_exists: object,
    on_conflict: object,
    conflict_columns: object,
) -> None:
    check_names("conflict_columns", conflict_columns)
    if not isinstance(if_exists, str) or if_exists not in _IF_EXISTS:
        raise ValueError(
            f"if_exists must be one of {', '.join(_IF_EXISTS)}, not {shown(if_exists)}"
        )
    for option, name in (("table_name", table_name), ("schema_name", schema_name)):
        if not isinstance(name, str) and (name is not None or option == "table_name"):
            raise TypeError(f"{option} must be a str, not {class_name(name)}")
    if on_conflict is not None and if_exists != "append":
        raise InterfaceError(f'on_conflict needs if_exists="append", not "{if_exists}"')


def _no_key(table_name: str, schema_name: str | None) -> str:
    target = _target(table_name, schema_name)
    return f"on_conflict needs a table with a unique key, and there is no table {target}: create it"


def _prepared(
    connection: sync.Connection,
    table_name: str,
    schema_name: str | None,
    if_exists: IfExists,
    types: Mapping[str, str] | None,
) -> bool:
    """Treat an existing table as `if_exists` says; return whether the table must be created."""
    if not table_exists(connection, table_name, schema_name):
        return True
    target = _target(table_name, schema_name)
    if if_exists == "fail":
        error = DuplicateTableError(f"the table {target} exists")
        error.hint = 'Pass if_exists="append", "replace" or "truncate" to write to it.'
        raise error
    if if_exists == "replace":
        connection.execute(f"DROP TABLE {target}")
        return True
    if types:
        raise InterfaceError(
            f"types is for a new table, and {target} exists: "
            'leave it out, or pass if_exists="replace"'
        )
    if if_exists == "truncate":
        connection.execute(f"TRUNCATE {target}")
    return False


def table_exists(connection: sync.Connection, table_name: str, schema_name: str | None) -> bool:
    """Return whether the table exists; without a schema, the search path is searched."""
    asked = "SELECT pg_catalog.to_regclass($1) IS NOT NULL"
    ((is_there,),) = connection.fetch_plain(asked, _target(table_name, schema_name))
    return bool(is_there)


def _target(table_name: str, schema_name: str | None) -> str:
    names = [table_name] if schema_name is None else [schema_name, table_name]
    return ".".join(map(quote_identifier, names))


def _one_unit(connection: sync.Connection) -> AbstractContextManager[object]:
    """Make the block atomic: by a savepoint in an open transaction, else by a new transaction."""
    return _savepoint(connection) if connection.is_in_transaction() else connection.transaction()


@contextlib.contextmanager
def _savepoint(connection: sync.Connection) -> Generator[None, None, None]:
    # connection.transaction() refuses to nest in a transaction that an explicit BEGIN opened.
    connection.execute(f"SAVEPOINT {_SAVEPOINT}")
    try:
        yield
    except BaseException:
        if not connection.is_closed():
            connection.execute(f"ROLLBACK TO {_SAVEPOINT}; RELEASE {_SAVEPOINT}")
        raise
    connection.execute(f"RELEASE {_SAVEPOINT}")
