"""The cursors that SQLAlchemy asks for, over either colour of connection."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from colonnade.sqlalchemy._columns_request import ColumnsRequest

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade.columns import Columns
    from colonnade.sqlalchemy._connection import AdaptedConnection
    from colonnade.types import Attribute

    Description = list[tuple[str, int, None, None, None, None, None]]

_ROWCOUNT = re.compile(r"[A-Z]+ (?:\d+ )?(\d+)")
# Rows that a cursor on the server is asked for where nobody says how many.
_ROWS_PER_FETCH = 1000


def _rowcount(status: str) -> int:
    """How many rows a command was about; -1 where its status does not say."""
    counted = _ROWCOUNT.fullmatch(status)
    return int(counted[1]) if counted else -1


def described(attributes: Iterable[Attribute]) -> Description:
    """Columns as PEP 249 describes them, by name and type."""
    return [(it.name, it.type.oid, None, None, None, None, None) for it in attributes]


class Cursor:
    """A cursor that has its whole result when it has executed.

    Parameters are `$1`, `$2`, ...; rows are plain tuples.
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

    def __init__(self, connection: AdaptedConnection) -> None:
        self.connection = connection
        self._rows: list[tuple[Any, ...]] = []
        self._next = 0
        self.arraysize = 1
        self.description: Description | None = None
        self.rowcount = -1
        # Of a result that was asked for in columns: how, and the columns, or the stream of them.
        self.columns_request: ColumnsRequest | None = None
        self.columns: Columns | None = None
        self.stream: Any = None

    def execute(self, operation: str, parameters: Sequence[Any] = ()) -> Self:
        """Run a statement, and take in its whole result."""
        if self.columns_request is not None:
            self.connection.fetch_columns_into(self, operation, parameters)
            return self
        result = self.connection.fetch_result(operation, parameters)
        if result is None:
            # Of several statements.
            self.description, self._rows, self._next, self.rowcount = None, [], 0, -1
            return self
        self.description = described(result.attributes) if result.has_rows else None
        self._rows, self._next = result.rows, 0
        self.rowcount = _rowcount(result.status)
        return self

    def executemany(self, operation: str, parameters: Sequence[Sequence[Any]]) -> Self:
        """Run a statement for each set of parameters, sent without waiting in between."""
        counts = [_rowcount(it) for it in self.connection.execute_many(operation, parameters)]
        self.description, self._rows, self._next = None, [], 0
        self.rowcount = -1 if -1 in counts else sum(counts)
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or None."""
        if self._next >= len(self._rows):
            return None
        row = self._rows[self._next]
        self._next += 1
        return row

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows."""
        stop = self._next + (self.arraysize if size is None else size)
        rows = self._rows[self._next : stop]
        self._next += len(rows)
        return rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left, as the list they came in."""
        rows = self._rows[self._next :] if self._next else self._rows
        self._rows, self._next = [], 0
        return rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def next_batch(self) -> Columns | None:
        """The next batch of a stream of columns, or None at its end."""
        return None if self.stream is None else self.connection.next_batch(self.stream)

    def setinputsizes(self, *sizes: object) -> None:
        """Types stand in the statement."""

    def setoutputsize(self, *sizes: object) -> None:
        """Sizes are the values' own."""

    async def _async_soft_close(self) -> None:
        """SQLAlchemy's asynchronous result lets go of the cursor; there is nothing to close."""

    def close(self) -> None:
        """Let go of the rows; a stream of columns that is still open ends."""
        self._rows, self._next = [], 0
        if self.stream is not None:
            stream, self.stream = self.stream, None
            self.connection.close_stream(stream)

    def __enter__(self) -> Self:
        """The cursor, which is closed at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the cursor; the transaction goes on."""
        self.close()


class ServerSideCursor(Cursor):
    """A cursor on the server, from which rows come as they are asked for."""

    server_side = True

    __slots__ = ("_portal", "_statement")

    def __init__(self, connection: AdaptedConnection) -> None:
        super().__init__(connection)
        self._portal: Any = None
        # The server forgets a statement that nobody holds.
        self._statement: Any = None

    def execute(self, operation: str, parameters: Sequence[Any] = ()) -> Self:
        """Open the cursor; raises an OperationalError in autocommit, where none can live."""
        if self.columns_request is not None:
            return super().execute(operation, parameters)
        self._statement, self._portal = self.connection.open_cursor(operation, parameters)
        attributes = self._statement.get_attributes()
        self.description = described(attributes) if attributes else None
        return self

    def executemany(self, operation: str, parameters: Sequence[Sequence[Any]]) -> Self:
        """As an ordinary cursor."""
        self._portal = None
        return super().executemany(operation, parameters)

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or None."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows, in one round trip."""
        if self._portal is None:
            return super().fetchmany(size)
        return self.connection.fetch_more(self._portal, self.arraysize if size is None else size)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        if self._portal is None:
            return super().fetchall()
        rows: list[tuple[Any, ...]] = []
        while more := self.fetchmany(_ROWS_PER_FETCH):
            rows += more
        return rows

    def close(self) -> None:
        """Let go of the cursor; the server closes it when the transaction ends, if not before."""
        super().close()
        self._portal = self._statement = None
