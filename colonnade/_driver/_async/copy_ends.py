"""The source of a COPY's bytes, or their destination."""

from __future__ import annotations

import inspect
import io
import os
from collections.abc import AsyncIterable, Iterable
from typing import IO, TYPE_CHECKING, Any

from colonnade._words.shown import class_name

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

    from colonnade._driver.transport.asyncio import Transport

    Bytes = bytes | bytearray | memoryview
    Source = Bytes | str | os.PathLike[str] | IO[bytes] | Iterable[Bytes] | AsyncIterable[Bytes]
    Sink = str | bytes | os.PathLike[str] | IO[bytes] | Callable[[bytes], Awaitable[None]]

# The size of a CopyData message: large enough to make its header and the system call negligible,
# small enough to be sent while the next one is made.
CHUNK_BYTES = 256 * 1024


class Output:
    """A sink of any kind, open as long as the block runs.

    Files are opened, written and closed in a way that does not block the event loop.
    """

    def __init__(self, transport: Transport, sink: Sink) -> None:
        self._transport = transport
        self._sink: Any = sink
        self._file: Any = None
        is_path = isinstance(sink, str | bytes | os.PathLike)
        self._path: Any = sink if is_path else None
        if not is_path and not hasattr(sink, "write") and not callable(sink):
            msg = (
                "output is expected to be a file-like object, a path-like object or a coroutine "
                f"function, not {class_name(sink)}"
            )
            raise TypeError(msg)

    async def __aenter__(self) -> Callable[[bytes], Awaitable[None]]:
        """The function that takes the bytes."""
        if self._path is not None:
            self._file = await self._transport.off_loop(open, self._path, "wb")
            return self._write_file
        if not hasattr(self._sink, "write"):
            write: Callable[[bytes], Awaitable[None]] = self._sink
            return write
        # async-only: begin
        if inspect.iscoroutinefunction(self._sink.write):
            return self._write_async
        # async-only: end
        self._file = self._sink
        return self._write_file

    async def __aexit__(self, *error: object) -> None:
        """Close the file that was opened here."""
        if self._path is not None:
            await self._transport.off_loop(self._file.close)

    async def _write_file(self, chunk: bytes) -> None:
        if isinstance(self._file, io.BytesIO):
            # Memory does not block.
            self._file.write(chunk)
        else:
            await self._transport.off_loop(self._file.write, chunk)

    # async-only: begin
    async def _write_async(self, chunk: bytes) -> None:
        await self._sink.write(chunk)

    # async-only: end


class Input:
    """A source of any kind, open as long as the block runs.

    Files are opened, read and closed in a way that does not block the event loop.
    """

    def __init__(self, transport: Transport, source: Source) -> None:
        self._transport = transport
        self._source: Any = source
        self._file: Any = None
        self._path: Any = source if isinstance(source, str | os.PathLike) else None
        self._chunks: AsyncGenerator[Bytes] | None = None
        is_known = self._path is not None or hasattr(source, "read") or _is_buffer(source)
        if not is_known and not isinstance(source, Iterable | AsyncIterable):
            msg = (
                "source must be a path, a binary file, bytes, or an (async) iterable of bytes, "
                f"not {class_name(source)}"
            )
            raise TypeError(msg)

    async def __aenter__(self) -> AsyncGenerator[Bytes]:
        """The bytes, in pieces."""
        if self._path is not None:
            self._file = await self._transport.off_loop(open, self._path, "rb")
        elif hasattr(self._source, "read"):
            self._file = self._source
        self._chunks = self._pieces() if self._file is None else self._read()
        return self._chunks

    async def __aexit__(self, *error: object) -> None:
        """Close the file that was opened here."""
        if self._chunks is not None:
            await self._chunks.aclose()
        if self._path is not None:
            await self._transport.off_loop(self._file.close)

    async def _pieces(self) -> AsyncGenerator[Bytes]:
        source = self._source
        # async-only: begin
        if isinstance(source, AsyncIterable):
            async for data in source:
                for piece in _split(data):
                    yield piece
            return
        # async-only: end
        for data in [source] if _is_buffer(source) else source:
            for piece in _split(data):
                yield piece

    async def _read(self) -> AsyncGenerator[Bytes]:
        while chunk := await self._read_once():
            yield chunk

    async def _read_once(self) -> Any:
        # async-only: begin
        if inspect.iscoroutinefunction(self._file.read):
            return await self._file.read(CHUNK_BYTES)
        # async-only: end
        if isinstance(self._file, io.BytesIO):
            # Memory does not block.
            return self._file.read(CHUNK_BYTES)
        return await self._transport.off_loop(self._file.read, CHUNK_BYTES)


def _is_buffer(source: Any) -> bool:
    try:
        memoryview(source)
    except TypeError:
        return False
    return True


def _split(data: Any) -> Iterator[Bytes]:
    """Split bytes into pieces small enough for one message."""
    view = memoryview(data)
    if view.nbytes <= CHUNK_BYTES and isinstance(data, bytes):
        yield data
        return
    view = view.cast("B")
    for start in range(0, len(view), CHUNK_BYTES):
        yield view[start : start + CHUNK_BYTES]
