# Generated from tests/async/test_transactions.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Transactions: committed or rolled back, whatever happens in the block; states as asyncpg's."""

# ruff: noqa: PT012 - these tests are about exceptions that leave blocks of several statements

from __future__ import annotations

import re
from typing import Any

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
)

SETTINGS = """
    SELECT current_setting('transaction_isolation'), current_setting('transaction_read_only'),
           current_setting('transaction_deferrable')
"""


@pytest.fixture
def table(connection: colonnade.sync.Connection) -> colonnade.sync.Connection:
    """A connection with a table for numbers; negative ones are refused by COMMIT."""
    connection.execute("""
        CREATE TEMP TABLE allowed (i int PRIMARY KEY);
        INSERT INTO allowed SELECT generate_series(0, 100);
        CREATE TEMP TABLE numbers (i int REFERENCES allowed DEFERRABLE INITIALLY DEFERRED)
    """)
    return connection


def insert(connection: colonnade.sync.Connection, number: int) -> None:
    connection.execute("INSERT INTO numbers VALUES ($1)", number)


def numbers(connection: colonnade.sync.Connection) -> list[int]:
    """The table's numbers, read outside of any transaction."""
    assert not connection.is_in_transaction()
    return [row["i"] for row in connection.fetch("SELECT i FROM numbers ORDER BY i")]


def state(transaction: object) -> str:
    match = re.fullmatch(r"<\w+\.Transaction state:(.*) 0x[0-9a-f]+>", repr(transaction))
    assert match
    return match[1]


# Blocks


def test_a_block_commits(table: colonnade.sync.Connection) -> None:
    transaction = table.transaction()
    assert state(transaction) == "new"
    with transaction as bound:
        assert bound is None
        assert state(transaction) == "started"
        assert table.is_in_transaction()
        insert(table, 1)
    assert state(transaction) == "committed"
    assert numbers(table) == [1]


def test_an_exception_rolls_back_and_goes_on(table: colonnade.sync.Connection) -> None:
    transaction = table.transaction()
    with pytest.raises(KeyError, match="mine"):
        with transaction:
            insert(table, 1)
            raise KeyError("mine")
    assert state(transaction) == "rolledback"
    assert numbers(table) == []


def test_an_error_of_the_server_rolls_back(table: colonnade.sync.Connection) -> None:
    with pytest.raises(DivisionByZeroError):
        with table.transaction():
            insert(table, 1)
            table.execute("SELECT 1 / 0")
    assert numbers(table) == []


def test_a_caught_error_of_the_server_rolls_back_without_a_word(
    table: colonnade.sync.Connection,
) -> None:
    transaction = table.transaction()
    with transaction:
        insert(table, 1)
        with pytest.raises(DivisionByZeroError):
            table.execute("SELECT 1 / 0")
    assert state(transaction) == "rolledback"
    assert numbers(table) == []


def test_a_timeout_in_the_block(table: colonnade.sync.Connection) -> None:
    with pytest.raises(TimeoutError):
        with table.transaction():
            insert(table, 1)
            table.execute("SELECT pg_sleep(100)", timeout=0.02)
    assert numbers(table) == []


def test_a_limit_for_queries_does_not_keep_from_rolling_back(dsn: str) -> None:
    with colonnade.sync.connect(dsn, command_timeout=0.02) as connection:
        for _ in range(5):
            with pytest.raises(TimeoutError):
                with connection.transaction():
                    connection.execute("SELECT pg_sleep(100)")
            assert not connection.is_closed()
            assert not connection.is_in_transaction()


def test_a_failed_commit(table: colonnade.sync.Connection) -> None:
    transaction = table.transaction()
    with pytest.raises(ForeignKeyViolationError):
        with transaction:
            insert(table, -1)
    assert state(transaction) == "failed"
    assert numbers(table) == []
    by_hand = table.transaction()
    by_hand.start()
    insert(table, -1)
    with pytest.raises(ForeignKeyViolationError):
        by_hand.commit()
    with pytest.raises(InterfaceError, match="cannot rollback; the transaction is in error state"):
        by_hand.rollback()
    with table.transaction():
        insert(table, 2)
    assert numbers(table) == [2]


def test_a_stream_that_is_still_held(table: colonnade.sync.Connection) -> None:
    """A stream left open ends with the block, and does not disturb later calls."""
    stream = table.iter_columns("SELECT generate_series(1, 100000)", batch_rows=10)
    with pytest.raises(KeyError):
        with table.transaction():
            insert(table, 1)
            next(stream)
            raise KeyError
    assert numbers(table) == []
    with pytest.raises(InterfaceError, match="its transaction has ended"):
        next(stream)
    stream.close()
    other = table.iter_columns("SELECT generate_series(1, 100000)", batch_rows=10)
    with pytest.raises(InterfaceError, match="stream of columns is open"):
        with table.transaction():
            insert(table, 1)
            next(other)
    assert numbers(table) == []
    del stream, other
    assert numbers(table) == []


# Savepoints


def test_within_another_it_is_a_savepoint(table: colonnade.sync.Connection) -> None:
    with table.transaction():
        insert(table, 1)
        for number in (2, 3):
            with pytest.raises(DivisionByZeroError):
                with table.transaction():
                    insert(table, number)
                    table.execute("SELECT 1 / 0")
        with table.transaction():
            insert(table, 4)
            with table.transaction():
                insert(table, 5)
    assert numbers(table) == [1, 4, 5]


def test_savepoints_do_not_pile_up(table: colonnade.sync.Connection) -> None:
    with table.transaction():
        inner = table.transaction()
        inner.start()
        inner.rollback()
        name = inner._savepoint
        with pytest.raises(InvalidSavepointSpecificationError):
            with table.transaction():
                table.execute(f"ROLLBACK TO {name}")
        other = table.transaction()
        other.start()
        assert other._savepoint != name
        other.commit()


