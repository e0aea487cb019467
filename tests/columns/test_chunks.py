"""Columns in several chunks: which are shared, which are joined, and when."""

from __future__ import annotations

import functools
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from colonnade import ArrowStream, Columns, sync
from colonnade.errors import SchemaError
from colonnade.formats.streams import STREAMS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.columns.conftest import Fetch

ROWS = 1_000


def numbers(fetch: Fetch, first: int = 1, rows: int = ROWS) -> Columns:
    """An int8 and a text with NULLs."""
    return fetch(
        f"select g::int8 as n, case when g % 3 <> 0 then 'text ' || g end as t "
        f"from generate_series({first}, {first + rows - 1}) g"
    )


def address(array: Any) -> int:
    return int(np.asarray(array).__array_interface__["data"][0])


def buffers(cols: Columns) -> list[int]:
    """The addresses of the numbers of each chunk, as Arrow's consumers see them."""
    chunks = pa.table(cols).column("n").chunks
    return [int(chunk.buffers()[1].address) + 8 * chunk.offset for chunk in chunks]


def test_chunks_are_shared(fetch: Fetch) -> None:
    parts = [numbers(fetch), numbers(fetch, 5_001)]
    whole = Columns.concat(parts)
    there = [address(part["n"]) for part in parts]
    assert buffers(whole) == there
    assert buffers(whole[500:]) == [there[0] + 8 * 500, there[1]]
    assert buffers(whole.head(10)) == there[:1]
    assert buffers(Columns.concat([whole, parts[0]])) == [*there, there[0]]
    assert whole.num_rows == 2 * ROWS
    assert [field.type_name for field in whole.fields] == ["int8", "text"]
    assert whole.nbytes == sum(part.nbytes for part in parts)
    frame = pl.DataFrame(whole)
    assert frame["n"].n_chunks() == 2


def test_a_column_is_joined_once_and_is_then_shared(fetch: Fetch) -> None:
    whole = Columns.concat([numbers(fetch), numbers(fetch, ROWS + 1)])
    array = whole["n"]
    assert array.tolist() == list(range(1, 2 * ROWS + 1))
    assert address(whole["n"]) == address(array)
    assert buffers(whole) == [address(array), address(array) + 8 * ROWS]
    assert address(whole[100:]["n"]) == address(array) + 800
    assert pa.table(whole).column("t").num_chunks == 2
    text = whole["t"].tolist()
    assert text[:3] == ["text 1", "text 2", None]
    assert text[-1] == f"text {2 * ROWS}"


def test_a_thousand_small_chunks_equal_their_copy(fetch: Fetch) -> None:
    copied = numbers(fetch)
    chunked = Columns.concat([copied[row : row + 1] for row in range(ROWS)])
    assert pa.table(chunked).column("n").num_chunks == ROWS
    assert pa.table(chunked).combine_chunks().equals(pa.table(copied))
    assert repr(chunked) == repr(copied)
    assert chunked._repr_html_() == copied._repr_html_()
    assert chunked[990:].to_pylist() == copied[990:].to_pylist()
    assert chunked.to_polars().equals(copied.to_polars())
    assert chunked.to_pandas().equals(copied.to_pandas())
    assert chunked.to_structured().tolist() == copied.to_structured().tolist()


def test_chunks_without_rows_are_left_out(fetch: Fetch) -> None:
    some, none = numbers(fetch), numbers(fetch)[:0]
    whole = Columns.concat([none, some, none, none])
    assert buffers(whole) == [address(some["n"])]
    nothing = Columns.concat([none, none])
    assert nothing.shape == (0, 2)
    assert nothing["n"].dtype == np.int64
    assert nothing.to_arrow().schema == some.to_arrow().schema
    assert Columns.concat([nothing, some]).num_rows == ROWS


def test_properties_that_values_decide(fetch: Fetch) -> None:
    parts = [
        fetch(f"select '{text}'::numeric as d, '{text}' as e", schema={"e": "dictionary"})
        for text in ("1.5", "2", "3.125", "1.5")
    ]
    whole = Columns.concat(parts)
    assert whole.dtypes["d"] == "decimal128(38, 3)"
    assert [str(value) for value in whole["d"]] == ["1.500", "2.000", "3.125", "1.500"]
    table = pa.table(whole)
    assert table.column("d").num_chunks == 4
    assert table.column("e").chunk(0).dictionary.to_pylist() == ["1.5", "2", "3.125"]
    assert whole["e"].tolist() == ["1.5", "2", "3.125", "1.5"]
    with pytest.raises(SchemaError, match='column "d": the parts have columns of several types'):
        Columns.concat([whole, fetch("select 1.5::float8 as d, 'x' as e")])


