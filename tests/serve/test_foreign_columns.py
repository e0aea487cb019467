"""Tables that another program wrote: how `serve.read` reads them, and the memory they may take."""

from __future__ import annotations

import contextlib
import gzip
import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from colonnade import Columns, serve
from colonnade.errors import FaultyTableError
from tests.serve.test_hostile_answers import TYPE, answering

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HEAD = b"200 OK\r\n" + TYPE


def stream(batches: Sequence[pa.RecordBatch], metadata: bytes = b"") -> bytes:
    """A stream with its end mark, and with metadata of each batch."""
    rows = sum(batch.num_rows for batch in batches)
    mark = {"colonnade.rows": str(rows), "colonnade.batches": str(len(batches))}
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            more = {b"more": metadata} if metadata else None
            writer.write_batch(batch, custom_metadata=more)
        writer.write_batch(batches[0].slice(0, 0), custom_metadata=mark)
    return sink.getvalue()


async def read(data: bytes, **options: Any) -> Columns:
    async with answering(HEAD, data) as url:
        return await serve.read(url, **options)


async def test_metadata_count_and_are_not_kept() -> None:
    batches = [pa.record_batch({"a": pa.array([1], pa.int8())})] * 12
    data = stream(batches, b"x" * (1 << 20))
    with pytest.raises(FaultyTableError, match="more than 1000 bytes"):
        await read(data, max_bytes=1000)
    with pytest.raises(FaultyTableError, match="more than 1048576 bytes"):
        await read(data, max_bytes=1 << 20)
    columns = await read(data, max_bytes=1 << 24)
    assert columns["a"].tolist() == [1] * 12


async def test_batches_of_nulls_count() -> None:
    batches = [pa.record_batch({"a": pa.nulls(1)})] * 20_000
    data = gzip.compress(stream(batches))
    assert len(data) < 100_000
    async with answering(HEAD + b"content-encoding: gzip\r\n", data) as url:
        for bytes_max in (1, 5_000_000):
            with pytest.raises(FaultyTableError, match=f"more than {bytes_max} bytes"):
                await serve.read(url, max_bytes=bytes_max)
        assert len(await serve.read(url, max_bytes=50_000_000)) == 20_000


async def test_rows_of_no_bytes_count() -> None:
    rows = 1_000_000
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([rows], pa.int32()), pa.array([7]))
    for column in (pa.nulls(rows), runs):
        data = stream([pa.record_batch({"a": column})])
        with pytest.raises(FaultyTableError, match="more than 100000 bytes"):
            await read(data, max_bytes=100_000)
        assert len(await read(data, max_bytes=2 * rows)) == rows


async def test_dictionaries_that_outgrow_their_keys() -> None:
    """As pandas writes them for a category: each batch may bring its own values."""
    kind = pa.dictionary(pa.int8(), pa.string())
    texts = [[f"{batch}-{number}" for number in range(100)] for batch in range(3)]
    batches = [pa.record_batch({"a": pa.array(part, pa.string()).cast(kind)}) for part in texts]
    columns = await read(stream(batches))
    assert columns.to_pylist() == [{"a": text} for part in texts for text in part]
    lists = [
        pa.record_batch({"a": pa.ListArray.from_arrays([0, 100], batch.column(0))})
        for batch in batches
    ]
    with pytest.raises(FaultyTableError, match='do not make one table: column "a": its dictionar'):
        await read(stream(lists))


async def test_lists_beyond_the_offsets_of_arrow() -> None:
    """Nulls need no bytes, so few bytes have more elements than one column holds."""
    elements = (1 << 31) - 1
    lists = pa.ListArray.from_arrays(pa.array([0, elements], pa.int32()), pa.nulls(elements))
    data = stream([pa.record_batch({"a": lists})] * 2)
    with pytest.raises(FaultyTableError) as caught:
        await read(data)
    assert "more than 2^31 bytes or elements" in str(caught.value)
    assert "schema=" not in str(caught.value)
    with pytest.raises(FaultyTableError, match="more than 1000000 bytes"):
        await read(data, max_bytes=1_000_000)


@pytest.mark.parametrize("keys", [pa.uint8(), pa.int32(), pa.uint32(), pa.int64()])
@pytest.mark.parametrize("batches", [1, 2])
async def test_dictionaries_with_keys_of_any_width(keys: pa.DataType, batches: int) -> None:
    kind = pa.dictionary(keys, pa.string())
    # Longer than what a view has within itself.
    texts = ["a" * 20, None, "b" * 20]
    batch = pa.record_batch({"a": pa.array(texts, pa.string()).cast(kind)})
    columns = await read(stream([batch] * batches))
    expected = texts * batches
    assert columns.to_polars()["a"].to_list() == expected
    frame = columns.to_pandas()
    assert frame["a"].cat.categories.tolist() == ["a" * 20, "b" * 20]
    assert [None if isinstance(text, float) else text for text in frame["a"]] == expected
    assert columns["a"].tolist() == expected


def categories(batch: int) -> pa.Array:
    return pa.array([f"{batch}a", f"{batch}b", None]).dictionary_encode()


