"""The text of a COPY statement from Python's options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Option -> how its value is written. WHERE stands behind the options and is no part of them.
_WORDS = {"format"}
_FLAGS = {"oids", "freeze", "header"}
_TEXTS = {"delimiter", "null", "quote", "escape", "encoding"}
_COLUMN_LISTS = {"force_quote", "force_not_null", "force_null"}


def quote_identifier(name: str) -> str:
    """A name as SQL text; it may hold any character but NUL."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def quote_literal(text: str) -> str:
    """A string as SQL text, whatever `standard_conforming_strings` is."""
    escaped = text.replace("'", "''")
    if "\\" in escaped:
        doubled = escaped.replace("\\", "\\\\")
        return f"E'{doubled}'"
    return f"'{escaped}'"


def table_target(table: str, columns: Sequence[str] | None, schema: str | None) -> str:
    """A table, and its columns where not all are meant."""
    target = quote_identifier(table)
    if schema is not None:
        target = f"{quote_identifier(schema)}.{target}"
    if columns is not None:
        target += f" ({', '.join(map(quote_identifier, columns))})"
    return target


def copy_statement(target: str, direction: str, options: Mapping[str, Any]) -> str:
    """The whole statement. Options that are None are left out."""
    given = {name: value for name, value in options.items() if value is not None}
    where = given.pop("where", None)
    parts = [_option(name, value) for name, value in given.items()]
    statement = f"COPY {target} {direction}"
    if parts:
        statement += f" ({', '.join(parts)})"
    if where is not None:
        if direction != "FROM STDIN":
            msg = "where= goes with copies into a table only; put the condition into a query"
            raise InterfaceError(msg)
        statement += f" WHERE {where}"
    return statement


def _option(name: str, value: Any) -> str:
    word = name.upper()
    if name in _WORDS:
        return f"{word} {quote_identifier(str(value))}"
    if name in _FLAGS:
        # "match" is a header that must agree with the columns.
        return f"{word} {quote_literal(value) if isinstance(value, str) else bool(value)}"
    if name in _TEXTS:
        return f"{word} {quote_literal(str(value))}"
    if name in _COLUMN_LISTS:
        if value is True:
            return f"{word} *"
        return f"{word} ({', '.join(map(quote_identifier, value))})"
    known = sorted(_WORDS | _FLAGS | _TEXTS | _COLUMN_LISTS | {"where"})
    msg = f"COPY has no option {name!r}; it has {', '.join(known)}"
    raise InterfaceError(msg)
