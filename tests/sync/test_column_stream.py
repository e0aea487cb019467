# Generated from tests/async/test_column_stream.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Streams: batches of the requested size, and every way to leave a stream."""

from __future__ import annotations

import gc

import pytest

import colonnade
from colonnade.errors import InterfaceError, NumericValueOutOfRangeError

MANY = "SELECT i, repeat('x', 100) AS t FROM generate_series(1, 100000) i"


def check_usable(connection: colonnade.sync.Connection) -> None:
    assert connection.fetchval("SELECT $1::int", 5) == 5
    assert len(connection.fetch_columns("SELECT 1 AS n")) == 1


def sizes(stream: colonnade.sync.ColumnStream) -> list[int]:
    return [len(batch) for batch in stream]


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
def test_sizes_of_batches(
    connection: colonnade.sync.Connection, rows: int, batch_rows: int, expected: list[int]
) -> None:
    query = "SELECT i FROM generate_series(1, $1::int) i"
    assert sizes(connection.iter_columns(query, rows, batch_rows=batch_rows)) == expected
    check_usable(connection)


def test_values_in_order(connection: colonnade.sync.Connection) -> None:
    seen: list[int] = []
    for batch in connection.iter_columns(MANY, batch_rows=777):
        seen += batch["i"].tolist()
    assert seen == list(range(1, 100_001))


def test_an_empty_result_has_columns(connection: colonnade.sync.Connection) -> None:
    (batch,) = [batch for batch in connection.iter_columns(f"{MANY} LIMIT 0")]
    assert len(batch) == 0
    assert batch.names == ("i", "t")


def test_a_command_without_rows(connection: colonnade.sync.Connection) -> None:
    assert sizes(connection.iter_columns("CREATE TEMPORARY TABLE t ()")) == [0]
    check_usable(connection)


@pytest.mark.parametrize("batches", [0, 1, 2, 5])
def test_closed_early(connection: colonnade.sync.Connection, batches: int) -> None:
    stream = connection.iter_columns(MANY, batch_rows=100)
    for _ in range(batches):
        assert len(next(stream)) == 100
    stream.close()
    check_usable(connection)
    with pytest.raises(StopIteration):
        next(stream)
    stream.close()
    check_usable(connection)


def test_closed_at_its_last_batch(connection: colonnade.sync.Connection) -> None:
    """All batches have arrived, but the end has not been read."""
    for rows in (1, 2, 3):
        stream = connection.iter_columns("SELECT generate_series(1, $1::int)", rows, batch_rows=1)
        for _ in range(rows):
            assert len(next(stream)) == 1
        stream.close()
        assert connection.fetchval("SELECT 'mine'") == "mine"


def test_left_by_break(connection: colonnade.sync.Connection) -> None:
    for batch in connection.iter_columns(MANY, batch_rows=10):
        assert len(batch) == 10
        break
    gc.collect()
    check_usable(connection)


def test_left_by_an_error(connection: colonnade.sync.Connection) -> None:
    def leave() -> None:
        with connection.iter_columns(MANY, batch_rows=10) as stream:
            next(stream)
            raise LookupError

    with pytest.raises(LookupError):
        leave()
    check_usable(connection)


def test_dropped(connection: colonnade.sync.Connection) -> None:
    for begin in (False, True):
        stream = connection.iter_columns(MANY, batch_rows=10)
        if begin:
            next(stream)
        del stream
        gc.collect()
        check_usable(connection)


def test_exhausted(connection: colonnade.sync.Connection) -> None:
    stream = connection.iter_columns("SELECT 1")
    assert sizes(stream) == [1]
    assert sizes(stream) == []
    stream.close()
    check_usable(connection)


def test_the_connection_belongs_to_its_stream(connection: colonnade.sync.Connection) -> None:
    with connection.iter_columns(MANY, batch_rows=10) as stream:
        check_usable(connection)  # The stream begins with the first batch.
        next(stream)
        for _ in range(2):
            with pytest.raises(InterfaceError, match="another operation is in progress"):
                connection.fetch("SELECT 1")
            with pytest.raises(InterfaceError, match="another operation is in progress"):
                next(connection.iter_columns("SELECT 1"))
        assert len(next(stream)) == 10
    check_usable(connection)


def test_two_streams_one_after_the_other(connection: colonnade.sync.Connection) -> None:
    first = connection.iter_columns("SELECT generate_series(1, 3)", batch_rows=2)
    second = connection.iter_columns("SELECT generate_series(1, 5)", batch_rows=2)
    assert sizes(first) == [2, 1]
    assert sizes(second) == [2, 2, 1]


def test_what_is_no_size(connection: colonnade.sync.Connection) -> None:
    for batch_rows in (0, -1):
        with pytest.raises(ValueError, match="batch_rows must be 1 or more"):
            connection.iter_columns("SELECT 1", batch_rows=batch_rows)


def test_a_closed_connection(connection: colonnade.sync.Connection) -> None:
    stream = connection.iter_columns(MANY, batch_rows=10)
    next(stream)
    connection.close()
    with pytest.raises(InterfaceError, match="connection"):
        next(stream)
    with pytest.raises(StopIteration):
        next(stream)


def test_an_error_between_batches(connection: colonnade.sync.Connection) -> None:
    query = "SELECT (i * 30000)::int2 FROM generate_series(0, 5) i"
    stream = connection.iter_columns(query, batch_rows=1)
    assert len(next(stream)) == 1
    assert len(next(stream)) == 1
    with pytest.raises(NumericValueOutOfRangeError):
        next(stream)
    check_usable(connection)


def test_a_stream_that_was_left_half_made() -> None:
    # Ctrl-C can interrupt the constructor before its first line; `__del__` must still work.
    colonnade.sync.ColumnStream.__new__(colonnade.sync.ColumnStream).finish()
