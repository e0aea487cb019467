# Generated from colonnade/_driver/_async/shaped.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Queries whose text defines the shape of their result, instead of records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from colonnade import _core
from colonnade._driver._sync.series import run_many
from colonnade._driver.shaped_query import Shape
from colonnade._driver.transport.event import batch_of, completion_of
from colonnade.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade._driver._sync.conversation import Conversation
    from colonnade._driver._sync.own_statement import OwnStatement
    from colonnade._driver._sync.series import Arguments
    from colonnade._driver.shaped_query import ShapedQuery

S = TypeVar("S", bound=Shape)


def shaped_whole(
    conversation: Conversation,
    query: ShapedQuery,
    args: tuple[object, ...],
    timeout: float | None,
    *,
    prepared: OwnStatement | None = None,
) -> Any:
    """All rows, in the query's shape."""
    shape = _filled_shape(
        conversation, query, query.shape, args, timeout, row_limit=0, prepared=prepared
    )
    return shape.whole()


def shaped_row(
    conversation: Conversation,
    query: ShapedQuery,
    args: tuple[object, ...],
    timeout: float | None,
    *,
    prepared: OwnStatement | None = None,
) -> Any:
    """The first row, in the query's shape, or None if there is none."""
    shape = _filled_shape(
        conversation, query, query.row_shape, args, timeout, row_limit=1, prepared=prepared
    )
    rows = shape.rows()
    return rows[0] if rows else None


def shaped_value(
    conversation: Conversation,
    query: ShapedQuery,
    args: tuple[object, ...],
    column: int | str,
    timeout: float | None,
    *,
    prepared: OwnStatement | None = None,
) -> Any:
    """A value of the first row, or None if there is none."""
    shape = _filled_shape(
        conversation, query, query.row_shape, args, timeout, row_limit=1, prepared=prepared
    )
    return shape.value(column)


def shaped_many(
    conversation: Conversation,
    query: ShapedQuery,
    args: Arguments,
    timeout: float | None,
    *,
    prepared: OwnStatement | None = None,
    types: tuple[int, ...] = (),
) -> Any:
    """The rows of all sets of arguments, in the query's shape.

    `prepared` is the statement to run; None means the one kept for the text.
    """
    shapes: list[Shape] = []

    def begin(statement: _core.Statement) -> _core.ManyArguments:
        shape = query.shape(statement.columns)
        shapes[:] = [shape]
        return conversation.session.fetch_many_batch(statement, shape.schema, shape.infinity)

    with conversation.series(timeout, query, args):
        try:
            completion = run_many(conversation, query, args, begin, types=types, own=prepared)
            shapes[0].add(conversation.decoded(batch_of(completion)))
        except DecodeError as error:
            if shapes and (refusal := shapes[0].refusal(error)) is not error:
                raise refusal from error
            raise
    return shapes[0].whole()


def _filled_shape(
    conversation: Conversation,
    query: ShapedQuery,
    shape_of: Callable[[list[tuple[str, _core.PgType, int]]], S],
    args: tuple[object, ...],
    timeout: float | None,
    *,
    row_limit: int,
    prepared: OwnStatement | None,
) -> S:
    """Run a query, and pass the rows to its shape; `row_limit` 0 fetches all.

    `prepared` is the statement to run; None means the one kept for the text.
    """
    shapes: list[S] = []

    def begin(statement: _core.Statement) -> None:
        # A newly prepared statement may have other columns.
        shape = shape_of(statement.columns)
        shapes[:] = [shape]
        schema, infinity, batch_rows = shape.schema, shape.infinity, shape.batch_rows
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
                shapes[0].add(conversation.decoded(event))
                event = conversation.transport.next_event()
            completion = completion_of(event)
            if completion.batch is not None:
                shapes[0].add(conversation.decoded(completion.batch))
        except DecodeError as error:
            if shapes and (refusal := shapes[0].refusal(error)) is not error:
                raise refusal from error
            raise
    if prepared is not None:
        prepared.take_note(completion)
    return shapes[0]