def test_a_caught_error_in_a_savepoint(table: colonnade.sync.Connection) -> None:
    """RELEASE is refused; the outer transaction continues without the inner changes."""
    with table.transaction():
        insert(table, 1)
        inner = table.transaction()
        with pytest.raises(InFailedSQLTransactionError):
            with inner:
                insert(table, 2)
                with pytest.raises(DivisionByZeroError):
                    table.execute("SELECT 1 / 0")
        assert state(inner) == "failed"
        insert(table, 3)
    assert numbers(table) == [1, 3]


def test_savepoints_in_a_wrong_order(table: colonnade.sync.Connection) -> None:
    outer, inner = table.transaction(), table.transaction()
    outer.start()
    inner.start()
    outer.commit()
    with pytest.raises(NoActiveSQLTransactionError):
        inner.commit()
    assert state(inner) == "failed"
    with table.transaction():
        insert(table, 1)
    assert numbers(table) == [1]


def test_isolation_within_another(connection: colonnade.sync.Connection) -> None:
    connection.execute("SET default_transaction_isolation TO 'repeatable read'")
    for outer, inner, real in [
        ("serializable", "serializable", None),
        ("serializable", None, None),
        (None, "repeatable_read", None),
        ("serializable", "read_committed", "serializable"),
        ("read_uncommitted", "read_committed", "read_uncommitted"),
        (None, "read_committed", "repeatable_read"),
    ]:
        options: dict[str, Any] = {"isolation": inner}
        with connection.transaction(isolation=outer):  # type: ignore[arg-type]
            nested = connection.transaction(**options)
            if real is None:
                with nested:
                    pass
                continue
            with pytest.raises(InterfaceError, match=f"current '{inner}' != outer '{real}'"):
                nested.start()
            assert state(nested) == f"new {inner}"


# Options


def test_options(connection: colonnade.sync.Connection) -> None:
    for isolation in ("read_committed", "read_uncommitted", "repeatable_read", "serializable"):
        for readonly in (False, True):
            for deferrable in (False, True):
                transaction = connection.transaction(
                    isolation=isolation, readonly=readonly, deferrable=deferrable
                )
                with transaction:
                    got = connection.fetchrow(SETTINGS)
                words = [isolation] + ["readonly"] * readonly + ["deferrable"] * deferrable
                assert state(transaction) == " ".join(["committed", *words])
                on = ("off", "on")
                assert got == (isolation.replace("_", " "), on[readonly], on[deferrable])


def test_unknown_levels(connection: colonnade.sync.Connection) -> None:
    levels: list[Any] = ["read committed", "SERIALIZABLE", 1, ["serializable"]]
    for level in levels:
        with pytest.raises(ValueError, match="isolation is expected to be either of"):
            connection.transaction(isolation=level)


# By hand, and by commands


def test_by_hand(table: colonnade.sync.Connection) -> None:
    for end, left in [("rollback", []), ("commit", [1])]:
        transaction = table.transaction()
        transaction.start()
        insert(table, 1)
        getattr(transaction, end)()
        assert numbers(table) == left


def test_a_command_that_was_not_sent_can_be_given_again(
    table: colonnade.sync.Connection,
) -> None:
    transaction = table.transaction()
    transaction.start()
    insert(table, 1)
    with table.iter_columns("SELECT generate_series(1, 100000)", batch_rows=10) as stream:
        next(stream)
        with pytest.raises(InterfaceError, match="another operation"):
            transaction.commit()
        with pytest.raises(InterfaceError, match="another operation"):
            transaction.rollback()
    transaction.rollback()
    assert numbers(table) == []


def test_begun_by_a_command(connection: colonnade.sync.Connection) -> None:
    connection.execute("BEGIN")
    transaction = connection.transaction()
    with pytest.raises(InterfaceError, match="in a manually started transaction"):
        transaction.start()
    connection.execute("ROLLBACK")
    transaction.start()
    transaction.rollback()


def test_ended_by_a_command(table: colonnade.sync.Connection) -> None:
    with table.transaction():
        insert(table, 1)
        table.execute("COMMIT")
    with pytest.raises(KeyError):
        with table.transaction():
            insert(table, 2)
            table.execute("ROLLBACK")
            raise KeyError
    with pytest.raises(NoActiveSQLTransactionError):
        with table.transaction():
            table.execute("COMMIT")
            with table.transaction():
                pass
    assert numbers(table) == [1]


# The end of the connection


def test_closed_in_the_block(dsn: str) -> None:
    connection = colonnade.sync.connect(dsn)
    with pytest.raises(InterfaceError, match="the underlying connection is closed"):
        with connection.transaction():
            connection.close()
    with pytest.raises(InterfaceError, match="connection is closed"):
        connection.transaction()


def test_closed_in_the_block_that_fails(dsn: str) -> None:
    """The caller gets the block's own exception."""
    connection = colonnade.sync.connect(dsn)
    with pytest.raises(KeyError):
        with connection.transaction(), connection.transaction():
            connection.close()
            raise KeyError
    connection = colonnade.sync.connect(dsn)
    with pytest.raises(ConnectionDoesNotExistError):
        with connection.transaction():
            connection.terminate()
            raise ConnectionDoesNotExistError
    assert connection.is_closed()


def test_by_hand_on_a_closed_connection(dsn: str) -> None:
    connection = colonnade.sync.connect(dsn)
    transaction = connection.transaction()
    connection.close()
    for method in ("start", "commit", "rollback"):
        message = rf"cannot call Transaction\.{method}\(\): the underlying connection is closed"
        with pytest.raises(InterfaceError, match=message):
            getattr(transaction, method)()
