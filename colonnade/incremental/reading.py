"""New rows over a blocking connection."""

from __future__ import annotations

import inspect
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

from colonnade._words.arguments import check_count
from colonnade.errors import InterfaceError
from colonnade.frames import connection_of
from colonnade.incremental.request import New, Request

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from types import TracebackType

    from colonnade import Columns, sync
    from colonnade.frames import Connectable
    from colonnade.incremental.request import Asked, State
    from colonnade.types import Infinity


def read_new(
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

    `con` is as in `read_sql`, but not a replica; `columns` names the wanted columns; `schema`,
    `infinity` and `timeout` are as in `fetch_columns`.

    Raises InterfaceError for a column that cannot tell, and for a state of another table or server,
    or from before a promotion; ObjectNotInPrerequisiteStateError for a replica.
    """
    request = Request(table, by=by, state=state, columns=columns)
    _refuse_asyncio(con)
    with connection_of(con) as connection:
        asked = _asked(request, connection)
        rows = connection.fetch_columns(
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

    Iterate over the result in a `with` block; its `state` is there after the last batch. `timeout`
    limits the wait for each batch. The end of the block, or `close`, ends the query of a loop that
    was left early. Without the block, it ends with the last reference: a name, or a traceback.
    """
    check_count("batch_rows", batch_rows)
    options = {
        "batch_rows": batch_rows,
        "schema": schema,
        "infinity": infinity,
        "timeout": timeout,
    }
    _refuse_asyncio(con)
    return NewBatches(Request(table, by=by, state=state, columns=columns), con, options)


class NewBatches:
    """New rows in batches, of `iter_new`; a context manager that ends the query early."""

    def __init__(self, request: Request, con: Connectable, options: Mapping[str, Any]) -> None:
        # They do not refer to this object, so a loop that is left drops both, and ends the query.
        self._found: list[State] = []
        self._batches = _read(request, con, options, self._found)

    @property
    def state(self) -> State:
        """The state for the next read. Raises InterfaceError before the last batch."""
        return state_at_end(self._found)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Columns:
        return next(self._batches)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the query, if it is running."""
        self._batches.close()


def _read(
    request: Request, con: Connectable, options: Mapping[str, Any], found: list[State]
) -> Generator[Columns, None, None]:
    with ExitStack() as block:
        connection = block.enter_context(connection_of(con))
        asked = _asked(request, connection)
        yield from block.enter_context(connection.iter_columns(asked.sql, *asked.args, **options))
        found.append(asked.state)


def _refuse_asyncio(con: object) -> None:
    if inspect.iscoroutinefunction(getattr(con.__class__, "fetch_columns", None)):
        raise TypeError("con is one of asyncio: read_new_async and iter_new_async take it")


def state_at_end(found: Sequence[State]) -> State:
    """Return the state, which is there after the last batch."""
    if not found:
        raise InterfaceError("the state is there after the last batch: read all of them first")
    return found[0]


def _asked(request: Request, connection: sync.Connection) -> Asked:
    facts = connection.fetch_plain(*request.facts)
    request.check(facts)
    return request.asked(facts, connection.fetch_plain(request.odd_sql))
