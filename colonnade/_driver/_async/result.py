"""A query's rows together with the server's description of them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from colonnade._columns.schema import asked_of, asked_types
from colonnade._driver._async.described import attribute
from colonnade._driver._async.series import declared, fetching_many, run_many
from colonnade._driver.transport.event import impossible
from colonnade._driver.transport.exchanges import HELD, RESULT
from colonnade._words.arguments import check_choice
from colonnade.columns import Columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade import _core
    from colonnade._columns.schema import Schema
    from colonnade._driver._async.connection_base import ConnectionBase
    from colonnade._driver._async.conversation import Conversation
    from colonnade._driver._async.series import Arguments
    from colonnade.types import Attribute, Infinity

# The number of rows made in one turn of the loop: about a millisecond's work.
_ROWS_PER_TURN = 1000


class _Described:
    """A result's description."""

    def __init__(self, completion: _core.Completion, timing: _core.QueryTiming | None) -> None:
        self._columns = completion.columns
        self.status: str = completion.tag or ""
        """The command tag, such as `INSERT 0 1`; empty for an empty query."""
        self.timing = timing
        """The query's timing, in seconds."""

    @property
    def has_rows(self) -> bool:
        """Whether the statement returns rows, even if there are none this time."""
        return bool(self._columns)

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        """Name and type of each column; empty for a command."""
        return tuple(attribute(name, pg_type) for name, pg_type, _modifier in self._columns)

    @cached_property
    def type_modifiers(self) -> tuple[int, ...]:
        """The modifier of each column's type, such as the length in `varchar(10)`; -1 for none.

        The numbers are PostgreSQL's `atttypmod`.
        """
        return tuple(modifier for _name, _type, modifier in self._columns)


class Result(_Described):
    """The result of a query; made by `Connection.fetch_result`."""

    def __init__(self, completion: _core.Completion, timing: _core.QueryTiming | None) -> None:
        super().__init__(completion, timing)
        self.rows: list[Any] = completion.rows or []
        """The rows; empty for a command, which `has_rows` tells from a result without rows."""

    @property
    def has_rows(self) -> bool:
        """Whether the statement returns rows, even if there are none this time."""
        return bool(self._columns or self.rows)

    def __repr__(self) -> str:
        """The status and the number of rows."""
        return f"<{type(self).__name__} {self.status!r}, {len(self.rows)} rows>"


class HeldResult(_Described):
    """A result not yet claimed as rows or as columns.

    Made by `Connection.hold_result`. The whole result has come, in the server's format; a value
    that does not fit Python's type or its column raises an error only when it is requested.
    """

    def __init__(
        self,
        conversation: Conversation,
        completion: _core.Completion,
        held: _core.HeldRows,
        timing: _core.QueryTiming | None,
    ) -> None:
        super().__init__(completion, timing)
        self._conversation = conversation
        self._held = held
        self.row_count: int = held.row_count
        """The total number of rows."""

    @property
    def has_rows(self) -> bool:
        """Whether the statement returns rows, even if there are none this time."""
        return bool(self._columns or self.row_count)

    @property
    def rows_left(self) -> int:
        """The number of rows not taken yet."""
        return self._held.rows_left

    async def fetch(self, n: int | None = None) -> list[Any]:
        """The next `n` rows, or as many as are left; None takes all of them."""
        # async-only: begin
        left = self._held.rows_left if n is None else min(n, self._held.rows_left)
        if left > _ROWS_PER_TURN:
            rows: list[Any] = []
            while len(rows) < left:
                rows += self._held.take_rows(min(_ROWS_PER_TURN, left - len(rows)))
                await self._conversation.transport.give_turn()
            return rows
        # async-only: end
        return self._held.take_rows(None if n is None else min(n, self._held.rows_left))

    async def fetch_columns(
        self, *, schema: Schema | None = None, infinity: Infinity = "raise"
    ) -> Columns:
        """All remaining rows, as `Columns`.

        `schema` and `infinity` are as in `Connection.fetch_columns`. Raises SchemaError for an
        impossible request, and for a column that requires another format than rows do; the rows are
        then still there. After a DecodeError they are lost, and further requests raise
        InterfaceError.
        """
        take = self._held.take_batch
        batch = await self._conversation.transport.off_loop(take, asked_types(schema), infinity)
        return Columns(self._conversation.decoded(batch), asked_of(schema), self.timing)

    def __repr__(self) -> str:
        """The status, and the number of rows left."""
        return f"<{type(self).__name__} {self.status!r}, {self.rows_left} rows left>"


async def fetch_result(
    self: ConnectionBase,
    query: str,
    *args: object,
    parameter_types: Sequence[int | None] | None = None,
    record_class: type[_core.Record | tuple[Any, ...]] | None = None,
    timeout: float | None = None,
) -> Result:
    """Run a query or a command, and return its rows, columns and status as a `Result`.

    `parameter_types` are the OIDs of the parameters' types, from `$1` on, in place of the server's
    inference; None or 0 lets the server infer a type. The server also infers a type declared as 705
    (`unknown`); beside values of that type, the parameter then takes a `str` in PostgreSQL's text
    form. The same text with other types is another prepared statement. `record_class` is as in
    `fetch`.
    """
    conversation, kind = self.conversation, record_class or self.row_making.record_class
    completion = await conversation.ask(
        RESULT,
        (conversation.session, query, args, 0, kind),
        timeout,
        declared=declared(parameter_types),
    )
    return Result(completion, conversation.timing())


async def fetchmany_result(
    self: ConnectionBase,
    query: str,
    args: Arguments,
    *,
    parameter_types: Sequence[int | None] | None = None,
    record_class: type[_core.Record | tuple[Any, ...]] | None = None,
    timeout: float | None = None,
) -> Result:
    """As `fetchmany`, but return the rows of all sets as one `Result`.

    The status counts the rows of all sets together.
    """
    conversation, types = self.conversation, declared(parameter_types)
    begin = fetching_many(conversation, record_class or self.row_making.record_class)
    async with conversation.series(timeout, query, args):
        completion = await run_many(conversation, query, args, begin, types=types)
    return Result(completion, conversation.timing())


async def hold_result(
    self: ConnectionBase,
    query: str,
    *args: object,
    parameter_types: Sequence[int | None] | None = None,
    record_class: type[_core.Record | tuple[Any, ...]] | None = None,
    expect: Literal["rows", "columns"] = "rows",
    timeout: float | None = None,
) -> HeldResult:
    """Run a query, and return its whole result, to be claimed later as rows or as columns.

    `expect` says which of them is likely; the other one is possible, but slower. Rows are made
    while the result comes in. The other parameters are as in `fetch_result`.
    """
    check_choice("expect", expect, ("rows", "columns"))
    conversation, kind = self.conversation, record_class or self.row_making.record_class
    completion = await conversation.ask(
        HELD,
        (conversation.session, query, args, kind, expect == "rows"),
        timeout,
        declared=declared(parameter_types),
    )
    if completion.held is None:
        raise impossible("the rows of a query", completion)
    return HeldResult(conversation, completion, completion.held, conversation.timing())
