"""New rows, whole or in batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from colonnade._words.arguments import check_count
from colonnade.errors import InterfaceError
from colonnade.incremental._loan.asyncio import Loan
from colonnade.incremental.request import New, Request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    import colonnade
    from colonnade import Columns
    from colonnade.incremental._loan.asyncio import Connectable
    from colonnade.incremental.request import Asked, State
    from colonnade.types import Infinity


async def read_new(
    table: str,
    con: Connectable,
    *,
    by: str,
    state: Mapping[str, Any] | None = None,
    columns: Sequence[str] | None = None,
    schema: Any = None,
    infinity: Infinity = "raise",
    timeout: float | None = None,
) -> New:
    """Read the rows that were committed since the read that returned `state`, or all with None.

    Returns the rows as `Columns`, and the state for the next read. Save the state after the rows
    have been dealt with: then nothing is lost, and after a crash the last rows come again. Save it
    with your results in one transaction, and each row counts exactly once.

    `by` is a column `xid8 NOT NULL DEFAULT pg_current_xact_id()`, best with an index. Rows that are
    updated come again if the update sets it; `tracking_sql` makes a trigger that does. Deleted rows
    do not come. Rows of the caller's own transaction come with a read after its end. No read waits
    for running transactions.

    `con` is a DSN, a connection or a pool, but not of a replica; that of `incremental.sync` is as
    in `read_sql`. `columns` names the wanted columns; `schema`, `infinity` and `timeout` are as in
    `fetch_columns`.

    Raises InterfaceError for a column that cannot tell, and for a state of another table or server,
    or from before a promotion; ObjectNotInPrerequisiteStateError for a replica.
    """
    request = Request(table, by=by, state=state, columns=columns)
    async with Loan(con) as connection:
        asked = await _asked(request, connection)
        rows = await connection.fetch_columns(
            asked.sql, *asked.args, schema=schema, infinity=infinity, timeout=timeout
        )
    return New(rows, asked.state)


def iter_new(
    table: str,
    con: Connectable,
    *,
    by: str,
    state: Mapping[str, Any] | None = None,
    columns: Sequence[str] | None = None,
    batch_rows: int = 65_536,
    schema: Any = None,
    infinity: Infinity = "raise",
    timeout: float | None = None,
) -> NewBatches:
    """As `read_new`, in batches of `batch_rows` rows: for the first read of a large table.

    Iterate over the result in an `async with` block; its `state` is there after the last batch.
    `timeout` limits the wait for each batch. The end of the block, or `aclose`, ends the query of a
    loop that was left early. Without the block, it ends with the last reference: a name, or a
    traceback.
    """
    check_count("batch_rows", batch_rows)
    options = {
        "batch_rows": batch_rows,
        "schema": schema,
        "infinity": infinity,
        "timeout": timeout,
    }
    request = Request(table, by=by, state=state, columns=columns)
    return NewBatches(request, Loan(con), options)


class NewBatches:
    """New rows in batches, of `iter_new`; a context manager that ends the query early.

    No generator: one of asyncio that is dropped gives its connection back only later, in a task.
    """

    # For one that Ctrl-C left half made, and that is dropped like any other.
    _is_made = False

    def __init__(self, request: Request, loan: Loan, options: Mapping[str, Any]) -> None:
        self._request = request
        self._loan = loan
        self._options = options
        self._stream: colonnade.ColumnStream | None = None
        self._asked: Asked | None = None
        self._found: State | None = None
        self._is_waiting = False
        self._is_finished = False
        self._is_made = True

    @property
    def state(self) -> State:
        """The state for the next read. Raises InterfaceError before the last batch."""
        if self._found is None:
            raise InterfaceError("the state is there after the last batch: read all of them first")
        return self._found

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Columns:
        if self._is_finished:
            raise StopAsyncIteration
        if self._is_waiting:
            raise InterfaceError("cannot perform operation: another operation is in progress")
        self._is_waiting = True
        try:
            if self._stream is None:
                self._stream = await self._opened()
            return await self._stream.__anext__()
        except BaseException as error:
            if isinstance(error, StopAsyncIteration) and self._asked is not None:
                self._found = self._asked.state
            self._end()
            raise
        finally:
            self._is_waiting = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the query, if it is running."""
        self._is_finished = True
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.aclose()
        await self._loan.__aexit__(None, None, None)

    def __del__(self) -> None:
        if self._is_made:
            self._end()

    async def _opened(self) -> colonnade.ColumnStream:
        connection = await self._loan.__aenter__()
        self._asked = await _asked(self._request, connection)
        return connection.iter_columns(self._asked.sql, *self._asked.args, **self._options)

    def _end(self) -> None:
        """End the stream and the loan, without waiting."""
        self._is_finished = True
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.finish()
        self._loan.drop()


async def _asked(request: Request, connection: colonnade.Connection) -> Asked:
    facts = await connection.fetch_plain(*request.facts)
    request.check(facts)
    return request.asked(facts, await connection.fetch_plain(request.odd_sql))
