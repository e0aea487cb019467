"""Arrow data of other libraries, encoded as the bytes of a COPY."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade._core import ArrowSource, CopyEncoder
from colonnade.errors import EncodeError, InterfaceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.servers import ServerUnderTest

pa = pytest.importorskip("pyarrow")

INT8, INT4, TEXT = 20, 23, 25
HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"


def encoded(
    source: ArrowSource, *targets: tuple[int, str, int, int], limit: int = 1 << 18
) -> bytes:
    encoder = CopyEncoder(source, list(targets))
    chunks = []
    while (chunk := encoder.next_chunk(limit)) is not None:
        chunks.append(chunk)
    return b"".join(chunks)


def rows(*numbers: int) -> bytes:
    return b"".join(struct.pack("!hiq", 1, 8, number) for number in numbers)


def test_streams_batches_and_arrays_give_the_same() -> None:
    batch = pa.record_batch({"a": [1, 2, 3]})
    expected = HEADER + rows(1, 2, 3) + TRAILER
    target = (0, "a", INT8, -1)
    table = pa.Table.from_batches([batch])
    source = ArrowSource.from_stream(table.__arrow_c_stream__())
    assert source.schema == [("a", "int64")]
    assert encoded(source, target) == expected
    assert encoded(ArrowSource.from_batch(*batch.__arrow_c_array__()), target) == expected
    array = batch.column(0).__arrow_c_array__()
    assert encoded(ArrowSource.from_arrays(["x"], [array]), target, limit=1) == expected


def test_columns_in_another_order_and_nulls() -> None:
    table = pa.table({"a": pa.array([1, None]), "b": ["x", None]})
    source = ArrowSource.from_stream(table.__arrow_c_stream__())
    found = encoded(source, (1, "b", TEXT, -1), (0, "a", INT8, -1))
    first = struct.pack("!hi", 2, 1) + b"x" + struct.pack("!iq", 8, 1)
    assert found == HEADER + first + struct.pack("!hii", 2, -1, -1) + TRAILER


def test_what_was_taken_is_gone() -> None:
    capsule = pa.table({"a": [1]}).__arrow_c_stream__()
    source = ArrowSource.from_stream(capsule)
    with pytest.raises(ValueError, match="released"):
        ArrowSource.from_stream(capsule)
    pair = pa.array([1]).__arrow_c_array__()
    ArrowSource.from_arrays(["a"], [pair])
    with pytest.raises(ValueError, match="taken out"):
        ArrowSource.from_arrays(["a"], [pair])
    CopyEncoder(source, [(0, "a", INT8, -1)])
    with pytest.raises(InterfaceError, match="read before"):
        CopyEncoder(source, [(0, "a", INT8, -1)])


def test_casts_are_refused_before_the_first_byte() -> None:
    source = ArrowSource.from_stream(pa.table({"a": ["1"]}).__arrow_c_stream__())
    with pytest.raises(EncodeError, match=r'column "n": Arrow\'s Utf8 is not written to int4'):
        CopyEncoder(source, [(0, "n", INT4, -1)])


def test_after_an_error_there_is_no_end() -> None:
    batches = [pa.record_batch({"a": [1]}), pa.record_batch({"a": [2, 1 << 40]})]
    source = ArrowSource.from_stream(pa.Table.from_batches(batches).__arrow_c_stream__())
    encoder = CopyEncoder(source, [(0, "n", INT4, -1)])
    with pytest.raises(EncodeError, match=r'column "n", row 2, .* is out of range for int4'):
        encoder.next_chunk(1 << 18)
    with pytest.raises(RuntimeError, match="abort the COPY"):
        encoder.next_chunk(1 << 18)


def test_a_producer_in_python_gets_the_interpreter() -> None:
    def batches(*, fails: bool) -> Iterator[Any]:
        for number in range(3):
            yield pa.record_batch({"a": [number]})
        if fails:
            raise KeyError("broken")

    schema = pa.schema({"a": pa.int64()})
    reader = pa.RecordBatchReader.from_batches(schema, batches(fails=False))
    source = ArrowSource.from_stream(reader.__arrow_c_stream__())
    assert encoded(source, (0, "a", INT8, -1)) == HEADER + rows(0, 1, 2) + TRAILER
    reader = pa.RecordBatchReader.from_batches(schema, batches(fails=True))
    source = ArrowSource.from_stream(reader.__arrow_c_stream__())
    with pytest.raises(RuntimeError, match="broken"):
        encoded(source, (0, "a", INT8, -1))


@pytest.mark.parametrize(
    ("offsets", "data"), [([0, 900, 3], b"abc"), ([0, 1, 2], b"\xff\xfe")], ids=["offsets", "utf8"]
)
def test_broken_data_is_found(offsets: list[int], data: bytes) -> None:
    buffers = [None, pa.py_buffer(struct.pack("=3i", *offsets)), pa.py_buffer(data)]
    broken = pa.Array.from_buffers(pa.string(), 2, buffers)
    with pytest.raises(EncodeError, match=r"(?i)faulty: .*(offset|utf)"):
        ArrowSource.from_arrays(["a"], [broken.__arrow_c_array__()])


EVERY_KIND = """
    select n::int2 a, n::int4 b, n::int8 c, n / 2.0::float8 d, n::numeric(20, 3) e, 't' || n f,
        n % 2 = 0 g, date '2000-01-01' + n h, timestamp '2000-01-01' + n * interval '1 hour' i,
        timestamptz '2000-01-01Z' + n * interval '1 hour' j, time '0:00' + n * interval '1 s' k,
        n * interval '1 day 2 hours' l, gen_random_uuid() m, jsonb_build_object('a', n) o,
        array[n, null, n + 1] p, array[[n, 1], [2, 3]] q, int4range(n, n + 5) r,
        nullif(n, 3)::text t, decode(lpad(to_hex(n), 8, '0'), 'hex') u, ('10.0.0.' || n)::inet v,
        n::bit(16) w, array['a', null] x
    from generate_series(1, 100) n
"""


def test_the_server_takes_back_what_it_sent(server: ServerUnderTest) -> None:
    attributes = """
        select attname::text, atttypid, atttypmod from pg_attribute
        where attrelid = 'sent'::regclass and attnum > 0 order by attnum
    """
    with colonnade.sync.connect(server.dsn) as connection:
        connection.execute(f"create temp table sent as {EVERY_KIND}")
        connection.execute("create temp table taken (like sent)")
        columns = connection.fetch_columns("select * from sent")
        source = ArrowSource.from_stream(columns.__arrow_c_stream__())
        rows = enumerate(connection.fetch(attributes))
        targets = [(index, row[0], row[1], row[2]) for index, row in rows]
        chunk = encoded(source, *targets, limit=1000)
        connection.copy_to_table("taken", source=[chunk], format="binary")
        assert connection.fetchval("select count(*) from taken") == 100
        assert not connection.fetch("select * from sent except all select * from taken")
