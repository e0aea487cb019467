"""Hostile servers: they cannot crash, block, exhaust or deceive the client."""

from __future__ import annotations

import asyncio
import struct
import time
from itertools import count
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade.errors import (
    DataError,
    InterfaceError,
    PostgresError,
    RemoteProtocolError,
)
from tests.support.resident import PeakMemory
from tests.support.scripted_server import (
    GREETING,
    READ_STARTUP,
    Hang,
    ReadMessage,
    ReadUntilClosed,
    ScriptedServer,
    Send,
    SendEach,
    SendForever,
    command_complete,
    data_row,
    error,
    message,
    parameter,
    ready,
    row_description,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.scripted_server import Step

pytestmark = pytest.mark.every_loop

DEADLINE_S = 10.0
SYNC = ReadMessage(b"S")
INT4, TEXT, RECORD = 23, 25, 2249
BOUND = message(b"2")
ROW = data_row(struct.pack("!i", 7))
END = command_complete("SELECT 1") + ready()
MIB = 1 << 20

# Every tag of the server's messages.
TAGS = b"RKvSTtZC12InsDdcGHWENA3V"
# Tags whose messages may be long.
LONG_TAGS = b"DdTENAStV"


def described(*columns: tuple[str, int]) -> bytes:
    parameters = message(b"t", struct.pack("!h", 0))
    return message(b"1") + parameters + row_description(*columns) + ready()


def to_rows(*columns: tuple[str, int]) -> list[Step]:
    """The messages up to the first row of the first query."""
    prepared = Send(described(*columns or (("n", INT4),)))
    return [READ_STARTUP, Send(GREETING), SYNC, prepared, SYNC]


@pytest.fixture(autouse=True)
def in_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test that takes long: the client must soon leave a server that does not stop."""
    monkeypatch.setattr("colonnade._driver.transport.asyncio.RECOVERY_TIMEOUT_S", 0.1)
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < DEADLINE_S


async def connect(server: ScriptedServer, timeout: float = DEADLINE_S) -> colonnade.Connection:
    return await colonnade.connect(f"{server.dsn}?sslmode=disable", timeout=timeout)


async def refused(script: list[Step], pattern: str | None = None) -> None:
    """Check that an invalid answer is a protocol error and closes the connection."""
    with ScriptedServer([*script, ReadUntilClosed()]) as server:
        connection = await connect(server)
        with pytest.raises(RemoteProtocolError, match=pattern):
            await connection.fetch("SELECT n")
        assert connection.is_closed()
        with pytest.raises(InterfaceError, match="closed"):
            await connection.fetch("SELECT n")


@pytest.mark.parametrize("position", ["abc", "-5", "", "9" * 5000])
async def test_an_error_whose_position_is_no_number(position: str) -> None:
    fields = (b"SERROR", b"VERROR", b"C42601", b"Mno", b"P" + position.encode())
    inner = (b"qSELECT m", b"p" + position.encode(), b"", b"")
    failed = Send(message(b"E", b"\0".join((*fields, *inner))) + ready())
    script = [*to_rows(), failed, SYNC, Send(BOUND + ROW + END)]
    with ScriptedServer([*script, ReadUntilClosed()]) as server:
        connection = await connect(server)
        with pytest.raises(PostgresError, match="no") as caught:
            await connection.fetchval("SELECT n")
        assert caught.value.position == position
        assert await connection.fetchval("SELECT n") == 7
        connection.terminate()


async def ask_once(
    server: ScriptedServer, *, connect_limit_s: float = DEADLINE_S, limit_s: float = DEADLINE_S
) -> None:
    """Connect, query and close, whatever the outcome."""
    connection = await connect(server, timeout=connect_limit_s)
    try:
        await connection.fetch("SELECT n", timeout=limit_s)
    finally:
        connection.terminate()


# Lengths


@pytest.mark.parametrize("length", [0, 3, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
async def test_lengths_that_are_none(length: int) -> None:
    for tag in TAGS:
        frame = bytes([tag]) + struct.pack("!I", length) + b"\0" * 16
        await refused([*to_rows(), Send(BOUND + frame)], "length|at most")


async def test_claims_take_no_memory() -> None:
    for tag in TAGS:
        claimed = 0x40000000 if tag in LONG_TAGS else 0xFFFF
        claim = Send(BOUND + bytes([tag]) + struct.pack("!I", claimed) + b"\0\1" * 100)
        with (
            PeakMemory() as memory,
            ScriptedServer([*to_rows(), claim, Hang()]) as server,
            pytest.raises(TimeoutError),
        ):
            await ask_once(server, limit_s=0.02)
        assert memory.grown_bytes < 16 * MIB, bytes([tag])


NUMBERS_THAT_LIE = {
    "columns of a row": message(b"D", b"\x7f\xff"),
    "columns of a row, negative": message(b"D", b"\xff\xff"),
    "a value": message(b"D", b"\0\1\x7f\xff\xff\xff1234"),
    "a value, negative": message(b"D", b"\0\1\x80\0\0\0"),
    "behind the last value": message(b"D", b"\0\1\0\0\0\1xyz"),
    "formats of a COPY": message(b"G", b"\0\x7f\xff"),
    "formats of a COPY, negative": message(b"H", b"\0\xff\xff"),
    "an error without an end": message(b"E", b"SERROR\0C42601\0Mno end"),
    "an error without texts": message(b"E", b"S"),
    "an error of very many fields": message(b"E", b"x\0" * 100_000 + b"\0"),
    "a notice without an end": message(b"N", b"SNOTICE\0"),
    "a notification without an end": message(b"A", b"\0\0\0\1channel\0payload"),
    "a parameter without a value": message(b"S", b"TimeZone\0"),
    "a tag without an end": message(b"C", b"SELECT 1"),
    "no transaction status": message(b"Z"),
    "a long transaction status": message(b"Z", b"II"),
    "an end with something in it": message(b"n", b"x"),
}


async def test_numbers_that_lie() -> None:
    for case, lie in NUMBERS_THAT_LIE.items():
        with PeakMemory() as memory:
            await refused([*to_rows(), Send(BOUND + lie + END)])
        assert memory.grown_bytes < 16 * MIB, case


async def test_descriptions_that_lie() -> None:
    for description in (
        message(b"T", b"\x7f\xff"),
        message(b"T", b"\xff\xff"),
        message(b"T", b"\0\1name without an end"),
        message(b"T", b"\0\1n\0" + b"\0" * 17),
        message(b"t", b"\xff\xff"),
        message(b"t", b"\0\1\0\0"),
    ):
        before = b"" if description[:1] == b"t" else message(b"t", b"\0\0")
        answer = Send(message(b"1") + before + description + ready())
        await refused([READ_STARTUP, Send(GREETING), SYNC, answer], "malformed")


# Floods


FLOODS = {
    "notices": error("01000", "x" * 1000, "NOTICE", tag=b"N"),
    "notifications": message(b"A", b"\0\0\0\1channel\0" + b"x" * 1000 + b"\0"),
    "parameters": parameter("TimeZone", "x" * 1000),
    "closes": message(b"3") * 100,
}


async def tick(counted: list[float], until_cancelled: asyncio.Event) -> None:
    """Record the times of this task's turns."""
    while not until_cancelled.is_set():
        counted.append(time.monotonic())
        await asyncio.sleep(0.001)


@pytest.mark.parametrize("flood", FLOODS)
@pytest.mark.parametrize("state", ["start-up", "query", "result"])
async def test_floods(flood: str, state: str) -> None:
    """The deadline is kept, memory does not grow, and other tasks get their turns."""
    way: list[Step] = [READ_STARTUP] if state == "start-up" else to_rows()
    begin = BOUND + ROW if state == "result" else b""
    # Send many at a time, so that the server is faster than the client.
    forever = SendForever(FLOODS[flood] * 100)
    # async-only: begin
    turns: list[float] = []
    done = asyncio.Event()
    ticking = asyncio.create_task(tick(turns, done))
    # async-only: end
    limits = {"connect_limit_s": 0.3} if state == "start-up" else {"limit_s": 0.3}
    with (
        PeakMemory() as memory,
        ScriptedServer([*way, Send(begin), forever]) as server,
        pytest.raises(TimeoutError),
    ):
        await ask_once(server, **limits)
    assert memory.grown_bytes < 32 * MIB
    # async-only: begin
    done.set()
    await ticking
    # A loop that is never given up has a turn before and one after.
    assert len(turns) > 5
    # async-only: end


async def test_parameters_without_end() -> None:
    def make() -> Iterator[bytes]:
        for start in count(step=1000):
            yield b"".join(parameter(f"name_{start + n}", "x" * 100) for n in range(1000))

    with PeakMemory() as memory:
        await refused([*to_rows(), SendEach(make)], "run-time parameters")
    assert memory.grown_bytes < 64 * MIB


async def test_a_value_without_end() -> None:
    """The received bytes are kept, in a buffer at most twice their size, until the deadline."""
    claim = b"D" + struct.pack("!i", 1_000_000_000) + b"\0\1" + struct.pack("!i", 999_999_990)
    sent = SendForever(b"x" * 65536, pause_seconds=0.002)
    script: list[Step] = [*to_rows(("t", TEXT)), Send(BOUND + claim), sent]
    with ScriptedServer(script) as server, PeakMemory() as memory:
        connection = await connect(server)
        with pytest.raises(TimeoutError):
            await connection.fetch("SELECT t", timeout=0.3)
        connection.terminate()
    assert memory.grown_bytes < 100 * MIB


async def test_a_stream_without_end_waits_for_its_reader() -> None:
    forever = SendForever(ROW * 10_000)
    with ScriptedServer([*to_rows(), Send(BOUND), forever]) as server, PeakMemory() as memory:
        connection = await connect(server)
        stream = connection.iter_columns("SELECT n", batch_rows=1000)
        for _ in range(100):
            assert len(await anext(stream)) == 1000
        await asyncio.sleep(0.1)
        await stream.aclose()
        connection.terminate()
    assert memory.grown_bytes < 32 * MIB


# The wrong order

WRONG_ORDER = {
    "ready before the result": ready(),
    "ready amid the result": BOUND + ROW + ready(),
    "rows before the binding": ROW + END,
    "an end before the binding": END,
    "bound twice": BOUND + BOUND + ROW + END,
    "parsed without being asked": message(b"1") + BOUND + ROW + END,
    "described without being asked": BOUND + row_description(("n", INT4)) + ROW + END,
    "a row behind the end": BOUND + ROW + command_complete("SELECT 1") + ROW + ready(),
    "a second end": BOUND + ROW + command_complete("SELECT 1") + END,
    "data of a COPY": BOUND + message(b"d", b"1\n") + END,
    "the end of a COPY": BOUND + message(b"c") + END,
    "a COPY of both directions": BOUND + message(b"W", b"\0\0\0") + END,
    "a function's result": BOUND + message(b"V", b"\xff\xff\xff\xff") + END,
    "a demand for a password": BOUND + message(b"R", struct.pack("!i", 3)) + END,
    "a welcome": BOUND + message(b"R", struct.pack("!i", 0)) + END,
    "a new key": BOUND + message(b"K", struct.pack("!ii", 1, 2)) + END,
    "another version": BOUND + message(b"v", struct.pack("!ii", 196610, 0)) + END,
    "fewer columns": BOUND + data_row() + END,
    "more columns": BOUND + data_row(b"\0\0\0\1", b"\0\0\0\1") + END,
}


async def test_the_wrong_order() -> None:
    for case, answer in WRONG_ORDER.items():
        with ScriptedServer([*to_rows(), Send(answer), ReadUntilClosed()]) as server:
            connection = await connect(server)
            with pytest.raises(RemoteProtocolError):
                await connection.fetch_columns("SELECT n", timeout=DEADLINE_S)
            assert connection.is_closed(), case


@pytest.mark.parametrize("response", [b"G", b"H"])
async def test_a_copy_in_place_of_a_result(response: bytes) -> None:
    """The query might have been a COPY, so the error says so and the connection stays usable."""
    copying = Send(BOUND + message(response, b"\0\0\0"))
    failed = Send(error("57014", "COPY from stdin failed") + ready())
    good = Send(BOUND + ROW + END)
    script: list[Step] = [*to_rows(), copying, failed, SYNC, good, ReadUntilClosed()]
    if response == b"G":
        script[6:6] = [ReadMessage(b"f"), SYNC]
    with ScriptedServer(script) as server:
        async with await connect(server) as connection:
            with pytest.raises(InterfaceError, match="COPY"):
                await connection.fetch("COPY t FROM STDIN")
            assert await connection.fetch("COPY t FROM STDIN") == [(7,)]


@pytest.mark.parametrize(
    "answer",
    [ready(), message(b"1"), END, BOUND, ROW, message(b"c"), message(b"G", b"\0\0\0"), b"\0\0\0"],
)
async def test_answers_to_what_nobody_asked(answer: bytes) -> None:
    with ScriptedServer([READ_STARTUP, Send(GREETING + answer), ReadUntilClosed()]) as server:
        with pytest.raises((RemoteProtocolError, InterfaceError, TimeoutError)):
            await ask_once(server, limit_s=0.2)
        assert len(server.received) == 1


async def test_bytes_behind_the_end() -> None:
    farewell = error("57P01", "terminating", "FATAL") + ROW * 100 + END
    with ScriptedServer([*to_rows(), Send(BOUND + farewell), ReadUntilClosed()]) as server:
        connection = await connect(server)
        with pytest.raises((PostgresError, InterfaceError), match="terminating"):
            await connection.fetch("SELECT n")
        assert connection.is_closed()


# Copies with a false success


async def test_a_copy_that_ends_before_its_data() -> None:
    early = Send(message(b"G", b"\0\0\0") + command_complete("COPY 1000000") + ready())
    script: list[Step] = [READ_STARTUP, Send(GREETING), ReadMessage(b"Q"), early, ReadUntilClosed()]
    with ScriptedServer(script) as server:
        connection = await connect(server)
        with pytest.raises(RemoteProtocolError):
            await connection.copy_to_table("t", source=[b"1\n"] * 3)
        assert connection.is_closed()


@pytest.mark.parametrize(
    "reply",
    [
        message(b"d", b"1\n") + ready(),
        message(b"d", b"1\n") + message(b"c") + ready(),
        message(b"d", b"1\n") + command_complete("COPY 1") + ready(),
        message(b"c") + message(b"d", b"1\n") + command_complete("COPY 1") + ready(),
    ],
)
async def test_a_copy_without_an_end(reply: bytes) -> None:
    out = Send(message(b"H", b"\0\0\0") + reply)
    script: list[Step] = [READ_STARTUP, Send(GREETING), ReadMessage(b"Q"), out, ReadUntilClosed()]
    taken = bytearray()

    async def take(data: bytes) -> None:
        taken.extend(data)

    with ScriptedServer(script) as server:
        connection = await connect(server)
        with pytest.raises(RemoteProtocolError):
            await connection.copy_from_query("SELECT 1", output=take)
        assert connection.is_closed()


# Values that do not match their description


async def test_values_of_another_type() -> None:
    rows = [b"", b"\0\0\0", b"\0\0\0\0\1", b"7"]
    script = to_rows(("n", INT4))
    for raw in rows * 2:
        script += [Send(BOUND + data_row(raw) + END), SYNC]
    with ScriptedServer([*script, ReadUntilClosed()]) as server:
        connection = await connect(server)
        for _ in rows:
            with pytest.raises(DataError, match=r'(?s)"n".*int4'):
                await connection.fetch("SELECT n")
        for _ in rows:
            with pytest.raises(DataError, match=r'(?s)"n".*int4'):
                await connection.fetch_columns("SELECT n")
        assert not connection.is_closed()
        connection.terminate()


def nested_record(depth: int) -> bytes:
    """Nested records of this depth."""
    inner = struct.pack("!i", 0)
    for _ in range(depth):
        inner = struct.pack("!iIi", 1, RECORD, len(inner)) + inner
    return inner


async def test_records_in_records() -> None:
    script = to_rows(("r", RECORD))
    for depth in (20, 20, 5_000, 5_000):
        script += [Send(BOUND + data_row(nested_record(depth)) + END), SYNC]
    with ScriptedServer([*script, ReadUntilClosed()]) as server:
        connection = await connect(server)
        assert len(await connection.fetch("SELECT r")) == 1
        assert len(await connection.fetch_columns("SELECT r")) == 1
        with pytest.raises(DataError, match="values within values"):
            await connection.fetch("SELECT r")
        with pytest.raises(DataError, match="values within values"):
            await connection.fetch_columns("SELECT r")
        connection.terminate()


@pytest.mark.parametrize("columns", [1665, 10_000, 32_767])
async def test_very_many_columns(columns: int) -> None:
    fields = [(f"c{n}", INT4) for n in range(columns)]
    row = data_row(*[struct.pack("!i", n) for n in range(columns)])
    script, end = to_rows(*fields), command_complete("SELECT 2") + ready()
    for _ in range(2):
        script += [Send(BOUND + row * 2 + end), SYNC]
    with ScriptedServer([*script, ReadUntilClosed()]) as server, PeakMemory() as memory:
        connection = await connect(server)
        rows = await connection.fetch("SELECT *")
        assert [tuple(row) for row in rows] == [tuple(range(columns))] * 2
        batch = await connection.fetch_columns("SELECT *")
        assert len(batch) == 2
        connection.terminate()
    assert memory.grown_bytes < 400 * MIB


# Types of types


def catalog_row(oid: int, kind: bytes, *, element: int = 0, fields: tuple[int, ...] = ()) -> bytes:
    """The row of the catalogs for one type."""

    def array(element: int, cells: list[bytes]) -> bytes:
        head = struct.pack("!iiIii", 1, 0, element, len(cells), 1)
        return head + b"".join(struct.pack("!i", len(cell)) + cell for cell in cells)

    number = struct.Struct("!I").pack
    names = [f"f{n}".encode() for n, _ in enumerate(fields)]
    return data_row(
        number(oid),
        b"public",
        f"t{oid}".encode(),
        kind,
        number(element),
        number(0),
        struct.pack("!i", -1),
        number(0),
        b"record_send",
        b"\1",
        array(TEXT, names),
        array(26, [number(oid) for oid in fields]),
        array(INT4, [struct.pack("!i", -1)] * len(fields)),
        array(TEXT, []),
    )


TYPES_OF_TYPES = {
    "each is two of the next": [
        catalog_row(oid, b"c", fields=(oid + 1, oid + 1)) for oid in range(50_000, 50_060)
    ],
    "each is many of the next": [
        catalog_row(oid, b"c", fields=(oid + 1,) * 1000) for oid in range(50_000, 50_060)
    ],
    "a composite of itself": [catalog_row(50_000, b"c", fields=(50_000,) * 100)],
    "an array of itself": [catalog_row(50_000, b"b", element=50_000)],
    "a long chain": [catalog_row(oid, b"b", element=oid + 1) for oid in range(50_000, 55_000)],
    "the same again and again": [catalog_row(50_000, b"c", fields=(INT4,))] * 5000,
}


@pytest.mark.parametrize("case", TYPES_OF_TYPES)
async def test_types_of_types(case: str) -> None:
    """Nested types are resolved up to a limit, and not at all beyond it; every look-up ends."""
    rows = b"".join(TYPES_OF_TYPES[case])
    end = command_complete(f"SELECT {len(TYPES_OF_TYPES[case])}")
    known = message(b"3") + message(b"1") + BOUND + rows + end
    script: list[Step] = [
        READ_STARTUP,
        Send(GREETING),
        SYNC,
        Send(described(("t", 50_000))),
        SYNC,
        Send(known + message(b"3") + ready()),
        SYNC,
        Send(BOUND + data_row(None) + END),
        SYNC,
        Send(BOUND + data_row(None) + END),
        ReadUntilClosed(),
    ]
    with ScriptedServer(script) as server, PeakMemory() as memory:
        connection = await connect(server)
        assert await connection.fetch("SELECT t", timeout=5) == [(None,)]
        assert len(await connection.fetch_columns("SELECT t", timeout=5)) == 1
        connection.terminate()
    assert memory.grown_bytes < 200 * MIB


async def test_catalogs_that_make_no_sense() -> None:
    too_short, nonsense = BOUND + data_row(b"\0"), BOUND + data_row(*[b"\0"] * 14)
    for answer in (too_short, nonsense, BOUND + ready(), ready()):
        script: list[Step] = [
            READ_STARTUP,
            Send(GREETING),
            SYNC,
            Send(described(("t", 50_000))),
            SYNC,
            Send(message(b"3") + message(b"1") + answer),
        ]
        await refused(script)
