"""COPY out of a table or query into columns, in the server's binary format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._async.literals import with_literals
from colonnade._copy_options import copy_statement, schema_hinted, table_target
from colonnade._quoting import quote_identifier
from colonnade._schema import asked_types

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade import _core
    from colonnade._async.conversation import Conversation
    from colonnade._async.conversing import Conversing
    from colonnade._schema import Schema
    from colonnade.columns import Columns
    from colonnade.types import Infinity

_BINARY = {"format": "binary"}


async def copy_columns_from_query(
    self: Conversing,
    query: str,
    *args: object,
    schema: Schema | None = None,
    infinity: Infinity = "raise",
    timeout: float | None = None,
) -> Columns:
    """Copy a query's rows out, and return them as `Columns`.

    The result is that of `fetch_columns`, by another road: `COPY (query) TO STDOUT` in the
    binary format. `args` are the values of `$1`, `$2`, ...; COPY takes no parameters, so that
    the server is asked for each one's literal first. A type that has no binary form (`money`,
    `aclitem`, `regclass`) must be cast to text in the query.

    `schema` and `infinity` are as in `fetch_columns`.
    """
    copy = copy_statement(f"({query}\n)", "TO STDOUT", _BINARY)
    async with self.conversation.operation(timeout, copy, args):
        statement = await self.conversation.prepared(query)
        if args or statement.parameters:
            query = await with_literals(self.conversation, query, statement, args)
            # The literals have the parameters' types: the columns are the same.
            copy = copy_statement(f"({query}\n)", "TO STDOUT", _BINARY)
        return await _copied(self.conversation, copy, statement, schema, infinity)


async def copy_columns_from_table(
    self: Conversing,
    table_name: str,
    *,
    columns: Sequence[str] | None = None,
    schema_name: str | None = None,
    schema: Schema | None = None,
    infinity: Infinity = "raise",
    timeout: float | None = None,
) -> Columns:
    """Copy a table's rows out, and return them as `Columns`.

    `columns` are the table's columns that are wanted, in this order; all of them where it is
    None, but for generated ones, which COPY leaves out. A view is no table: use
    `copy_columns_from_query`. `schema` and `infinity` are as in `fetch_columns`.
    """
    table = table_target(table_name, None, schema_name)
    told = copy_statement(table_target(table_name, columns, schema_name), "TO STDOUT", _BINARY)
    with schema_hinted(table_name, schema_name):
        async with self.conversation.operation(timeout, told):
            if columns is None:
                columns = await _copied_columns(self.conversation, table)
            statement = await self.conversation.prepared(
                f"SELECT {_column_list(columns)} FROM {table}"
            )
            target = table_target(table_name, columns, schema_name) if columns else table
            copy = copy_statement(target, "TO STDOUT", _BINARY)
            return await _copied(self.conversation, copy, statement, schema, infinity)


async def _copied(
    conversation: Conversation,
    copy: str,
    statement: _core.Statement,
    schema: Schema | None,
    infinity: str,
) -> Columns:
    overrides = asked_types(schema)
    conversation.session.copy_batches(copy, statement, overrides, infinity, None)
    columns, _ = await conversation.whole_columns(schema)
    return columns


async def _copied_columns(conversation: Conversation, table: str) -> list[str]:
    """The columns that a COPY of the whole table has."""
    rows = await conversation.plain_rows(
        "SELECT attname::pg_catalog.text FROM pg_catalog.pg_attribute "
        "WHERE attrelid OPERATOR(pg_catalog.=) $1::pg_catalog.text::pg_catalog.regclass "
        "AND attnum OPERATOR(pg_catalog.>) 0 AND NOT attisdropped "
        "AND attgenerated OPERATOR(pg_catalog.=) '' ORDER BY attnum",
        (table,),
    )
    return [row[0] for row in rows]


def _column_list(columns: Sequence[str]) -> str:
    return ", ".join(map(quote_identifier, columns))
