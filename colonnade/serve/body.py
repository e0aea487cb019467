"""The bytes of a table, made batch by batch as they are sent."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self, TypeVar

from colonnade.errors import InterfaceError
from colonnade.serve.problems import TooManyRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from colonnade import Columns
    from colonnade.formats.streams import StreamEncoder
    from colonnade.serve.batches import Parts

_T = TypeVar("_T")
#: Fewer bytes are encoded at once; the way to a thread and back takes longer.
_INLINE_BYTES_MAX = 64 << 10


class Body:
    """An asynchronous iterator of pieces of bytes, which fetches a batch when it has sent the last.

    Its end is the end of a complete table. If the source fails, readers are told so by bytes that
    they refuse, where the format has such, and then the source's error is raised: the sender of
    the pieces must break the connection.

    No generator: one that is dropped would give its connection back only later, in a task.
    """

    def __init__(self, parts: Parts, encoder: StreamEncoder, rows_max: int | None = None) -> None:
        self._parts = parts
        self._encoder = encoder
        self._rows_max = rows_max
        self._rows = 0
        self._pieces: Iterator[bytes] = iter(())
        self._is_ending = False
        self._is_complete = False
        self._failure: Exception | None = None
        self.nbytes = 0
        """The bytes of the batches so far, before they were encoded."""

    async def begin(self) -> None:
        """Fetch and encode the first batch, so that its errors come before anything is sent.

        If `rows_max` is set, the whole table is fetched, for a format that is written column after
        column. Raises TooManyRows beyond this number of rows.
        """
        self._pieces = iter(await self._encoded(await anext(self._parts)))
        if self._rows_max is not None:
            async for part in self._parts:
                await self._encoded(part)

    async def whole(self) -> bytes:
        """Return all bytes together."""
        return b"".join([piece async for piece in self])

    def __aiter__(self) -> Self:
        """The pieces, of at most 256 KiB."""
        return self

    async def __anext__(self) -> bytes:
        """The next piece."""
        if self._failure is not None:
            raise self._failure
        # A web server that has room for the last piece did not let others run.
        await asyncio.sleep(0)
        try:
            piece = await self._next_piece()
        except Exception as error:
            await self.aclose()
            self._failure = error
            poison = self._encoder.spoil()
            if not poison:
                raise
            return poison
        if piece is None:
            self._is_complete = True
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        """End early: a query still running is cancelled, and its connection is given back."""
        if not self._is_complete:
            self._failure = InterfaceError("this table was closed before its end")
        self._pieces = iter(())
        await self._parts.aclose()

    def give_up(self) -> None:
        """Close it in a task, because nobody asks for pieces."""
        self._closing = asyncio.ensure_future(self.aclose())

    async def _next_piece(self) -> bytes | None:
        while not self._is_ending:
            if (piece := next(self._pieces, None)) is not None:
                return piece
            # A slow reader must not hold what was encoded.
            self._pieces = iter(())
            if (part := await anext(self._parts, None)) is not None:
                self._pieces = iter(await self._encoded(part))
            else:
                self._is_ending = True
                self._pieces = iter(await self._apart(self._encoder.finish))
        # JSON columns make each piece of their end when it is asked for.
        return await self._apart(_next_of, self._pieces)

    async def _encoded(self, part: Columns) -> Iterable[bytes]:
        self._rows += len(part)
        self.nbytes += part.nbytes
        if self._rows_max is not None and self._rows > self._rows_max:
            raise TooManyRows(self._rows_max)
        if part.nbytes <= _INLINE_BYTES_MAX:
            return self._encoder.encode(part)
        return await asyncio.to_thread(self._encoder.encode, part)

    async def _apart(self, work: Callable[..., _T], *arguments: object) -> _T:
        """Do the work of the end: in a thread, unless the table is small."""
        if self.nbytes <= _INLINE_BYTES_MAX:
            return work(*arguments)
        return await asyncio.to_thread(work, *arguments)


def _next_of(pieces: Iterator[bytes]) -> bytes | None:
    return next(pieces, None)
