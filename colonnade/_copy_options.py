"""The text of a COPY statement from Python's options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from colonnade._quoting import quote_identifier, quote_literal
from colonnade.errors import UnsupportedServerFeatureError
from colonnade.errors._place import ComposedSql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Option -> how its value is written. WHERE stands behind the options and is no part of them.
_WORDS = {"format"}
_FLAGS = {"oids", "freeze", "header"}
_TEXTS = {"delimiter", "null", "quote", "escape", "encoding"}
# The others are lists of columns, or True for all of them.

# The first server with a condition on copied rows.
_WHERE_VERSION = 12


def table_target(table: str, columns: Sequence[str] | None, schema: str | None) -> str:
    """A table, and its columns where not all are meant."""
    target = quote_identifier(table)
    if schema is not None:
        target = f"{quote_identifier(schema)}.{target}"
    if columns:
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
    return ComposedSql(statement if where is None else f"{statement} WHERE {where}")


def check_where(where: str | None, settings: Mapping[str, str]) -> None:
    """Refuse a condition that the server does not know."""
    found = re.match(r"\d+", settings.get("server_version", ""))
    if where is not None and found is not None and int(found[0]) < _WHERE_VERSION:
        msg = f"the `where` of a copy needs PostgreSQL {_WHERE_VERSION} or newer"
        raise UnsupportedServerFeatureError(msg)


def _option(name: str, value: Any) -> str:
    word = name.upper()
    if name in _WORDS:
        return f"{word} {quote_identifier(str(value))}"
    if name in _FLAGS:
        # "match" is a header that must agree with the columns.
        return f"{word} {quote_literal(value) if isinstance(value, str) else bool(value)}"
    if name in _TEXTS:
        return f"{word} {quote_literal(str(value))}"
    if value is True:
        return f"{word} *"
    names = (value,) if isinstance(value, str) else value
    return f"{word} ({', '.join(map(quote_identifier, names))})"
