# Generated from colonnade/_driver/_async/dtype_fetch.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Queries whose text carries a dtype: their rows become arrays instead of records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from colonnade import _core
from colonnade._driver._sync.series import run_many
from colonnade._driver.dtype_query import ResultBuilder
from colonnade._driver.transport.event import batch_of, completion_of
from colonnade.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade._driver._sync.conversation import Conversation
    from colonnade._driver._sync.own_statement import OwnStatement
    from colonnade._driver._sync.series import Arguments
    from colonnade._driver.dtype_query import DtypeQuery

S = TypeVar("S", bound=ResultBuilder)


def dtype_whole(
    conversation: Conversation,
    query: DtypeQuery,
    args: tuple[object, ...],
    timeout: float | None,
    *,
    prepared: OwnStatement | None = None,
) -> Any:
    """All rows, as the query's builder makes them."""
    builder = _filled_builder(
        conversation, query, query.builder, args, timeout, row_limit=0, prepared=prepared
    )
    return builder.whole()


def dtype_row(
    conversation: Conversation,
    query: DtypeQuery,
    args: tuple[object, ...],
    timeout: float | None,
    *,
    prepared: OwnStatement | None = None,
) -> Any:
    """The first row, as the query's builder makes it, or None if there is none."""
    builder = _filled_builder(
        conversation, query, query.row_builder, args, timeout, row_limit=1, prepared=prepared
    )
    rows = builder.rows()
    return rows[0] if rows else None


def dtype_value(
    conversation: Conversation,
    query: DtypeQuery,
    args: tuple[object, ...],
    column: int | str,
    timeout: float | None,
    *,
    prepared: OwnStatement | None = None,
) -> Any:
    """A value of the first row, or None if there is none."""
    builder = _filled_builder(
        conversation, query, query.row_builder, args, timeout, row_limit=1, prepared=prepared
    )
    return builder.value(column)


def dtype_many(
    conversation: Conversation,
    query: DtypeQuery,
    args: Arguments,
    timeout: float | None,
    *,
    prepared: OwnStatement | None = None,
    types: tuple[int, ...] = (),
) -> Any:
    """The rows of all sets of arguments, as the query's builder makes them.

    `prepared` is the statement to run; None means the one kept for the text.
    """
    builders: list[ResultBuilder] = []

    def begin(statement: _core.Statement) -> _core.ManyArguments:
        builder = query.builder(statement.columns)
        builders[:] = [builder]
        return conversation.session.fetch_many_batch(statement, builder.schema, builder.infinity)

    with conversation.series(timeout, query, args):
        try:
            completion = run_many(conversation, query, args, begin, types=types, own=prepared)
            builders[0].add(conversation.decoded(batch_of(completion)))
        except DecodeError as error:
            if builders and (refusal := builders[0].refusal(error)) is not error:
                raise refusal from error
            raise
    return builders[0].whole()


def _filled_builder(
    conversation: Conversation,
    query: DtypeQuery,
    builder_of: Callable[[list[tuple[str, _core.PgType, int]]], S],
    args: tuple[object, ...],
    timeout: float | None,
    *,
    row_limit: int,
    prepared: OwnStatement | None,
) -> S:
    """Run a query, and pass the rows to its builder; `row_limit` 0 fetches all.

    `prepared` is the statement to run; None means the one kept for the text.
    """
    builders: list[S] = []

    def begin(statement: _core.Statement) -> None:
        # A newly prepared statement may have other columns.
        builder = builder_of(statement.columns)
        builders[:] = [builder]
        schema, infinity, batch_rows = builder.schema, builder.infinity, builder.batch_rows
        if batch_rows is None:
            conversation.session.fetch_columns(statement, args, schema, infinity, row_limit)
        else:
            conversation.session.stream_columns(
                statement, args, schema, infinity, batch_rows, row_limit
            )

    with conversation.operation(timeout, query, args):
        try:
            event = conversation.run(query, begin, own=prepared)
            while isinstance(event, _core.Batch):
                builders[0].add(conversation.decoded(event))
                event = conversation.transport.next_event()
            completion = completion_of(event)
            if completion.batch is not None:
                builders[0].add(conversation.decoded(completion.batch))
        except DecodeError as error:
            if builders and (refusal := builders[0].refusal(error)) is not error:
                raise refusal from error
            raise
    if prepared is not None:
        prepared.take_note(completion)
    return builders[0]
