"""Tables that frames are written to: the checks, and the statements that prepare them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TypeAlias

from colonnade._driver.sql.quoting import quote_identifier
from colonnade._words.arguments import check_choice, check_name, check_names
from colonnade._words.shown import shown
from colonnade.errors import (
    DuplicateTableError,
    InterfaceError,
    InterfaceValueError,
    UniqueViolationError,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

IfExists: TypeAlias = Literal["fail", "append", "replace", "truncate"]
_IF_EXISTS = ("fail", "append", "replace", "truncate")
_ON_CONFLICT = ("nothing", "update")
EXISTS = "SELECT pg_catalog.to_regclass($1) IS NOT NULL"


def check_writing(
    table_name: object,
    schema_name: object,
    if_exists: object,
    on_conflict: object,
    conflict_columns: object,
) -> None:
    """Raise TypeError or ValueError for options of `write_table` that are wrong."""
    check_names("conflict_columns", conflict_columns)
    check_choice("if_exists", if_exists, _IF_EXISTS)
    check_name("table_name", table_name)
    if schema_name is not None:
        check_name("schema_name", schema_name)
    if not table_name or schema_name == "":
        raise ValueError("table_name and schema_name must not be empty")
    if on_conflict is not None:
        check_choice("on_conflict", on_conflict, _ON_CONFLICT)
    if on_conflict is not None and if_exists != "append":
        raise InterfaceValueError(f'on_conflict needs if_exists="append", not "{if_exists}"')


def target(table_name: str, schema_name: str | None) -> str:
    """The table, quoted; without a schema, the search path is searched."""
    names = [table_name] if schema_name is None else [schema_name, table_name]
    return ".".join(map(quote_identifier, names))


@contextmanager
def created_once(table_name: str) -> Generator[None]:
    """Raise DuplicateTableError if another session creates the table at the same time.

    PostgreSQL then reports the unique indexes of its catalogs, as if rows had clashed.
    """
    try:
        yield
    except UniqueViolationError as error:
        if error.schema_name != "pg_catalog":
            raise
        raised = DuplicateTableError(
            f"another session has created the table {shown(table_name)} meanwhile"
        )
        raised.hint = 'Call again, with if_exists="append", "replace" or "truncate" to write to it.'
        raise raised from error


def check_key(on_conflict: str | None, table: str) -> None:
    """Raise InterfaceError for `on_conflict` with a table that does not exist."""
    if on_conflict is not None:
        raise InterfaceError(
            f"on_conflict needs a table with a unique key, and there is no table {table}: create it"
        )


def emptying_sql(table: str, if_exists: IfExists, types: Mapping[str, str] | None) -> str:
    """The statement that treats an existing table as `if_exists` says; empty for none.

    Raises DuplicateTableError if it says that there must be no table, and InterfaceError if types
    are given for the columns that the table has.
    """
    if if_exists == "fail":
        error = DuplicateTableError(f"the table {table} exists")
        error.hint = 'Pass if_exists="append", "replace" or "truncate" to write to it.'
        raise error
    if if_exists == "replace":
        return f"DROP TABLE {table}"
    if types:
        raise InterfaceError(
            f"types is for a new table, and {table} exists: "
            'leave it out, or pass if_exists="replace"'
        )
    return f"TRUNCATE {table}" if if_exists == "truncate" else ""
