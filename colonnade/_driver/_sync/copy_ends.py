# Generated from colonnade/_driver/_async/copy_ends.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""The source of a COPY's bytes, or their destination."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING, Any

from colonnade._words.shown import class_name

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from colonnade._driver.transport.threads import Transport

    Bytes = bytes | bytearray | memoryview
    Source = Bytes | str | os.PathLike[str] | IO[bytes] | Iterable[Bytes] | Iterable[Bytes]
    Sink = str | bytes | os.PathLike[str] | IO[bytes] | Callable[[bytes], None]

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

    def __enter__(self) -> Callable[[bytes], None]:
        """The function that takes the bytes."""
        if self._path is not None:
            self._file = self._transport.off_loop(open, self._path, "wb")
            return self._write_file
        if not hasattr(self._sink, "write"):
            write: Callable[[bytes], None] = self._sink
            return write
        self._file = self._sink
        return self._write_file

    def __exit__(self, *error: object) -> None:
        """Close the file that was opened here."""
        if self._path is not None:
            self._transport.off_loop(self._file.close)

    def _write_file(self, chunk: bytes) -> None:
        if isinstance(self._file, io.BytesIO):
            # Memory does not block.
            self._file.write(chunk)
        else:
            self._transport.off_loop(self._file.write, chunk)


class Input:
    """A source of any kind, open as long as the block runs.

    Files are opened, read and closed in a way that does not block the event loop.
    """

    def __init__(self, transport: Transport, source: Source) -> None:
        self._transport = transport
        self._source: Any = source
        self._file: Any = None
        self._path: Any = source if isinstance(source, str | os.PathLike) else None
        self._chunks: Generator[Bytes] | None = None
        is_known = self._path is not None or hasattr(source, "read") or _is_buffer(source)
        if not is_known and not isinstance(source, Iterable | Iterable):
            msg = (
                "source must be a path, a binary file, bytes, or an (async) iterable of bytes, "
                f"not {class_name(source)}"
            )
            raise TypeError(msg)

    def __enter__(self) -> Generator[Bytes]:
        """The bytes, in pieces."""
        if self._path is not None:
            self._file = self._transport.off_loop(open, self._path, "rb")
        elif hasattr(self._source, "read"):
            self._file = self._source
        self._chunks = self._pieces() if self._file is None else self._read()
        return self._chunks

    def __exit__(self, *error: object) -> None:
        """Close the file that was opened here."""
        if self._chunks is not None:
            self._chunks.close()
        if self._path is not None:
            self._transport.off_loop(self._file.close)

    def _pieces(self) -> Generator[Bytes]:
        source = self._source
        for data in [source] if _is_buffer(source) else source:
            for piece in _split(data):
                yield piece

    def _read(self) -> Generator[Bytes]:
        while chunk := self._read_once():
            yield chunk

    def _read_once(self) -> Any:
        if isinstance(self._file, io.BytesIO):
            # Memory does not block.
            return self._file.read(CHUNK_BYTES)
        return self._transport.off_loop(self._file.read, CHUNK_BYTES)


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
