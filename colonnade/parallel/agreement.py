"""Whether a query has the same rows whenever it runs in one snapshot, as each part runs it anew."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from colonnade import sync

_LITERAL = re.compile(r"'(?:[^']|'')*'")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_NAME = r'(?:"(?:[^"]|"")*"|[^\W\d][\w$]*)'
_CALL = re.compile(rf"(?:({_NAME})\.)?({_NAME})\(")
# All in which words of a query are no words of SQL.
_ASIDE = re.compile(rf"{_LITERAL.pattern}|{_QUOTED.pattern}|--[^\n]*|/\*.*?\*/", re.DOTALL)
_DISTINCT_ON = re.compile(r"\bdistinct\s+on\b", re.IGNORECASE)
_CLOCK = re.compile(r"\b(?:CURRENT_(?:DATE|TIME|TIMESTAMP)|LOCALTIME(?:STAMP)?)\b")
# Stable functions whose value is that of one transaction, statement or connection.
_OF_ONE_TRANSACTION = {
    *("now", "transaction_timestamp", "statement_timestamp", "pg_backend_pid", "txid_current"),
    *("txid_current_if_assigned", "pg_current_xact_id", "pg_current_xact_id_if_assigned"),
    *("pg_my_temp_schema", "inet_client_port", "pg_xact_commit_timestamp"),
}
# Their values follow the order of the rows, in which rows that are equal in it change places.
_BY_ORDER = {
    *("row_number", "ntile", "lag", "lead", "first_value", "last_value", "nth_value", "any_value"),
}
_VOLATILE = """
SELECT p.proname::pg_catalog.text
FROM pg_catalog.pg_proc AS p
JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
JOIN ROWS FROM (
    pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[])
) AS named (schema, name)
    ON named.name OPERATOR(pg_catalog.=) p.proname::pg_catalog.text
    AND coalesce(
        named.schema OPERATOR(pg_catalog.=) n.nspname::pg_catalog.text,
        pg_catalog.pg_function_is_visible(p.oid)
    )
WHERE p.provolatile OPERATOR(pg_catalog.=) 'v'::pg_catalog."char"
    AND p.prorettype OPERATOR(pg_catalog.<>) 'pg_catalog.void'::pg_catalog.regtype::pg_catalog.oid
ORDER BY p.proname LIMIT 1
"""


def check_agreement(
    connection: sync.Connection, relation: str, plan: Mapping[str, Any], *, is_query: bool
) -> None:
    """Raise InterfaceError for a plan whose rows may differ from one part to the next.

    `plan` is the server's, in full. The server is asked about functions, if it calls some.
    """
    if is_query and _DISTINCT_ON.search(_ASIDE.sub(" ", relation)):
        raise _refused("DISTINCT ON takes one of several rows")
    called: set[tuple[str | None, str]] = set()
    for node in _nodes(plan):
        if node["Node Type"] == "Limit" and not _is_extreme(node):
            raise _refused("LIMIT, OFFSET or FETCH takes some of its rows")
        if node["Node Type"] == "Sample Scan" and "Repeatable Seed" not in node:
            raise _refused("TABLESAMPLE without REPEATABLE draws other rows each time")
        for expression in _expressions(node):
            clock = _CLOCK.search(_QUOTED.sub('""', expression))
            if clock is not None:
                raise _refused(f"{clock[0]} is the time of one transaction")
            called.update(_calls(expression))
    _check_calls(connection, called)


def _check_calls(connection: sync.Connection, called: set[tuple[str | None, str]]) -> None:
    names = {name for _, name in called}
    if found := sorted(names & _OF_ONE_TRANSACTION):
        raise _refused(f"{found[0]}() is the value of one transaction")
    if found := sorted(names & _BY_ORDER):
        raise _refused(f"{found[0]}() follows an order in which rows may change places")
    if called:
        schemas, named = zip(*called, strict=True)
        rows = connection.fetch_plain(_VOLATILE, list(schemas), list(named))
        if rows:
            raise _refused(f"{rows[0][0]}() is volatile")


def _nodes(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    for below in node.get("Plans", ()):
        yield from _nodes(below)


def _is_extreme(limit: Mapping[str, Any]) -> bool:
    """Whether it is how the server finds min(x) or max(x): the first x of an index on it."""
    leaves = [node for node in _nodes(limit) if "Plans" not in node]
    return limit.get("Parent Relationship") == "InitPlan" and all(
        f"({', '.join(leaf.get('Output', ()))} IS NOT NULL)" in leaf.get("Index Cond", "")
        for leaf in leaves
    )


def _expressions(node: Mapping[str, Any]) -> Iterator[str]:
    """The expressions of a node without their literals; names of relations have no calls."""
    for value in node.values():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str):
                yield _LITERAL.sub("''", each)


def _calls(expression: str) -> Iterator[tuple[str | None, str]]:
    for schema, name in _CALL.findall(expression):
        yield (_plain(schema) or None), _plain(name)


def _plain(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _refused(why: str) -> InterfaceError:
    return InterfaceError(
        f"each part would run the query anew, and get other rows than the next: {why}",
        hint="Write its rows into a table (CREATE TABLE ... AS), and read that.",
    )
