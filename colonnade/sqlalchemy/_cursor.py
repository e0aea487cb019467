"""SQLAlchemy's cursors, over a blocking or an asyncio connection."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade.columns import Columns
    from colonnade.sqlalchemy._columns_request import ColumnsRequest
    from colonnade.types import Attribute

    Description = list[tuple[str, int, None, None, None, None, None]]

_ROWCOUNT = re.compile(r"[A-Z]+ (?:\d+ )?(\d+)")
# How many rows `fetchall` of a server-side cursor fetches per round trip.
_ROWS_PER_FETCH = 1000


def _rowcount(status: str) -> int:
    """Return the row count of a command tag; -1 if it has none."""
    counted = _ROWCOUNT.fullmatch(status)
    return int(counted[1]) if counted else -1


def described(attributes: Iterable[Attribute]) -> Description:
    """Return PEP 249's description of the columns: their names and the OIDs of their types."""
    return [(it.name, it.type.oid, None, None, None, None, None) for it in attributes]


class RunsStatements(Protocol):
    """A cursor's view of its connection, which runs each statement in its transaction."""

    def fetch_result(self, operation: str, parameters: Sequence[Any]) -> Any: ...
    def execute_many(self, operation: str, parameters: Sequence[Sequence[Any]]) -> list[str]: ...
    def open_cursor(self, operation: str, parameters: Sequence[Any]) -> tuple[Any, Any]: ...
    def fetch_more(self, portal: Any, count: int) -> list[tuple[Any, ...]]: ...
    def fetch_columns_into(
        self, cursor: Cursor, operation: str, parameters: Sequence[Any]
    ) -> None: ...
    def next_batch(self, stream: Any) -> Any: ...
    def close_stream(self, stream: Any) -> None: ...


class Cursor:
    """A cursor whose `execute` fetches the whole result.

    Placeholders are `$1`, `$2`, ...; rows are plain tuples.
    """

    server_side = False

    __slots__ = (
        "_next",
        "_rows",
        "arraysize",
        "columns",
        "columns_request",
        "connection",
        "description",
        "rowcount",
        "stream",
    )

    def __init__(self, connection: RunsStatements) -> None:
        self.connection = connection
        self._rows: list[tuple[Any, ...]] = []
        self._next = 0
        self.arraysize = 1
        self.description: Description | None = None
        self.rowcount = -1
        # For a result in columns: the request, the columns (or first batch), and the stream.
        self.columns_request: ColumnsRequest | None = None
        self.columns: Columns | None = None
        self.stream: Any = None

    def execute(self, operation: str, parameters: Sequence[Any] = ()) -> Self:
        """Run a statement, and fetch its whole result."""
        if self.columns_request is not None:
            self.connection.fetch_columns_into(self, operation, parameters)
            return self
        result = self.connection.fetch_result(operation, parameters)
        if result is None:
            # A script whose statements the server split: no result is known.
            self.description, self._rows, self._next, self.rowcount = None, [], 0, -1
            return self
        self.description = described(result.attributes) if result.has_rows else None
        self._rows, self._next = result.rows, 0
        self.rowcount = _rowcount(result.status)
        return self

    def executemany(self, operation: str, parameters: Sequence[Sequence[Any]]) -> Self:
        """Run a statement for each set of parameters, without waiting between them."""
        counts = [_rowcount(it) for it in self.connection.execute_many(operation, parameters)]
        self.description, self._rows, self._next = None, [], 0
        self.rowcount = -1 if -1 in counts else sum(counts)
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row, or None after the last."""
        if self._next >= len(self._rows):
            return None
        row = self._rows[self._next]
        self._next += 1
        return row

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """Return up to `size` rows (`arraysize` by default)."""
        stop = self._next + (self.arraysize if size is None else size)
        rows = self._rows[self._next : stop]
        self._next += len(rows)
        return rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all remaining rows."""
        rows = self._rows[self._next :] if self._next else self._rows
        self._rows, self._next = [], 0
        return rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def next_batch(self) -> Columns | None:
        """Return the next batch of a stream of columns, or None at its end."""
        return None if self.stream is None else self.connection.next_batch(self.stream)

    def setinputsizes(self, *sizes: object) -> None:
        """Do nothing: the statement's casts declare the types."""

    def setoutputsize(self, *sizes: object) -> None:
        """Do nothing: values of any size are fetched."""

    async def _async_soft_close(self) -> None:
        """Do nothing when SQLAlchemy's asynchronous result releases the cursor."""

    def close(self) -> None:
        """Discard the rows, and close the stream of columns if there is one."""
        self._rows, self._next = [], 0
        if self.stream is not None:
            stream, self.stream = self.stream, None
            self.connection.close_stream(stream)

    def __enter__(self) -> Self:
        """Return the cursor; the end of the block closes it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the cursor; the transaction continues."""
        self.close()


class ServerSideCursor(Cursor):
    """A server-side cursor: each fetch is a round trip."""

    server_side = True

    __slots__ = ("_portal", "_statement")

    def __init__(self, connection: RunsStatements) -> None:
        super().__init__(connection)
        self._portal: Any = None
        # The driver closes a prepared statement on the server once it is garbage-collected.
        self._statement: Any = None

    def execute(self, operation: str, parameters: Sequence[Any] = ()) -> Self:
        """Open the cursor. Raises OperationalError in autocommit: it needs a transaction."""
        if self.columns_request is not None:
            return super().execute(operation, parameters)
        self._statement, self._portal = self.connection.open_cursor(operation, parameters)
        attributes = self._statement.get_attributes()
        self.description = described(attributes) if attributes else None
        return self

    def executemany(self, operation: str, parameters: Sequence[Sequence[Any]]) -> Self:
        """Run a statement for each set of parameters, as an ordinary cursor does."""
        self._portal = None
        return super().executemany(operation, parameters)

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row, or None after the last."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """Return up to `size` rows (`arraysize` by default), in one round trip."""
        if self._portal is None:
            return super().fetchmany(size)
        return self.connection.fetch_more(self._portal, self.arraysize if size is None else size)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all remaining rows."""
        if self._portal is None:
            return super().fetchall()
        rows: list[tuple[Any, ...]] = []
        while more := self.fetchmany(_ROWS_PER_FETCH):
            rows += more
        return rows

    def close(self) -> None:
        """Release the cursor; the server closes it at the end of the transaction at the latest."""
        super().close()
        self._portal = self._statement = None
