"""Transactions: committed or rolled back, whatever happens in the block; states as asyncpg's."""

# ruff: noqa: PT012 - these tests are about exceptions that leave blocks of several statements

from __future__ import annotations

# async-only: begin
import asyncio

# async-only: end
import re
from typing import TYPE_CHECKING, Any

# async-only: begin
import asyncpg

# async-only: end
import pytest

import colonnade
from colonnade.errors import (
    ConnectionDoesNotExistError,
    DivisionByZeroError,
    ForeignKeyViolationError,
    InFailedSQLTransactionError,
    InterfaceError,
    InvalidSavepointSpecificationError,
    NoActiveSQLTransactionError,
    PostgresError,
)

# async-only: begin
if TYPE_CHECKING:
    from tests.support.proxy import Proxy
# async-only: end

SETTINGS = """
    SELECT current_setting('transaction_isolation'), current_setting('transaction_read_only'),
           current_setting('transaction_deferrable')
"""


@pytest.fixture
async def table(connection: colonnade.Connection) -> colonnade.Connection:
    """A connection with a table for numbers; negative ones are refused by COMMIT."""
    await connection.execute("""
        CREATE TEMP TABLE allowed (i int PRIMARY KEY);
        INSERT INTO allowed SELECT generate_series(0, 100);
        CREATE TEMP TABLE numbers (i int REFERENCES allowed DEFERRABLE INITIALLY DEFERRED)
    """)
    return connection


async def insert(connection: colonnade.Connection, number: int) -> None:
    await connection.execute("INSERT INTO numbers VALUES ($1)", number)


async def numbers(connection: colonnade.Connection) -> list[int]:
    """The table's numbers, read outside of any transaction."""
    assert not connection.is_in_transaction()
    return [row["i"] for row in await connection.fetch("SELECT i FROM numbers ORDER BY i")]


def state(transaction: object) -> str:
    match = re.fullmatch(r"<\w+\.Transaction state:(.*) 0x[0-9a-f]+>", repr(transaction))
    assert match
    return match[1]


# Blocks


async def test_a_block_commits(table: colonnade.Connection) -> None:
    transaction = table.transaction()
    assert state(transaction) == "new"
    async with transaction as bound:
        assert bound is None
        assert state(transaction) == "started"
        assert table.is_in_transaction()
        await insert(table, 1)
    assert state(transaction) == "committed"
    assert await numbers(table) == [1]


async def test_an_exception_rolls_back_and_goes_on(table: colonnade.Connection) -> None:
    transaction = table.transaction()
    with pytest.raises(KeyError, match="mine"):
        async with transaction:
            await insert(table, 1)
            raise KeyError("mine")
    assert state(transaction) == "rolledback"
    assert await numbers(table) == []


async def test_an_error_of_the_server_rolls_back(table: colonnade.Connection) -> None:
    with pytest.raises(DivisionByZeroError):
        async with table.transaction():
            await insert(table, 1)
            await table.execute("SELECT 1 / 0")
    assert await numbers(table) == []


async def test_a_caught_error_of_the_server_rolls_back_without_a_word(
    table: colonnade.Connection,
) -> None:
    transaction = table.transaction()
    async with transaction:
        await insert(table, 1)
        with pytest.raises(DivisionByZeroError):
            await table.execute("SELECT 1 / 0")
    assert state(transaction) == "rolledback"
    assert await numbers(table) == []


async def test_a_timeout_in_the_block(table: colonnade.Connection) -> None:
    with pytest.raises(TimeoutError):
        async with table.transaction():
            await insert(table, 1)
            await table.execute("SELECT pg_sleep(100)", timeout=0.02)
    assert await numbers(table) == []


async def test_a_limit_for_queries_does_not_keep_from_rolling_back(dsn: str) -> None:
    async with await colonnade.connect(dsn, command_timeout=0.02) as connection:
        for _ in range(5):
            with pytest.raises(TimeoutError):
                async with connection.transaction():
                    await connection.execute("SELECT pg_sleep(100)")
            assert not connection.is_closed()
            assert not connection.is_in_transaction()


async def test_a_failed_commit(table: colonnade.Connection) -> None:
    transaction = table.transaction()
    with pytest.raises(ForeignKeyViolationError):
        async with transaction:
            await insert(table, -1)
    assert state(transaction) == "failed"
    assert await numbers(table) == []
    by_hand = table.transaction()
    await by_hand.start()
    await insert(table, -1)
    with pytest.raises(ForeignKeyViolationError):
        await by_hand.commit()
    with pytest.raises(InterfaceError, match="cannot rollback; the transaction is in error state"):
        await by_hand.rollback()
    async with table.transaction():
        await insert(table, 2)
    assert await numbers(table) == [2]


