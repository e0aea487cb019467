"""Streams: batches of the requested size, and every way to leave a stream."""

from __future__ import annotations

import gc

import pytest

import colonnade
from colonnade.errors import InterfaceError, NumericValueOutOfRangeError

pytestmark = pytest.mark.every_loop

MANY = "SELECT i, repeat('x', 100) AS t FROM generate_series(1, 100000) i"


async def check_usable(connection: colonnade.Connection) -> None:
    assert await connection.fetchval("SELECT $1::int", 5) == 5
    assert len(await connection.fetch_columns("SELECT 1 AS n")) == 1


async def sizes(stream: colonnade.ColumnStream) -> list[int]:
    return [len(batch) async for batch in stream]


@pytest.mark.parametrize(
    ("rows", "batch_rows", "expected"),
    [
        (0, 10, [0]),
        (1, 10, [1]),
        (9, 10, [9]),
        (10, 10, [10]),
        (11, 10, [10, 1]),
        (3, 1, [1, 1, 1]),
        (100_000, 65_536, [65_536, 34_464]),
        (1000, 10**9, [1000]),
    ],
)
async def test_sizes_of_batches(
    connection: colonnade.Connection, rows: int, batch_rows: int, expected: list[int]
) -> None:
    query = "SELECT i FROM generate_series(1, $1::int) i"
    assert await sizes(connection.iter_columns(query, rows, batch_rows=batch_rows)) == expected
    await check_usable(connection)


async def test_values_in_order(connection: colonnade.Connection) -> None:
    seen: list[int] = []
    async for batch in connection.iter_columns(MANY, batch_rows=777):
        seen += batch["i"].tolist()
    assert seen == list(range(1, 100_001))


async def test_an_empty_result_has_columns(connection: colonnade.Connection) -> None:
    (batch,) = [batch async for batch in connection.iter_columns(f"{MANY} LIMIT 0")]
    assert len(batch) == 0
    assert batch.names == ("i", "t")


async def test_a_command_without_rows(connection: colonnade.Connection) -> None:
    assert await sizes(connection.iter_columns("CREATE TEMPORARY TABLE t ()")) == [0]
    await check_usable(connection)


@pytest.mark.parametrize("batches", [0, 1, 2, 5])
async def test_closed_early(connection: colonnade.Connection, batches: int) -> None:
    stream = connection.iter_columns(MANY, batch_rows=100)
    for _ in range(batches):
        assert len(await anext(stream)) == 100
    await stream.aclose()
    await check_usable(connection)
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
    await stream.aclose()
    await check_usable(connection)


async def test_closed_at_its_last_batch(connection: colonnade.Connection) -> None:
    """All batches have arrived, but the end has not been read."""
    for rows in (1, 2, 3):
        stream = connection.iter_columns("SELECT generate_series(1, $1::int)", rows, batch_rows=1)
        for _ in range(rows):
            assert len(await anext(stream)) == 1
        await stream.aclose()
        assert await connection.fetchval("SELECT 'mine'") == "mine"


async def test_left_by_break(connection: colonnade.Connection) -> None:
    async for batch in connection.iter_columns(MANY, batch_rows=10):
        assert len(batch) == 10
        break
    gc.collect()
    await check_usable(connection)


async def test_left_by_an_error(connection: colonnade.Connection) -> None:
    async def leave() -> None:
        async with connection.iter_columns(MANY, batch_rows=10) as stream:
            await anext(stream)
            raise LookupError

    with pytest.raises(LookupError):
        await leave()
    await check_usable(connection)


async def test_dropped(connection: colonnade.Connection) -> None:
    for begin in (False, True):
        stream = connection.iter_columns(MANY, batch_rows=10)
        if begin:
            await anext(stream)
        del stream
        gc.collect()
        await check_usable(connection)


async def test_exhausted(connection: colonnade.Connection) -> None:
    stream = connection.iter_columns("SELECT 1")
    assert await sizes(stream) == [1]
    assert await sizes(stream) == []
    await stream.aclose()
    await check_usable(connection)


async def test_the_connection_belongs_to_its_stream(connection: colonnade.Connection) -> None:
    async with connection.iter_columns(MANY, batch_rows=10) as stream:
        await check_usable(connection)  # The stream begins with the first batch.
        await anext(stream)
        for _ in range(2):
            with pytest.raises(InterfaceError, match="another operation is in progress"):
                await connection.fetch("SELECT 1")
            with pytest.raises(InterfaceError, match="another operation is in progress"):
                await anext(connection.iter_columns("SELECT 1"))
        assert len(await anext(stream)) == 10
    await check_usable(connection)


async def test_two_streams_one_after_the_other(connection: colonnade.Connection) -> None:
    first = connection.iter_columns("SELECT generate_series(1, 3)", batch_rows=2)
    second = connection.iter_columns("SELECT generate_series(1, 5)", batch_rows=2)
    assert await sizes(first) == [2, 1]
    assert await sizes(second) == [2, 2, 1]


async def test_what_is_no_size(connection: colonnade.Connection) -> None:
    for batch_rows in (0, -1):
        with pytest.raises(ValueError, match="batch_rows must be 1 or more"):
            connection.iter_columns("SELECT 1", batch_rows=batch_rows)


async def test_a_closed_connection(connection: colonnade.Connection) -> None:
    stream = connection.iter_columns(MANY, batch_rows=10)
    await anext(stream)
    await connection.close()
    with pytest.raises(InterfaceError, match="connection"):
        await anext(stream)
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_an_error_between_batches(connection: colonnade.Connection) -> None:
    query = "SELECT (i * 30000)::int2 FROM generate_series(0, 5) i"
    stream = connection.iter_columns(query, batch_rows=1)
    assert len(await anext(stream)) == 1
    assert len(await anext(stream)) == 1
    with pytest.raises(NumericValueOutOfRangeError):
        await anext(stream)
    await check_usable(connection)


async def test_a_stream_that_was_left_half_made() -> None:
    # Ctrl-C can interrupt the constructor before its first line; `__del__` must still work.
    colonnade.ColumnStream.__new__(colonnade.ColumnStream).finish()
