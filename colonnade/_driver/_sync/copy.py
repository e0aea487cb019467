# Generated from colonnade/_driver/_async/copy.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""COPY between a table or query and bytes, in the server's text, CSV or binary format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._driver._sync.copy_ends import CHUNK_BYTES, Input, Output
from colonnade._driver._sync.copy_in import begin_copy_in, end_copy_in
from colonnade._driver._sync.literals import with_literals
from colonnade._driver._sync.long_names import whole_names
from colonnade._driver.sql.copy_options import (
    check_where,
    copy_statement,
    schema_hinted,
    table_target,
)
from colonnade._driver.transport.event import completion_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade._driver._sync.connection_base import ConnectionBase
    from colonnade._driver._sync.conversation import Conversation
    from colonnade._driver._sync.copy_ends import Sink, Source

    ColumnList = Sequence[str] | bool


def copy_to_table(
    self: ConnectionBase,
    table_name: str,
    *,
    source: Source,
    columns: Sequence[str] | None = None,
    schema_name: str | None = None,
    timeout: float | None = None,
    format: str | None = None,  # noqa: A002 - asyncpg's name
    oids: bool | None = None,
    freeze: bool | None = None,
    delimiter: str | None = None,
    null: str | None = None,
    header: bool | str | None = None,
    quote: str | None = None,
    escape: str | None = None,
    force_quote: ColumnList | None = None,
    force_not_null: ColumnList | None = None,
    force_null: ColumnList | None = None,
    encoding: str | None = None,
    where: str | None = None,
) -> str:
    """Copy bytes into a table, and return the status, such as `COPY 1000`.

    `source` is a path, a binary file (its `read` may be a coroutine function), a bytes-like object,
    or an (async) iterable of bytes-like objects. It holds rows in the `format` "text" (the
    default), "csv" or "binary"; the other options are those of PostgreSQL's COPY, and None omits an
    option. Lists of columns may be True for all of them.

    Files are read in a thread of the loop's executor; an iterable is read as fast as the server
    takes the data. An error of the source aborts the copy: none of its rows stay in the table.

    Raises TypeError for a source of another kind, and UnsupportedServerFeatureError for `where`
    with a server before PostgreSQL 12.
    """
    given = Input(self.conversation.transport, source)
    check_where(where, self.conversation.session.parameters)
    options = {
        "format": format,
        "oids": oids,
        "freeze": freeze,
        "delimiter": delimiter,
        "null": null,
        "header": header,
        "quote": quote,
        "escape": escape,
        "force_quote": force_quote,
        "force_not_null": force_not_null,
        "force_null": force_null,
        "encoding": encoding,
        "where": where,
    }
    table_name, schema_name, columns = whole_names(
        self.conversation, table_name, schema_name, columns
    )
    target = table_target(table_name, columns, schema_name)
    statement = copy_statement(target, "FROM STDIN", options)
    with schema_hinted(table_name, schema_name):
        with self.conversation.operation(timeout, statement), given as chunks:
            begin_copy_in(self.conversation, statement)
            for chunk in chunks:
                waiting = self.conversation.session.copy_data(chunk)
                if waiting is None:
                    break  # The server has refused the copy; the next event gives the reason.
                if waiting >= CHUNK_BYTES:
                    self.conversation.transport.flush()
                    # A socket that takes everything must not starve the loop's other tasks.
                    self.conversation.transport.give_turn()
            return end_copy_in(self.conversation)


def copy_from_table(
    self: ConnectionBase,
    table_name: str,
    *,
    output: Sink,
    columns: Sequence[str] | None = None,
    schema_name: str | None = None,
    timeout: float | None = None,
    format: str | None = None,  # noqa: A002 - asyncpg's name
    oids: bool | None = None,
    delimiter: str | None = None,
    null: str | None = None,
    header: bool | str | None = None,
    quote: str | None = None,
    escape: str | None = None,
    force_quote: ColumnList | None = None,
    encoding: str | None = None,
) -> str:
    """Copy a table's rows out as bytes, and return the status, such as `COPY 1000`.

    `output` is a path, a binary file (its `write` may be a coroutine function), or a coroutine
    function that takes bytes. Files are written in a thread of the loop's executor; a slow output
    holds the server back. The options are those of PostgreSQL's COPY, and None omits an option;
    `force_quote` may be True for all columns.

    An error of the output ends the copy. Raises TypeError for an output of another kind.
    """
    options = {
        "format": format,
        "oids": oids,
        "delimiter": delimiter,
        "null": null,
        "header": header,
        "quote": quote,
        "escape": escape,
        "force_quote": force_quote,
        "encoding": encoding,
    }
    target = Output(self.conversation.transport, output)
    table_name, schema_name, columns = whole_names(
        self.conversation, table_name, schema_name, columns
    )
    table = table_target(table_name, columns, schema_name)
    statement = copy_statement(table, "TO STDOUT", options)
    with schema_hinted(table_name, schema_name):
        with self.conversation.operation(timeout, statement):
            return _copy_out(self.conversation, statement, target)


def copy_from_query(
    self: ConnectionBase,
    query: str,
    *args: object,
    output: Sink,
    timeout: float | None = None,
    format: str | None = None,  # noqa: A002 - asyncpg's name
    oids: bool | None = None,
    delimiter: str | None = None,
    null: str | None = None,
    header: bool | str | None = None,
    quote: str | None = None,
    escape: str | None = None,
    force_quote: ColumnList | None = None,
    encoding: str | None = None,
) -> str:
    """Copy a query's rows out as bytes; otherwise as `copy_from_table`.

    `args` are the values of `$1`, `$2`, ... of the query. COPY takes no parameters, so the server
    is first asked for the literal of each.
    """
    options = {
        "format": format,
        "oids": oids,
        "delimiter": delimiter,
        "null": null,
        "header": header,
        "quote": quote,
        "escape": escape,
        "force_quote": force_quote,
        "encoding": encoding,
    }
    target = Output(self.conversation.transport, output)
    # The query may end with a comment.
    statement = copy_statement(f"({query}\n)", "TO STDOUT", options)
    with self.conversation.operation(timeout, statement, args):
        if args:
            query = _written_out(self.conversation, query, args)
            statement = copy_statement(f"({query}\n)", "TO STDOUT", options)
        return _copy_out(self.conversation, statement, target)


def _written_out(conversation: Conversation, query: str, args: tuple[object, ...]) -> str:
    return with_literals(conversation, query, conversation.prepared(query), args)


def _copy_out(conversation: Conversation, statement: str, output: Output) -> str:
    with output as write:
        conversation.session.copy_out(statement)
        while isinstance(event := conversation.transport.next_event(), bytes):
            write(event)
    return completion_of(event).tag or ""
