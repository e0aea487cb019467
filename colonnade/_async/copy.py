"""COPY between a table or query and bytes, in the server's text, CSV or binary format."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from colonnade import _core
from colonnade._copy_options import copy_statement, table_target
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

    from colonnade._async.operation import Operation
    from colonnade._transport.asyncio import AsyncioTransport

    Bytes = bytes | bytearray | memoryview
    Source = Bytes | str | os.PathLike[str] | IO[bytes] | Iterable[Bytes] | AsyncIterable[Bytes]
    Sink = str | os.PathLike[str] | IO[bytes] | Callable[[bytes], Awaitable[None]]

# Bytes of one CopyData message: large enough that its header and the system call are nothing,
# small enough to go out while the next one is made.
CHUNK_BYTES = 256 * 1024


class CopyMixin:
    """The COPY methods of a connection."""

    _session: _core.Session
    _transport: AsyncioTransport

    def _operation(self, timeout: float | None) -> Operation:
        raise NotImplementedError

    async def copy_to_table(
        self,
        table_name: str,
        *,
        source: Source,
        columns: Sequence[str] | None = None,
        schema_name: str | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> str:
        """Copy bytes into a table, and return the status, such as `COPY 1000`.

        `source` is a path, a binary file, a bytes-like object, or an (async) iterable of them; it
        holds rows in the `format` that the options name: "text" (the default), "csv" or "binary".
        The other options are those of PostgreSQL's COPY: `delimiter`, `null`, `header`, `quote`,
        `escape`, `force_not_null`, `force_null`, `freeze`, `encoding`, `where`.

        An error in the source gives the copy up: no row of it stays in the table.
        """
        target = table_target(table_name, columns, schema_name)
        statement = copy_statement(target, "FROM STDIN", options)
        async with self._operation(timeout):
            self._session.copy_in(statement)
            event = await self._transport.next_event()
            if not isinstance(event, _core.CopyIn):
                msg = f"the server did not ask for data: {event!r}"
                raise InterfaceError(msg)
            async for chunk in _chunks(source):
                if not self._session.copy_data(chunk):
                    break  # The server has refused the copy; the next event says why.
                await self._transport.flush()
            self._session.copy_done()
            return _status(await self._transport.next_event())

    async def copy_from_table(
        self,
        table_name: str,
        *,
        output: Sink,
        columns: Sequence[str] | None = None,
        schema_name: str | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> str:
        """Copy a table's rows out as bytes, and return the status, such as `COPY 1000`.

        `output` is a path, a binary file, or a coroutine function that takes bytes. The options are
        those of PostgreSQL's COPY: `format`, `delimiter`, `null`, `header`, `quote`, `escape`,
        `force_quote`, `encoding`.
        """
        target = table_target(table_name, columns, schema_name)
        return await self._copy_out(copy_statement(target, "TO STDOUT", options), output, timeout)

    async def copy_from_query(
        self, query: str, *, output: Sink, timeout: float | None = None, **options: Any
    ) -> str:
        """Copy a query's rows out as bytes; otherwise as `copy_from_table`."""
        statement = copy_statement(f"({query})", "TO STDOUT", options)
        return await self._copy_out(statement, output, timeout)

    async def _copy_out(self, statement: str, output: Sink, timeout: float | None) -> str:
        async with self._operation(timeout):
            self._session.copy_out(statement)
            if callable(output):
                return await self._pour(output)
            with _opened(output) as file:
                return await self._pour(_writer(file))

    async def _pour(self, write: Callable[[bytes], Awaitable[None]]) -> str:
        while isinstance(event := await self._transport.next_event(), bytes):
            await write(event)
        return _status(event)


def _opened(output: str | os.PathLike[str] | IO[bytes]) -> AbstractContextManager[IO[bytes]]:
    if isinstance(output, str | os.PathLike):
        return Path(output).open("wb")
    return nullcontext(output)


def _writer(file: IO[bytes]) -> Callable[[bytes], Awaitable[None]]:
    async def write(chunk: bytes) -> None:
        file.write(chunk)

    return write


def _status(event: object) -> str:
    if isinstance(event, _core.Completion):
        return event.tag or ""
    msg = f"expected the end of the copy, got {event!r}"
    raise InterfaceError(msg)


async def _chunks(source: Source) -> AsyncIterator[Bytes]:
    """The bytes of any kind of source, in pieces."""
    # async-only: begin
    if isinstance(source, AsyncIterable):
        async for chunk in source:
            yield chunk
        return
    # async-only: end
    for chunk in _plain_chunks(source):
        yield chunk


def _plain_chunks(source: Any) -> Iterator[Bytes]:
    if isinstance(source, str | os.PathLike):
        with Path(source).open("rb") as file:
            yield from iter(lambda: file.read(CHUNK_BYTES), b"")
    elif isinstance(source, bytes | bytearray | memoryview):
        view = memoryview(source).cast("B")
        for start in range(0, len(view), CHUNK_BYTES):
            yield view[start : start + CHUNK_BYTES]
    elif hasattr(source, "read"):
        yield from iter(lambda: source.read(CHUNK_BYTES), b"")
    elif isinstance(source, Iterable):
        yield from source
    else:
        msg = (
            "source must be a path, a binary file, bytes, or an iterable of bytes, "
            f"not {type(source).__name__}"
        )
        raise TypeError(msg)