def test_slices_of_much_text_need_no_wider_offsets(fetch: Fetch) -> None:
    """Each slice refers to all characters: only those that it uses count."""
    cols = fetch("select repeat('x', 30000) as t from generate_series(1, 1000)")
    whole = Columns.concat([cols[row : row + 1] for row in range(1000)])
    assert whole.dtypes == {"t": "utf8"} == cols.dtypes


@pytest.mark.parametrize("form", [form.name for form in STREAMS])
def test_encoders_take_chunks(fetch: Fetch, form: str) -> None:
    stream = next(stream for stream in STREAMS if stream.name == form)
    copied = numbers(fetch)
    chunked = Columns.concat([copied[:10], copied[10:300], copied[300:]])
    files = []
    for cols in (copied, chunked):
        defaults = {name: values[0] for name, values in stream.parameters.items()}
        encoder = stream.open(defaults)
        files.append(b"".join([*encoder.encode(cols), *encoder.finish()]))
    if form == "arrow":
        assert pa.ipc.open_stream(files[1]).read_all().equals(pa.table(copied))
    elif form == "parquet":
        assert pq.read_table(pa.BufferReader(files[1])).equals(pa.table(copied))
    else:
        assert files[0] == files[1]


def test_copy_and_streams_take_chunks(fetch: Fetch, dsn: str) -> None:
    copied = numbers(fetch)
    chunked = Columns.concat([copied[:1], copied[1:999], copied[999:]])
    with sync.connect(dsn) as connection:
        connection.execute("create temp table chunks (n int8, t text)")
        connection.copy_columns_to_table("chunks", chunked)
        back = connection.fetch_columns("select * from chunks order by n")
    assert pa.table(back).equals(pa.table(copied))
    with ArrowStream([copied, chunked, copied[:0]]) as stream:
        table = pa.table(stream)
    assert table.num_rows == 2 * ROWS
    assert table[ROWS:].combine_chunks().equals(pa.table(copied))


def test_codecs_see_one_column(dsn: str) -> None:
    with sync.connect(dsn) as connection:
        connection.set_type_codec(
            "int8", schema="pg_catalog", encoder=str, decoder=lambda t: -int(t)
        )
        parts = [connection.fetch_columns(f"select {n}::int8 as n") for n in (1, 2)]
        whole = Columns.concat(parts)
        assert whole["n"].tolist() == [-1, -2]
        assert whole.to_pylist() == [{"n": -1}, {"n": -2}]


def test_threads_join_and_read_at_the_same_time(fetch: Fetch) -> None:
    copied = numbers(fetch, rows=20_000)
    expected = pa.table(copied)
    for _ in range(20):
        whole = Columns.concat([copied[row : row + 500] for row in range(0, 20_000, 500)])
        arrays: list[Any] = []
        tables: list[pa.Table] = []
        work = [functools.partial(_append, arrays, whole.__getitem__, "n")] * 3
        work += [functools.partial(_append, tables, pa.table, whole)] * 3
        threads = [threading.Thread(target=call) for call in work]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({address(array) for array in arrays}) == 1
        assert len(tables) == 3
        assert all(table.equals(expected) for table in tables)


def _append(made: list[Any], make: Callable[[Any], Any], argument: object) -> None:
    made.append(make(argument))


_MEMORY = """
import resource, sys
from colonnade import Columns, sync

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

query = ("select g::int8 as a, g::int8 as b, g::int8 as c, g::int8 as d, g::int8 as e, "
         "g::int8 as f, g::int8 as g, g::int8 as h from generate_series(1, 250000) g")
import numpy
with sync.connect(sys.argv[1]) as connection:
    connection.fetch_columns("select 1::int8 as n")["n"]
    parts = [connection.fetch_columns(query) for _ in range(8)]
before = peak()
whole = Columns.concat(parts)
del parts
concatenated = peak()
arrays = [whole[index] for index in range(8)]
print(whole.nbytes, concatenated - before, peak() - before)
"""


def test_at_most_one_column_is_in_memory_twice(dsn: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _MEMORY, dsn], capture_output=True, text=True, check=True
    )
    size, concatenated, joined = map(int, done.stdout.split())
    assert size == 8 * 8 * 2_000_000
    # The slack is for pages that are given back in the background.
    assert concatenated < size // 16
    assert joined < size // 2
