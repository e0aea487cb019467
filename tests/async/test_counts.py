"""Counts too large for the protocol are refused before anything is sent."""

from __future__ import annotations

import io
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import rkt
from colonnade.errors import (
    EncodeError,
    InterfaceError,
    LocalProtocolError,
    NotNullViolationError,
    PostgresSyntaxError,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MOST = 65_535
TOO_MANY = tuple(range(MOST + 1))
# The server would give a different error if the text were sent.
NO_SQL = "this is no SQL: $1"


async def stream(link: colonnade.Connection) -> None:
    async for _ in link.iter_columns(NO_SQL, *TOO_MANY):
        pytest.fail("there is no such query")


async def cursor(link: colonnade.Connection) -> None:
    async for _ in link.cursor(NO_SQL, *TOO_MANY):
        pytest.fail("there is no such query")


async def dtype_cursor(link: colonnade.Connection) -> None:
    async for _ in link.cursor(rkt.set_query_dtype(NO_SQL, [("a", "i4")]), *TOO_MANY):
        pytest.fail("there is no such query")


async def pipeline(link: colonnade.Connection, method: str, *args: Any) -> None:
    async with link.pipeline() as talk:
        one = talk.fetchval("SELECT 1")
        with pytest.raises(InterfaceError, match="at most 65535"):
            getattr(talk, method)(NO_SQL, *args)
    assert one.result() == 1
    msg = "at most 65535 it was"
    raise InterfaceError(msg)


ROADS: dict[str, Callable[[colonnade.Connection], Awaitable[Any]]] = {
    "fetch": lambda link: link.fetch(NO_SQL, *TOO_MANY),
    "fetchrow": lambda link: link.fetchrow(NO_SQL, *TOO_MANY),
    "fetchval": lambda link: link.fetchval(NO_SQL, *TOO_MANY),
    "fetch in a shape": lambda link: link.fetch(
        rkt.set_query_dtype(NO_SQL, [("a", "i4")]), *TOO_MANY
    ),
    "execute": lambda link: link.execute(NO_SQL, *TOO_MANY),
    "executemany": lambda link: link.executemany(NO_SQL, [TOO_MANY]),
    "executemany of lists": lambda link: link.executemany(NO_SQL, (list(TOO_MANY), [1])),
    "fetchmany": lambda link: link.fetchmany(NO_SQL, [TOO_MANY]),
    "fetch_result": lambda link: link.fetch_result(NO_SQL, *TOO_MANY),
    "fetchmany_result": lambda link: link.fetchmany_result(NO_SQL, [TOO_MANY]),
    "hold_result": lambda link: link.hold_result(NO_SQL, *TOO_MANY),
    "parameter_types": lambda link: link.fetch_result(
        "SELECT $1::int4", 1, parameter_types=[0] * (MOST + 1)
    ),
    "fetch_columns": lambda link: link.fetch_columns(NO_SQL, *TOO_MANY),
    "iter_columns": stream,
    "cursor": cursor,
    "dtype cursor": dtype_cursor,
    "open cursor": lambda link: link.cursor(NO_SQL, *TOO_MANY).open(),
    "copy_from_query": lambda link: link.copy_from_query(NO_SQL, *TOO_MANY, output=io.BytesIO()),
    "pipeline fetch": lambda link: pipeline(link, "fetch", *TOO_MANY),
    "pipeline fetchrow": lambda link: pipeline(link, "fetchrow", *TOO_MANY),
    "pipeline fetchval": lambda link: pipeline(link, "fetchval", *TOO_MANY),
    "pipeline execute": lambda link: pipeline(link, "execute", *TOO_MANY),
    "pipeline executemany": lambda link: pipeline(link, "executemany", [TOO_MANY]),
    "pipeline fetch_columns": lambda link: pipeline(link, "fetch_columns", *TOO_MANY),
}


@pytest.mark.parametrize("road", ROADS)
async def test_too_many_arguments(connection: colonnade.Connection, road: str) -> None:
    async with connection.transaction():
        before = await connection.fetchval("SELECT txid_current()")
        for _ in range(2):
            with pytest.raises(InterfaceError, match="at most 65535"):
                await ROADS[road](connection)
        assert await connection.fetchval("SELECT txid_current()") == before
    with pytest.raises(PostgresSyntaxError):
        await connection.fetch(NO_SQL)


PREPARED: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "fetch": lambda made: made.fetch(*TOO_MANY),
    "fetchrow": lambda made: made.fetchrow(*TOO_MANY),
    "fetchval": lambda made: made.fetchval(*TOO_MANY),
    "fetchmany": lambda made: made.fetchmany([TOO_MANY]),
    "executemany": lambda made: made.executemany([TOO_MANY]),
    "fetch_columns": lambda made: made.fetch_columns(*TOO_MANY),
    "cursor": lambda made: made.cursor(*TOO_MANY).open(),
    "explain": lambda made: made.explain(*TOO_MANY),
}