async def test_a_stream_that_is_still_held(table: colonnade.Connection) -> None:
    """A stream left open ends with the block, and does not disturb later calls."""
    stream = table.iter_columns("SELECT generate_series(1, 100000)", batch_rows=10)
    with pytest.raises(KeyError):
        async with table.transaction():
            await insert(table, 1)
            await anext(stream)
            raise KeyError
    assert await numbers(table) == []
    with pytest.raises(InterfaceError, match="its transaction has ended"):
        await anext(stream)
    await stream.aclose()
    other = table.iter_columns("SELECT generate_series(1, 100000)", batch_rows=10)
    with pytest.raises(InterfaceError, match="stream of columns is open"):
        async with table.transaction():
            await insert(table, 1)
            await anext(other)
    assert await numbers(table) == []
    del stream, other
    assert await numbers(table) == []


# Savepoints


async def test_within_another_it_is_a_savepoint(table: colonnade.Connection) -> None:
    async with table.transaction():
        await insert(table, 1)
        for number in (2, 3):
            with pytest.raises(DivisionByZeroError):
                async with table.transaction():
                    await insert(table, number)
                    await table.execute("SELECT 1 / 0")
        async with table.transaction():
            await insert(table, 4)
            async with table.transaction():
                await insert(table, 5)
    assert await numbers(table) == [1, 4, 5]


async def test_savepoints_do_not_pile_up(table: colonnade.Connection) -> None:
    async with table.transaction():
        inner = table.transaction()
        await inner.start()
        await inner.rollback()
        name = inner._savepoint
        with pytest.raises(InvalidSavepointSpecificationError):
            async with table.transaction():
                await table.execute(f"ROLLBACK TO {name}")
        other = table.transaction()
        await other.start()
        assert other._savepoint != name
        await other.commit()


async def test_a_caught_error_in_a_savepoint(table: colonnade.Connection) -> None:
    """RELEASE is refused; the outer transaction continues without the inner changes."""
    async with table.transaction():
        await insert(table, 1)
        inner = table.transaction()
        with pytest.raises(InFailedSQLTransactionError):
            async with inner:
                await insert(table, 2)
                with pytest.raises(DivisionByZeroError):
                    await table.execute("SELECT 1 / 0")
        assert state(inner) == "failed"
        await insert(table, 3)
    assert await numbers(table) == [1, 3]


async def test_savepoints_in_a_wrong_order(table: colonnade.Connection) -> None:
    outer, inner = table.transaction(), table.transaction()
    await outer.start()
    await inner.start()
    await outer.commit()
    with pytest.raises(NoActiveSQLTransactionError):
        await inner.commit()
    assert state(inner) == "failed"
    async with table.transaction():
        await insert(table, 1)
    assert await numbers(table) == [1]


async def test_isolation_within_another(connection: colonnade.Connection) -> None:
    await connection.execute("SET default_transaction_isolation TO 'repeatable read'")
    for outer, inner, real in [
        ("serializable", "serializable", None),
        ("serializable", None, None),
        (None, "repeatable_read", None),
        ("serializable", "read_committed", "serializable"),
        ("read_uncommitted", "read_committed", "read_uncommitted"),
        (None, "read_committed", "repeatable_read"),
    ]:
        options: dict[str, Any] = {"isolation": inner}
        async with connection.transaction(isolation=outer):  # type: ignore[arg-type]
            nested = connection.transaction(**options)
            if real is None:
                async with nested:
                    pass
                continue
            with pytest.raises(InterfaceError, match=f"current '{inner}' != outer '{real}'"):
                await nested.start()
            assert state(nested) == f"new {inner}"


# Options


async def test_options(connection: colonnade.Connection) -> None:
    for isolation in ("read_committed", "read_uncommitted", "repeatable_read", "serializable"):
        for readonly in (False, True):
            for deferrable in (False, True):
                transaction = connection.transaction(
                    isolation=isolation, readonly=readonly, deferrable=deferrable
                )
                async with transaction:
                    got = await connection.fetchrow(SETTINGS)
                words = [isolation] + ["readonly"] * readonly + ["deferrable"] * deferrable
                assert state(transaction) == " ".join(["committed", *words])
                on = ("off", "on")
                assert got == (isolation.replace("_", " "), on[readonly], on[deferrable])


