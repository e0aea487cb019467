"""COPY statements, written from Python options."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

from colonnade._driver.sql.quoting import quote_identifier, quote_literal
from colonnade._words.arguments import check_name, check_names, check_switch
from colonnade._words.shown import shown
from colonnade.errors import UndefinedTableError, UnsupportedServerFeatureError
from colonnade.errors._place import ComposedSql

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

# Options by the form of their values. WHERE follows the options and is not one of them.
_WORDS = {"format"}
_FLAGS = {"oids", "freeze", "header"}
_TEXTS = {"delimiter", "null", "quote", "escape", "encoding"}
# All other options are lists of columns, or True for all columns.

# The first version of PostgreSQL with COPY ... WHERE.
_WHERE_VERSION = 12


def table_target(table: str, columns: Sequence[str] | None, schema: str | None) -> str:
    """Return the quoted table name, with the columns if `columns` names some."""
    check_name("table_name", table)
    if schema is not None:
        check_name("schema_name", schema)
    target = quote_identifier(table)
    if schema is not None:
        target = f"{quote_identifier(schema)}.{target}"
    check_names("columns", columns)
    if columns:
        target += f" ({', '.join(map(quote_identifier, columns))})"
    return target


def schema_hint(table: str, schema: str | None) -> str | None:
    """Return a hint on `schema_name` if the table's name looks like schema.table; else None."""
    first, dot, rest = table.partition(".")
    if schema is not None or not (first and dot and rest):
        return None
    names = f"table_name={shown(rest)}, schema_name={shown(first)}"
    return f"a dot is part of a table's name here: pass {names}"


@contextlib.contextmanager
def schema_hinted(table: str, schema: str | None) -> Generator[None, None, None]:
    """Add the hint to the server's error if the table does not exist."""
    try:
        yield
    except UndefinedTableError as error:
        hint = schema_hint(table, schema)
        if hint is not None:
            error.add_note(hint)
        raise


def copy_statement(target: str, direction: str, options: Mapping[str, Any]) -> str:
    """Return the COPY statement. Options that are None are left out."""
    given = {name: value for name, value in options.items() if value is not None}
    where = given.pop("where", None)
    parts = [_option(name, value) for name, value in given.items()]
    statement = f"COPY {target} {direction}"
    if parts:
        statement += f" ({', '.join(parts)})"
    return ComposedSql(statement if where is None else f"{statement} WHERE {where}")


def check_where(where: str | None, settings: Mapping[str, str]) -> None:
    """Raise UnsupportedServerFeatureError if the server's version lacks COPY ... WHERE."""
    if where is not None:
        check_name("where", where)
    found = re.match(r"\d+", settings.get("server_version", ""))
    if where is not None and found is not None and int(found[0]) < _WHERE_VERSION:
        msg = f"the `where` of a copy needs PostgreSQL {_WHERE_VERSION} or newer"
        raise UnsupportedServerFeatureError(msg)


def _option(name: str, value: Any) -> str:
    word = name.upper()
    if name in _WORDS:
        check_name(name, value)
        return f"{word} {quote_identifier(value)}"
    if name in _FLAGS:
        if not isinstance(value, str):
            check_switch(name, value)
        # HEADER also accepts the string "match".
        return f"{word} {quote_literal(value) if isinstance(value, str) else bool(value)}"
    if name in _TEXTS:
        check_name(name, value)
        return f"{word} {quote_literal(value)}"
    if value is True:
        return f"{word} *"
    check_names(name, value)
    names = (value,) if isinstance(value, str) else value
    return f"{word} ({', '.join(map(quote_identifier, names))})"
