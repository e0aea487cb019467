"""Names of tables, as texts that a caller passes where a query may stand as well."""

from __future__ import annotations

import re
from string import ascii_lowercase, ascii_uppercase
from typing import TYPE_CHECKING

from colonnade._driver.sql.quoting import check_length, quote_identifier, whole_on

if TYPE_CHECKING:
    from colonnade import sync

_NAME = r'"(?:[^"]|"")+"|[^\W\d][\w$]*'
_TABLE = re.compile(rf"\s*(?:{_NAME})(?:\s*\.\s*(?:{_NAME})){{0,2}}\s*")
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
# Found by a cast and not within FROM, where some names are functions: `user` is CURRENT_USER.
_FOUND = """
SELECT pg_catalog.format('%I.%I', n.nspname, c.relname)
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
WHERE c.oid OPERATOR(pg_catalog.=) $1::pg_catalog.text::pg_catalog.regclass::pg_catalog.oid
"""


def is_table(text: str) -> bool:
    """Whether a text is the name of a table, with or without schema, and not a query."""
    return _TABLE.fullmatch(text) is not None


def parts_of(name: str) -> list[str]:
    """Return the parts of a name as SQL reads them: without quotes, A to Z are in lower case."""
    return [
        part[1:-1].replace('""', '"') if part.startswith('"') else part.translate(_LOWER)
        for part in re.findall(_NAME, name)
    ]


def quoted(name: str) -> str:
    """Return a name with all its parts quoted: no part is a keyword then."""
    return ".".join(map(quote_identifier, parts_of(name)))


def derived(query: str) -> str:
    """Return a query as the text after FROM; it may end with semicolons, as in `read_sql`."""
    bare = query.rstrip("; \t\r\n")
    return f"({bare}\n) AS source"


def found_table(connection: sync.Connection, name: str) -> str:
    """Return the quoted name, with its schema, of the table that a name means on a connection.

    Raises UndefinedTableError if there is none, InterfaceError for a name that would be cut.
    """
    for part in whole_on(connection, *parts_of(name)):
        check_length(part)
    ((found,),) = connection.fetch_plain(_FOUND, name)
    return str(found)
