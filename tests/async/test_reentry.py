"""A callback of a call on a connection uses that connection itself, which is refused."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import colonnade
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

pytestmark = pytest.mark.every_loop

LIMIT_S = 60
REFUSAL = "another operation is in progress"


class Asker:
    """Uses the connection from a synchronous callback, and expects a refusal."""

    def __init__(self, connection: colonnade.Connection) -> None:
        self.connection = connection
        self.refusals = 0

    def __call__(self, *_: object) -> None:
        with pytest.raises(InterfaceError, match=REFUSAL):
            self._ask()
        self.refusals += 1

    def _ask(self) -> None:
        began: Any = self.connection.fetchval("SELECT $1::int8", 777)
        # async-only: begin
        began.send(None)
        # async-only: end
        raise AssertionError(f"expected a refusal, got {began!r}")


class Stream:
    """A foreign container that uses the connection when its data are requested."""

    def __init__(self, ask: Asker) -> None:
        self.ask = ask

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        self.ask()
        return pa.table({"i": [0, 1, 2]}).__arrow_c_stream__(requested_schema)


class Array:
    def __init__(self, ask: Asker) -> None:
        self.ask = ask

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        self.ask()
        return pa.record_batch({"i": [0, 1, 2]}).__arrow_c_array__(requested_schema)


class Number:
    def __init__(self, ask: Asker, value: int) -> None:
        self.ask = ask
        self.value = value

    def __index__(self) -> int:
        self.ask()
        return self.value


class File(io.RawIOBase):
    """A file whose methods, perhaps called in another thread, use the connection."""

    def __init__(self, ask: Asker, rows: int = 3) -> None:
        super().__init__()
        self.ask = ask
        self.left = rows
        self.written = b""

    def read(self, size: int = -1) -> bytes:
        del size
        self.ask()
        self.left -= 1
        return b"" if self.left < 0 else b"%d\n" % self.left

    def write(self, chunk: Any) -> int:
        self.ask()
        self.written += bytes(chunk)
        return len(chunk)


def batches(ask: Asker) -> Iterator[dict[str, Any]]:
    for number in range(3):
        ask()
        yield {"i": np.array([number])}


async def copied_columns(connection: colonnade.Connection, source: Any, **options: Any) -> None:
    copy = connection.copy_columns_to_table("sink", source, timeout=LIMIT_S, **options)
    assert await copy == "COPY 3"


async def from_a_generator(connection: colonnade.Connection, ask: Asker) -> None:
    await copied_columns(connection, batches(ask))


# async-only: begin
async def from_an_async_generator(connection: colonnade.Connection, ask: Asker) -> None:
    async def slowly() -> AsyncIterator[dict[str, Any]]:
        for batch in batches(ask):
            with pytest.raises(InterfaceError, match=REFUSAL):
                await connection.fetchval("SELECT 1")
            yield batch

    await copied_columns(connection, slowly())


# async-only: end
async def from_an_upsert(connection: colonnade.Connection, ask: Asker) -> None:
    await connection.execute("CREATE TEMPORARY TABLE keyed (i int8 PRIMARY KEY)")
    copy = connection.copy_columns_to_table(
        "keyed", batches(ask), on_conflict="nothing", conflict_columns="i", timeout=LIMIT_S
    )
    assert await copy == "INSERT 0 3"


async def from_arrow_objects(connection: colonnade.Connection, ask: Asker) -> None:
    await copied_columns(connection, Stream(ask))
    await copied_columns(connection, Array(ask))


async def from_a_reader(connection: colonnade.Connection, ask: Asker) -> None:
    def parts() -> Iterator[pa.RecordBatch]:
        for batch in batches(ask):
            yield pa.record_batch({"i": pa.array(batch["i"])})

    reader = pa.RecordBatchReader.from_batches(pa.schema({"i": pa.int64()}), parts())
    await copied_columns(connection, reader)


async def from_progress(connection: colonnade.Connection, ask: Asker) -> None:
    await copied_columns(connection, {"i": np.arange(3)}, progress=ask)


async def from_objects(connection: colonnade.Connection, ask: Asker) -> None:
    await copied_columns(connection, {"i": [Number(ask, number) for number in range(3)]})


async def from_records(connection: colonnade.Connection, ask: Asker) -> None:
    def records() -> Iterator[tuple[object]]:
        for number in range(3):
            ask()
            yield (Number(ask, number),)

    copy = connection.copy_records_to_table("sink", records=records(), timeout=LIMIT_S)
    assert await copy == "COPY 3"


async def from_bytes(connection: colonnade.Connection, ask: Asker) -> None:
    def lines() -> Iterator[bytes]:
        for number in range(3):
            ask()
            yield b"%d\n" % number

    copy = connection.copy_to_table("sink", source=lines(), timeout=LIMIT_S)
    assert await copy == "COPY 3"
    copy = connection.copy_to_table("sink", source=File(ask), timeout=LIMIT_S)
    assert await copy == "COPY 3"


async def from_sinks(connection: colonnade.Connection, ask: Asker) -> None:
    query = "SELECT generate_series(1, 3)"
    file: Any = File(ask)
    assert await connection.copy_from_query(query, output=file, timeout=LIMIT_S) == "COPY 3"
    assert file.written == b"1\n2\n3\n"

    async def take(chunk: bytes) -> None:
        ask()
        with pytest.raises(InterfaceError, match=REFUSAL):
            await connection.fetchval("SELECT 1")
        assert chunk

    assert await connection.copy_from_query(query, output=take, timeout=LIMIT_S) == "COPY 3"


async def from_many(connection: colonnade.Connection, ask: Asker) -> None:
    def sets() -> Iterator[tuple[object]]:
        for number in range(3):
            ask()
            yield (Number(ask, number),)

    await connection.executemany("INSERT INTO sink VALUES ($1)", sets(), timeout=LIMIT_S)
    assert len(await connection.fetchmany("SELECT $1::int8", sets(), timeout=LIMIT_S)) == 3


async def from_parameters(connection: colonnade.Connection, ask: Asker) -> None:
    for _ in range(2):
        assert await connection.fetchval("SELECT $1::int8 + 1", Number(ask, 3)) == 4
        found = await connection.fetch_columns("SELECT $1::int8[] AS a", [Number(ask, 3)])
        assert found.to_pylist() == [{"a": [3]}]


async def from_codecs(connection: colonnade.Connection, ask: Asker) -> None:
    def encoded(value: object) -> str:
        ask()
        return str(value)

    def decoded(value: str) -> str:
        ask()
        return value

    await connection.set_type_codec(
        "int8", schema="pg_catalog", encoder=encoded, decoder=decoded, format="text"
    )
    for _ in range(2):
        assert await connection.fetchval("SELECT $1::int8", 3, timeout=LIMIT_S) == "3"
    await connection.reset_type_codec("int8", schema="pg_catalog")


ROADS: dict[str, Callable[[Any, Any], Any]] = {
    "generator": from_a_generator,
    # async-only: begin
    "async generator": from_an_async_generator,
    # async-only: end
    "upsert": from_an_upsert,
    "arrow objects": from_arrow_objects,
    "reader": from_a_reader,
    "progress": from_progress,
    "objects": from_objects,
    "records": from_records,
    "bytes": from_bytes,
    "sinks": from_sinks,
    "many": from_many,
    "parameters": from_parameters,
    "codecs": from_codecs,
}


@pytest.mark.parametrize("road", ROADS)
async def test_a_call_from_within_is_refused(connection: colonnade.Connection, road: str) -> None:
    await connection.execute("CREATE TEMPORARY TABLE sink (i int8)")
    ask = Asker(connection)
    await ROADS[road](connection, ask)
    assert ask.refusals > 0
    assert connection.conversation.owner is None
    assert await connection.fetchval("SELECT 1") == 1
