"""The bytes of a table, made batch by batch as they are sent."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from colonnade.serve.problems import TooManyRows

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator

    from colonnade import Columns
    from colonnade.formats.streams import StreamEncoder

_T = TypeVar("_T")
#: Fewer bytes are encoded at once; the way to a thread and back takes longer.
_INLINE_BYTES_MAX = 64 << 10


class Body:
    """An asynchronous iterator of pieces of bytes, which fetches a batch when it has sent the last.

    Its end is the end of a complete table. If the source fails, readers are told so by bytes that
    they refuse, where the format has such, and then the source's error is raised: whatever sends
    the pieces must break the connection.
    """

    def __init__(
        self,
        parts: AsyncGenerator[Columns, None],
        encoder: StreamEncoder,
        rows_max: int | None = None,
    ) -> None:
        self._parts = parts
        self._encoder = encoder
        self._rows_max = rows_max
        self._rows = 0
        self._nbytes = 0
        self._pieces = self._sent()
        self._first: Iterable[bytes] = ()

    async def begin(self) -> None:
        """Fetch and encode the first batch, so that its errors come before anything is sent.

        If `rows_max` is set, it is the whole table that is fetched, for a format that is written
        column after column. Raises TooManyRows beyond this number of rows.
        """
        self._first = await self._encoded(await anext(self._parts))
        if self._rows_max is not None:
            async for part in self._parts:
                await self._encoded(part)

    async def whole(self) -> bytes:
        """Return all bytes together."""
        return b"".join([piece async for piece in self])

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces, of at most 256 KiB."""
        return self._pieces

    async def aclose(self) -> None:
        """End early: a query still running is cancelled, and its connection is given back."""
        await self._pieces.aclose()
        await self._parts.aclose()

    async def _sent(self) -> AsyncGenerator[bytes, None]:
        try:
            for piece in self._first:
                yield piece
                await asyncio.sleep(0)
            self._first = ()
            async for part in self._parts:
                pieces = await self._encoded(part)
                # A slow reader must not hold what was encoded.
                del part
                for piece in pieces:
                    yield piece
                    # A web server that has room for the piece does not let others run.
                    await asyncio.sleep(0)
            ending = iter(await self._apart(self._encoder.finish))
            # JSON columns make each piece when it is asked for.
            while (last := await self._apart(_next_of, ending)) is not None:
                yield last
                await asyncio.sleep(0)
        except Exception:
            poison = self._encoder.spoil()
            if poison:
                yield poison
            raise

    async def _encoded(self, part: Columns) -> Iterable[bytes]:
        self._rows += len(part)
        self._nbytes += part.nbytes
        if self._rows_max is not None and self._rows > self._rows_max:
            raise TooManyRows(self._rows_max)
        if part.nbytes <= _INLINE_BYTES_MAX:
            return self._encoder.encode(part)
        return await asyncio.to_thread(self._encoder.encode, part)

    async def _apart(self, work: Callable[..., _T], *arguments: object) -> _T:
        """Do the work of the end: in a thread, unless the table is small."""
        if self._nbytes <= _INLINE_BYTES_MAX:
            return work(*arguments)
        return await asyncio.to_thread(work, *arguments)


def _next_of(pieces: Iterator[bytes]) -> bytes | None:
    return next(pieces, None)