@pytest.mark.parametrize("road", PREPARED)
async def test_too_many_arguments_of_a_prepared_statement(
    connection: colonnade.Connection, road: str
) -> None:
    async with connection.transaction():
        made = await connection.prepare("SELECT $1::int4")
        with pytest.raises(LocalProtocolError, match="at most 65535"):
            await PREPARED[road](made)
        assert await made.fetchval(7) == 7


async def test_a_later_set_with_too_many_arguments(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE TEMP TABLE counted (a int4)")
    for sets in ([(1,), TOO_MANY], iter([TOO_MANY]), iter([(1,), TOO_MANY])):
        with pytest.raises(LocalProtocolError, match="at most 65535"):
            await connection.executemany("INSERT INTO counted VALUES ($1)", sets)
        assert await connection.fetchval("SELECT count(*) FROM counted") == 0


async def test_many_sets_of_arguments_are_not_many_arguments(
    connection: colonnade.Connection,
) -> None:
    await connection.execute("CREATE TEMP TABLE counted (a int4)")
    sets = tuple((number,) for number in TOO_MANY)
    await connection.executemany("INSERT INTO counted VALUES ($1)", sets)
    async with connection.pipeline() as talk:
        talk.executemany("INSERT INTO counted VALUES ($1)", sets)
    assert await connection.fetchval("SELECT count(*) FROM counted") == 2 * len(sets)


async def between_others(link: colonnade.Connection, text: str) -> None:
    try:
        async with link.pipeline() as talk:
            others = [talk.fetchval("SELECT 1")]
            talk.fetchval(text)
            others.append(talk.fetchval("SELECT 2"))
    finally:
        assert [other.result() for other in others] == [1, 2]


async def test_too_many_placeholders(connection: colonnade.Connection) -> None:
    """The server counts them modulo 65,536, and its message shows that count."""
    texts = [
        f"SELECT {number} FROM (VALUES {','.join(f'(${n}::int)' for n in range(1, count + 1))}) v"
        for number, count in enumerate([MOST + 1, MOST + 2, 2 * (MOST + 1)])
    ]
    text = texts[0]
    roads: list[Callable[[], Awaitable[object]]] = [
        *(partial(connection.prepare, each) for each in texts),
        partial(connection.prepare, text, name="counted"),
        partial(connection.parameter_types, text),
        partial(connection.fetch_columns, text),
        partial(connection.copy_from_query, text, 1, output=io.BytesIO()),
        partial(connection.executemany, text, iter([(1,)])),
        partial(between_others, connection, text),
    ]
    async with connection.transaction():
        for road in roads:
            with pytest.raises(LocalProtocolError, match=r"parameters.*at most 65535"):
                await road()
        kept = "SELECT statement FROM pg_prepared_statements WHERE length(statement) > 10000"
        assert await connection.fetch(kept) == []


async def test_a_copy_with_more_arguments_than_a_row_has_columns(
    connection: colonnade.Connection,
) -> None:
    numbers = range(1, 3_001)
    values = ",".join(f"(${number}::int4)" for number in numbers)
    query = f"SELECT sum(v), count(*) FROM (VALUES {values}) AS t (v)"
    out = io.BytesIO()
    await connection.copy_from_query(query, *numbers, output=out)
    assert out.getvalue() == b"4501500\t3000\n"
    with pytest.raises(EncodeError, match=r"\$2000 "):
        await connection.copy_from_query(query, *numbers[:1_999], "x", *numbers[2_000:], output=out)


async def test_a_value_of_a_gibibyte(connection: colonnade.Connection) -> None:
    """Its zeros are untouched pages: the value must be refused before it is read."""
    huge = bytes(1 << 30)
    await connection.execute("CREATE TEMP TABLE large (b bytea NOT NULL)")
    async with connection.transaction():
        for wrong in (
            lambda: connection.fetchval("SELECT length($1::bytea)", huge),
            lambda: connection.fetch_columns("SELECT length($1::bytea)", memoryview(huge)),
            lambda: connection.executemany("INSERT INTO large VALUES ($1)", [(huge,)]),
            lambda: connection.fetchval("SELECT cardinality($1::bytea[])", [huge]),
        ):
            with pytest.raises(EncodeError, match=r"1073741824 bytes.*less than 1 GiB"):
                await wrong()
            assert await connection.fetchval("SELECT 1") == 1
    for records in ([(huge,)], [{"b": huge}]):
        with pytest.raises(EncodeError, match="1073741824 bytes"):
            await connection.copy_records_to_table("large", records=records)
    with pytest.raises(EncodeError, match="1073741824 bytes"):
        await connection.copy_columns_to_table("large", {"b": [huge]})
    with pytest.raises(NotNullViolationError):
        await connection.copy_records_to_table("large", records=[(None,)])
    assert await connection.fetchval("SELECT count(*) FROM large") == 0


HUGE = (2**31, 2**63, 2**64, 2**70)


@pytest.mark.parametrize("count", HUGE)
async def test_more_rows_than_can_be_counted(connection: colonnade.Connection, count: int) -> None:
    query = "SELECT generate_series(1, 3) AS n"
    async with connection.transaction():
        assert await (await connection.cursor(query).open()).forward(count) == 3
        assert len(await (await connection.cursor(query).open()).fetch(count)) == 3
        assert len([row async for row in connection.cursor(query, prefetch=count)]) == 3
        assert len(await (await connection.hold_result(query)).fetch(count)) == 3
        if count < 2**63:
            async with connection.iter_columns(query, batch_rows=count) as batches:
                assert [batch.num_rows async for batch in batches] == [3]
        else:
            with pytest.raises(ValueError, match="batch_rows must be less than"):
                connection.iter_columns(query, batch_rows=count)
        assert await connection.fetchval("SELECT 1") == 1


@pytest.mark.parametrize("seconds", [3e6, 1e300, float("inf"), 10**400])
async def test_longer_than_anybody_can_wait(
    dsn: str, connection: colonnade.Connection, seconds: float
) -> None:
    assert await connection.fetchval("SELECT 1", timeout=seconds) == 1
    assert await connection.execute("SELECT pg_sleep(0.01)", timeout=seconds) == "SELECT 1"
    async with await colonnade.connect(dsn, command_timeout=seconds, timeout=seconds) as patient:
        assert await patient.fetchval("SELECT 2") == 2


async def test_no_time_at_all(dsn: str, connection: colonnade.Connection) -> None:
    with pytest.raises(ValueError, match="expected a number of seconds or None, got nan"):
        await connection.fetchval("SELECT 1", timeout=float("nan"))
    with pytest.raises(ValueError, match=r"command_timeout.*nan"):
        await colonnade.connect(dsn, command_timeout=float("nan"))
    assert await connection.fetchval("SELECT 1") == 1