async def test_unknown_levels(connection: colonnade.Connection) -> None:
    levels: list[Any] = ["read committed", "SERIALIZABLE", 1, ["serializable"]]
    for level in levels:
        with pytest.raises(ValueError, match="isolation is expected to be either of"):
            connection.transaction(isolation=level)


# By hand, and by commands


async def test_by_hand(table: colonnade.Connection) -> None:
    for end, left in [("rollback", []), ("commit", [1])]:
        transaction = table.transaction()
        await transaction.start()
        await insert(table, 1)
        await getattr(transaction, end)()
        assert await numbers(table) == left


async def test_a_command_that_was_not_sent_can_be_given_again(
    table: colonnade.Connection,
) -> None:
    transaction = table.transaction()
    await transaction.start()
    await insert(table, 1)
    async with table.iter_columns("SELECT generate_series(1, 100000)", batch_rows=10) as stream:
        await anext(stream)
        with pytest.raises(InterfaceError, match="another operation"):
            await transaction.commit()
        with pytest.raises(InterfaceError, match="another operation"):
            await transaction.rollback()
    await transaction.rollback()
    assert await numbers(table) == []


async def test_begun_by_a_command(connection: colonnade.Connection) -> None:
    await connection.execute("BEGIN")
    transaction = connection.transaction()
    with pytest.raises(InterfaceError, match="in a manually started transaction"):
        await transaction.start()
    await connection.execute("ROLLBACK")
    await transaction.start()
    await transaction.rollback()


async def test_ended_by_a_command(table: colonnade.Connection) -> None:
    async with table.transaction():
        await insert(table, 1)
        await table.execute("COMMIT")
    with pytest.raises(KeyError):
        async with table.transaction():
            await insert(table, 2)
            await table.execute("ROLLBACK")
            raise KeyError
    with pytest.raises(NoActiveSQLTransactionError):
        async with table.transaction():
            await table.execute("COMMIT")
            async with table.transaction():
                pass
    assert await numbers(table) == [1]


# The end of the connection


async def test_closed_in_the_block(dsn: str) -> None:
    connection = await colonnade.connect(dsn)
    with pytest.raises(InterfaceError, match="the underlying connection is closed"):
        async with connection.transaction():
            await connection.close()
    with pytest.raises(InterfaceError, match="connection is closed"):
        connection.transaction()


async def test_closed_in_the_block_that_fails(dsn: str) -> None:
    """The caller gets the block's own exception."""
    connection = await colonnade.connect(dsn)
    with pytest.raises(KeyError):
        async with connection.transaction(), connection.transaction():
            await connection.close()
            raise KeyError
    connection = await colonnade.connect(dsn)
    with pytest.raises(ConnectionDoesNotExistError):
        async with connection.transaction():
            connection.terminate()
            raise ConnectionDoesNotExistError
    assert connection.is_closed()


async def test_by_hand_on_a_closed_connection(dsn: str) -> None:
    connection = await colonnade.connect(dsn)
    transaction = connection.transaction()
    await connection.close()
    for method in ("start", "commit", "rollback"):
        message = rf"cannot call Transaction\.{method}\(\): the underlying connection is closed"
        with pytest.raises(InterfaceError, match=message):
            await getattr(transaction, method)()


# async-only: begin


# Cancelled


async def work(connection: colonnade.Connection) -> None:
    async with connection.transaction():
        await insert(connection, 1)
        async with connection.transaction():
            await insert(connection, 2)


async def test_cancelled_at_every_turn_of_the_loop(table: colonnade.Connection) -> None:
    """Cancellation commits all or nothing, and leaves no transaction open."""
    for turns in range(60):
        await table.execute("TRUNCATE numbers")
        task = asyncio.ensure_future(work(table))
        for _ in range(turns):
            await asyncio.sleep(0)
        if not task.done():
            task.cancel()
        await asyncio.wait([task])
        found = await table.fetch("SELECT i FROM numbers ORDER BY i")
        assert not table.is_in_transaction()
        assert found in ([], [(1,), (2,)])
        if not task.cancelled():
            assert found == [(1,), (2,)]


async def test_cancelled_while_the_server_is_silent(proxy: Proxy) -> None:
    async with await colonnade.connect(f"{proxy.dsn}?sslmode=disable") as through:
        await through.execute("CREATE TEMP TABLE numbers (i int)")
        for size in range(0, 200, 3):
            proxy.hold_after(size)
            task = asyncio.ensure_future(work(through))
            async with asyncio.timeout(20):
                while not (proxy.held.is_set() or task.done()):  # noqa: ASYNC110 - of a thread
                    await asyncio.sleep(0.001)
            task.cancel()
            proxy.release()
            await asyncio.wait([task])
            found = await through.fetch("SELECT i FROM numbers ORDER BY i")
            assert not through.is_in_transaction()
            assert found in ([], [(1,), (2,)])
            await through.execute("TRUNCATE numbers")