ODD: dict[str, Callable[[int], pa.Array]] = {
    "null": lambda _: pa.nulls(3),
    "category": categories,
    "narrow": lambda batch: categories(batch).cast(pa.dictionary(pa.uint8(), pa.string())),
    "numbers": lambda batch: pa.array([batch, 2, None]).dictionary_encode(),
    "lists of categories": lambda batch: pa.ListArray.from_arrays([0, 1, 1, 3], categories(batch)),
    "runs": lambda batch: pa.RunEndEncodedArray.from_arrays(
        pa.array([2, 3], pa.int16()), pa.array([batch, None])
    ),
    "sparse union": lambda batch: pa.UnionArray.from_sparse(
        pa.array([0, 1, 0], pa.int8()), [pa.array([batch, 1, 2]), pa.array(["a", "b", "c"])]
    ),
    "dense union": lambda batch: pa.UnionArray.from_dense(
        pa.array([0, 1, 0], pa.int8()),
        pa.array([0, 0, 1], pa.int32()),
        [pa.array([batch, 2]), pa.array(["b"])],
    ),
    "map": lambda batch: pa.array([[("a", batch)], None, []], pa.map_(pa.string(), pa.int8())),
    "view": lambda batch: pa.array(["x" * 20 * (batch + 1), None, "y"], pa.string_view()),
    "list view": lambda _: pa.array([[1, 2], None, []], pa.list_view(pa.int8())),
    "fixed lists": lambda _: pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int8(), 2)),
    "lists of nothing": lambda _: pa.array([[], None, []], pa.list_(pa.null(), 0)),
    "no bytes": lambda _: pa.array([b"", None, b""], pa.binary(0)),
    "large": lambda _: pa.array([["a"], None, []], pa.large_list(pa.large_string())),
    "struct": lambda batch: pa.array([{"a": batch, "b": None}, None, {"a": None, "b": "x"}]),
    "empty struct": lambda _: pa.array([{}, None, {}], pa.struct([])),
    "half": lambda _: pa.array([1.5, None, float("inf")], pa.float16()),
    "decimal": lambda _: pa.array([1, None, 3], pa.decimal256(76, 70)),
    "small decimal": lambda _: pa.array([1, None, 3], pa.decimal32(5, 2)),
    "months": lambda _: pa.array([(1, 2, 3), None, (0, 0, 0)], pa.month_day_nano_interval()),
    "seconds": lambda _: pa.array([1, None, 2**62], pa.timestamp("s", "Mars/Olympus")),
    "time": lambda _: pa.array([1, None, 86_399], pa.time32("s")),
    "date64": lambda _: pa.array([86_400_000, None, 0], pa.int64()).view(pa.date64()),
    "duration": lambda _: pa.array([1, None, 2**62], pa.duration("ns")),
}


def encoded(columns: Columns, name: str) -> None:
    from colonnade.formats.streams import STREAMS

    form = next(form for form in STREAMS if form.name == name)
    encoder = form.open(form.settled({}) or {})
    b"".join([*encoder.encode(columns), *encoder.finish()])


USES: dict[str, Callable[[Columns], object]] = {
    "repr": repr,
    "html": Columns._repr_html_,
    "pylist": Columns.to_pylist,
    "pydict": Columns.to_pydict,
    "arrow": Columns.to_arrow,
    "pandas": Columns.to_pandas,
    "polars": Columns.to_polars,
    "numpy": lambda columns: columns["a"],
    "filter": lambda columns: columns.filter(np.arange(len(columns)) % 2 == 0).to_pylist(),
    "take": lambda columns: columns.take([5, 0, 3, 3]).to_pylist(),
    "slice": lambda columns: columns.slice(2, 3).to_pylist(),
    "concat": lambda columns: Columns.concat([columns, columns]).to_pylist(),
    "group": lambda columns: columns.group_by("a").aggregate(n=("a", "count")),
    "least": lambda columns: columns.group_by("n").aggregate(a=("a", "min")),
    "different": lambda columns: columns.group_by("n").aggregate(a=("a", "nunique")),
    "arranged": lambda columns: [part.to_pylist() for _, part in columns.group_by("n")],
    "csv": lambda columns: encoded(columns, "csv"),
    "ndjson": lambda columns: encoded(columns, "ndjson"),
    "json": lambda columns: encoded(columns, "json"),
    "parquet": lambda columns: encoded(columns, "parquet"),
    "arrow stream": lambda columns: encoded(columns, "arrow"),
}


@pytest.mark.parametrize("kind", ODD)
async def test_no_use_of_an_odd_column_panics(kind: str) -> None:
    def batch(number: int) -> pa.RecordBatch:
        return pa.record_batch({"a": ODD[kind](number), "n": pa.array([number, 1, 1])})

    data = stream([batch(0), batch(1), batch(2)])
    columns = await read(data)
    table = pa.table(columns)
    table.validate(full=True)
    written = pa.Table.from_batches([batch(0), batch(1), batch(2)])
    # Dictionaries may have got other keys.
    assert table.equals(written) or table.to_pylist() == written.to_pylist()
    for use in USES.values():
        # A panic is no Exception.
        with contextlib.suppress(Exception):
            use(columns)
