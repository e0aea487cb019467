"""Many batches as one Arrow stream that other libraries read on demand."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import colonnade
from colonnade import ArrowStream
from colonnade.errors import DivisionByZeroError, InterfaceError

if TYPE_CHECKING:
    from colonnade.sync import ColumnStream, Connection

ROWS, STEP = 10_000, 1_000
QUERY = f"SELECT g AS id, g::text AS name FROM generate_series(1, {ROWS}) g"


class Counted:
    """An iterator that counts the items taken."""

    def __init__(self, batches: ColumnStream) -> None:
        self.batches = batches
        self.taken = 0

    def __iter__(self) -> Counted:
        return self

    def __next__(self) -> colonnade.Columns:
        columns = next(self.batches)
        self.taken += 1
        return columns

    def close(self) -> None:
        self.batches.close()


def test_whole_results(link: Connection) -> None:
    with link.iter_columns(QUERY, batch_rows=STEP) as batches:
        table = pa.table(ArrowStream(batches))
    assert table.equals(link.fetch_columns(QUERY).to_arrow())
    with link.iter_columns(QUERY, batch_rows=STEP) as batches:
        frame = pl.DataFrame(ArrowStream(batches))
    assert frame.equals(link.fetch_columns(QUERY).to_polars())
    with link.iter_columns(QUERY, batch_rows=STEP) as batches:
        stream = ArrowStream(batches)
        relation = duckdb.sql("SELECT sum(id), max(name) FROM stream")
        assert relation is not None
        assert relation.fetchall() == [(ROWS * (ROWS + 1) // 2, "9999")]
    assert link.fetchval("SELECT 1") == 1
    assert stream.error is None


def test_registered_with_duckdb(link: Connection) -> None:
    with duckdb.connect() as duck, link.iter_columns(QUERY, batch_rows=STEP) as batches:
        duck.register("rows", ArrowStream(batches))
        assert duck.execute("SELECT count(*) FROM rows WHERE id % 2 = 0").fetchall() == [(5000,)]


def test_no_more_is_fetched_than_is_read(link: Connection) -> None:
    counted = Counted(link.iter_columns(QUERY, batch_rows=STEP))
    with ArrowStream(counted) as stream:
        lazy = pl.scan_arrow_c_stream(stream)
        assert counted.taken <= 1
        assert lazy.head(3).collect()["id"].to_list() == [1, 2, 3]
        # Polars has read ahead in a separate thread; the end of the block waits for it.
    assert counted.taken <= 4
    assert link.fetchval("SELECT 1") == 1
    with link.iter_columns(QUERY, batch_rows=STEP) as batches:
        counted = Counted(batches)
        reader = pa.RecordBatchReader.from_stream(ArrowStream(counted))
        assert counted.taken == 1
        assert reader.read_next_batch().num_rows == STEP
        assert counted.taken == 1
        assert sum(batch.num_rows for batch in reader) == ROWS - STEP
        assert counted.taken == ROWS // STEP


def test_layouts_that_a_consumer_asks_for(link: Connection) -> None:
    wanted = pa.schema({"id": pa.int32(), "name": pa.large_string()})
    with link.iter_columns(QUERY, batch_rows=STEP) as batches:
        reader = pa.RecordBatchReader.from_stream(ArrowStream(batches), schema=wanted)
        assert reader.schema == wanted
        assert reader.read_all().num_rows == ROWS


def test_read_once_and_read_again(link: Connection) -> None:
    with link.iter_columns(QUERY, batch_rows=STEP) as batches:
        stream = ArrowStream(batches)
        assert pa.schema(stream) == pa.schema(stream)
        assert pa.table(stream).num_rows == ROWS
        with pytest.raises(InterfaceError, match=r"has been read, (.|\n)*a list of its batches"):
            pa.table(stream)
    with link.iter_columns(QUERY, batch_rows=STEP) as batches:
        kept = ArrowStream(list(batches))
    assert pa.table(kept).equals(pa.table(kept))


def test_errors_before_and_within(link: Connection) -> None:
    with (
        link.iter_columns("SELECT nothing") as batches,
        pytest.raises(colonnade.UndefinedColumnError),
    ):
        pa.table(ArrowStream(batches))
    query = f"SELECT 1 / ({ROWS} - g) FROM generate_series(1, {ROWS}) g"
    with link.iter_columns(query, batch_rows=STEP) as batches:
        stream = ArrowStream(batches)
        with pytest.raises(pa.ArrowInvalid, match="DivisionByZeroError: division by zero"):
            pa.table(stream)
        assert isinstance(stream.error, DivisionByZeroError)
    assert link.fetchval("SELECT 1") == 1


def test_batches_that_do_not_fit_together(link: Connection) -> None:
    one, other = link.fetch_columns("SELECT 1 AS a"), link.fetch_columns("SELECT 'x' AS a")
    stream = ArrowStream([one, other])
    with pytest.raises(pa.ArrowInvalid, match="other columns or types than the first"):
        pa.table(stream)
    strange: Any = [one, 5]
    with pytest.raises(pa.ArrowInvalid, match="TypeError: a batch must be Columns, not int"):
        pa.table(ArrowStream(strange))


async def test_what_is_no_stream(dsn: str, link: Connection) -> None:
    make: Any = ArrowStream
    with pytest.raises(TypeError, match="iterable of Columns, not Columns"):
        make(link.fetch_columns("SELECT 1"))
    with pytest.raises(TypeError, match="iterable of Columns, not int"):
        make(5)
    with pytest.raises(ValueError, match="at least one batch"):
        pa.table(make([]))
    connection = await colonnade.connect(dsn)
    with pytest.raises(TypeError, match="which other libraries cannot read"):
        make(connection.iter_columns(QUERY))
    assert pa.table(make([part async for part in connection.iter_columns(QUERY)])).num_rows == ROWS
    await connection.close()


def test_closed(link: Connection) -> None:
    with ArrowStream(link.iter_columns(QUERY, batch_rows=STEP)) as stream:
        reader = pa.RecordBatchReader.from_stream(stream)
        reader.read_next_batch()
    with pytest.raises(pa.ArrowInvalid, match="InterfaceError: the stream was closed"):
        reader.read_next_batch()
    with pytest.raises(InterfaceError, match="the stream was closed"):
        pa.table(stream)
    assert link.fetchval("SELECT 1") == 1


def test_the_end_waits_for_a_consumer_in_another_thread(link: Connection) -> None:
    fetching, done = threading.Event(), threading.Event()

    class Slow(Counted):
        def __next__(self) -> colonnade.Columns:
            if self.taken == 1:
                fetching.set()
                assert done.wait(10)
            return super().__next__()

    def consume() -> None:
        with contextlib.suppress(pa.ArrowInvalid):
            reader.read_all()

    with ArrowStream(Slow(link.iter_columns(QUERY, batch_rows=STEP))) as stream:
        reader = pa.RecordBatchReader.from_stream(stream)
        thread = threading.Thread(target=consume)
        thread.start()
        assert fetching.wait(10)
        threading.Timer(0.01, done.set).start()
    assert done.is_set()
    thread.join()
    assert isinstance(stream.error, InterfaceError)
    assert link.fetchval("SELECT 1") == 1