async def test_cancelled_again_and_again(dsn: str) -> None:
    """If the rollback is cancelled too, the connection is closed, which ends the transaction."""
    connection = await colonnade.connect(dsn)

    async def sleep() -> None:
        async with connection.transaction():
            # The server finishes the query before it notices that the client has gone.
            await connection.execute("SELECT pg_sleep(0.2)")

    task = asyncio.ensure_future(sleep())
    await asyncio.sleep(0.02)
    while not task.done():
        task.cancel()
        await asyncio.sleep(0)
    assert task.cancelled()
    assert connection.is_closed()
    await connection.conversation.transport.settled()


async def test_left_while_another_task_runs_a_query(dsn: str) -> None:
    connection = await colonnade.connect(dsn)
    with pytest.raises(KeyError) as caught:
        async with connection.transaction():
            other = asyncio.ensure_future(connection.execute("SELECT pg_sleep(0.2)"))
            await asyncio.sleep(0.01)
            raise KeyError
    assert "another operation is in progress" in caught.value.__notes__[0]
    assert connection.is_closed()
    with pytest.raises((InterfaceError, ConnectionDoesNotExistError)):
        await other


# Beside asyncpg


async def outcomes(connection: Any) -> list[str]:
    """The outcomes of misusing transactions, as text."""
    found: list[str] = []
    ours = (InterfaceError, PostgresError)

    async def attempt(transaction: Any, *methods: str) -> None:
        for method in methods:
            arguments = (None, None, None) if method == "__aexit__" else ()
            try:
                await getattr(transaction, method)(*arguments)
                outcome = "done"
            except (*ours, asyncpg.InterfaceError, asyncpg.PostgresError) as error:
                outcome = f"{type(error).__name__}: {error}"
            found.append(f"{method}: {outcome}; {state(transaction)}")

    new = connection.transaction
    await attempt(new(), "commit", "rollback", "__aexit__")
    await attempt(new(readonly=True), "start", "start", "commit", "commit", "rollback", "start")
    await attempt(new(deferrable=True), "start", "rollback", "commit", "rollback", "__aenter__")
    block = ("__aenter__", "start", "commit", "rollback", "__aenter__", "__aexit__")
    await attempt(new(isolation="serializable"), *block, "__aenter__")
    outer, inner = new(), new()
    await attempt(outer, "start")
    await attempt(new(isolation="repeatable_read"), "start", "commit")
    await attempt(inner, "start", "commit", "rollback")
    await attempt(outer, "commit")
    await connection.execute("BEGIN")
    await attempt(new(), "start", "rollback")
    await connection.execute("ROLLBACK")
    await attempt(outer := new(), "start")
    await attempt(inner := new(), "start")
    await attempt(outer, "rollback")
    await attempt(inner, "rollback", "commit")
    return found


async def test_misuse_is_told_as_by_asyncpg(connection: colonnade.Connection, dsn: str) -> None:
    peer = await asyncpg.connect(dsn)
    try:
        expected = await outcomes(peer)
    finally:
        await peer.close()
    assert await outcomes(connection) == expected


# async-only: end


# async-only: begin
async def test_loggers_are_told_asyncpgs_texts(dsn: str) -> None:
    told: list[list[str]] = []
    for driver in (asyncpg, colonnade):
        connect: Any = driver.connect
        connection = await connect(dsn)
        texts: list[str] = []
        connection.add_query_logger(lambda query, texts=texts: texts.append(query.query))
        for options in ({}, {"isolation": "serializable", "readonly": True, "deferrable": True}):
            for error in (None, KeyError()):
                try:
                    async with connection.transaction(**options), connection.transaction():
                        if error is not None:
                            raise error
                except KeyError:
                    pass
        await connection.close()
        told.append([re.sub(r"__\w+_savepoint_\w+__", "point", text) for text in texts])
    # After a rollback to a savepoint it is also released, so savepoints do not accumulate.
    released = [re.sub("; RELEASE SAVEPOINT .*;", ";", text) for text in told[1]]
    assert released == told[0]
    assert len(told[0]) == 16
    assert told[0][:2] == ["BEGIN;", "SAVEPOINT point;"]


# async-only: end
