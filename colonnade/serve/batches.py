"""The source of a response: a result, a stream of batches, or a function that begins one."""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Self, TypeAlias

from colonnade import Columns
from colonnade._words.shown import class_name
from colonnade.errors import InterfaceError

Batches: TypeAlias = Columns | Sequence[Columns] | AsyncIterable[Columns]
BatchSource: TypeAlias = Batches | Callable[[], Batches | Awaitable[Batches]]

_EXPECTED = (
    "Columns (of fetch_columns), a list of Columns, an asynchronous iterable of them (iter_columns "
    "with asyncio), or a function returning one of these"
)
_NO_BATCH = "the source gave no batch: a result without rows has one, of no rows"
#: Larger batches are sent part by part, so that few bytes wait for a slow reader.
PART_BYTES = 4 << 20
#: The same where the encoded bytes of a part are a copy of it, in memory of their own.
ENCODED_PART_BYTES = 1 << 20


def check_source(source: object) -> None:
    """Raise TypeError if the object cannot be a source."""
    if not (callable(source) or _is_batches(source)):
        raise TypeError(f"source must be {_EXPECTED}, not {_told(source)}")


def known_size(source: object) -> tuple[int, int] | None:
    """Return the numbers of rows and bytes if they are known before a batch is asked for."""
    if isinstance(source, Columns):
        return len(source), source.nbytes
    if isinstance(source, (list, tuple)):
        return sum(len(batch) for batch in source), sum(batch.nbytes for batch in source)
    return None


async def begun(source: BatchSource) -> Batches:
    """Call a function that begins the query.

    Raises TypeError if it returns something else than batches.
    """
    if not callable(source):
        return source
    made = source()
    if inspect.isawaitable(made):
        made = await made
    if not _is_batches(made):
        raise TypeError(f"the function returned {_told(made)}, not {_EXPECTED}")
    return made


class Parts:
    """The batches in parts of about this size, at least one: an asynchronous iterator.

    A stream is closed at the end. No generator: one that is dropped would give the connection of
    its stream back only later, in a task.
    """

    def __init__(self, batches: Batches, part_bytes: int) -> None:
        self._iterable: AsyncIterable[Columns] | None = None
        self._stream: AsyncIterator[Columns] | None = None
        self._batches: Iterator[Columns] = iter(())
        if isinstance(batches, AsyncIterable):
            self._iterable, self._stream = batches, aiter(batches)
        else:
            self._batches = iter([batches] if isinstance(batches, Columns) else batches)
        self._part_bytes = part_bytes
        self._left: deque[Columns] = deque()
        self._is_empty = True

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Columns:
        """The next part. Raises InterfaceError if there is none: a result without rows has one."""
        try:
            while not self._left:
                self._left.extend(_split(await self._next_batch(), self._part_bytes))
        except BaseException as error:
            await self.aclose()
            if self._is_empty and isinstance(error, StopAsyncIteration):
                raise InterfaceError(_NO_BATCH) from None
            raise
        self._is_empty = False
        # Nothing here holds a part that was taken.
        return self._left.popleft()

    async def aclose(self) -> None:
        """End the stream: its query is cancelled."""
        self._left.clear()
        self._batches = iter(())
        stream, iterable = self._stream, self._iterable
        self._stream = self._iterable = None
        await close(stream)
        if iterable is not stream:
            await close(iterable)

    async def _next_batch(self) -> Columns:
        if self._stream is not None:
            return await anext(self._stream)
        # Nobody waits for a batch in memory, and there may be many.
        await asyncio.sleep(0)
        for batch in self._batches:
            return batch
        raise StopAsyncIteration


async def close(stream: object) -> None:
    """End a stream that can be ended; its query is cancelled."""
    aclose = getattr(stream, "aclose", None)
    if aclose is not None:
        await aclose()


def _is_batches(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return bool(value) and all(isinstance(each, Columns) for each in value)
    return isinstance(value, (Columns, AsyncIterable))


def _told(source: object) -> str:
    if inspect.iscoroutine(source):
        return "a coroutine: await it, or give a function that returns it"
    if not isinstance(source, (list, tuple)):
        return class_name(source)
    if not source:
        return f"an empty {class_name(source)}"
    wrong = next(each for each in source if not isinstance(each, Columns))
    return f"a {class_name(source)} of {class_name(wrong)}"


def _split(batch: object, part_bytes: int) -> Iterator[Columns]:
    if not isinstance(batch, Columns):
        raise TypeError(f"the source gave {class_name(batch)} instead of Columns")
    size, rows = batch.nbytes, len(batch)
    if size <= part_bytes or not rows:
        yield batch
        return
    step = max(1, rows * part_bytes // size)
    for first in range(0, rows, step):
        yield batch[first : first + step]
