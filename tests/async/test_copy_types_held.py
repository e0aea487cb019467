"""A copy encodes by types that nobody can change before its rows are in the table."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade._driver._async import copy_in, copy_in_columns, copy_records
from colonnade._driver._async.conversation import Conversation
from colonnade.errors import (
    EncodeError,
    ForeignKeyViolationError,
    LockNotAvailableError,
    UniqueViolationError,
)
from tests.support.elsewhere import elsewhere

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    Copy = Callable[[colonnade.Connection, Any], Awaitable[Any]]

ALTER = "SET lock_timeout = '200ms'; ALTER TABLE held ALTER x TYPE float4"


async def by_records(connection: colonnade.Connection, value: Any) -> str:
    return await connection.copy_records_to_table("held", records=[(value,)], columns=["x"])


async def by_commented_records(connection: colonnade.Connection, value: Any) -> str:
    return await connection.copy_records_to_table(
        "held", records=[(value,)], columns=["x"], where="x > 0 -- and no more"
    )


async def by_columns(connection: colonnade.Connection, value: Any) -> str:
    return await connection.copy_columns_to_table("held", {"x": [value]})


async def by_staged_columns(connection: colonnade.Connection, value: Any) -> str:
    return await connection.copy_columns_to_table(
        "held", {"x": [value]}, on_conflict="update", conflict_columns="x"
    )


@pytest.fixture(params=[by_records, by_commented_records, by_columns, by_staged_columns])
def copy(request: pytest.FixtureRequest) -> Copy:
    found: Copy = request.param
    return found


@pytest.fixture
async def held(dsn: str) -> AsyncIterator[colonnade.Connection]:
    """A connection to a server with a table that others can alter."""
    async with await colonnade.connect(dsn) as connection:
        await connection.execute("DROP TABLE IF EXISTS held; CREATE TABLE held (x int4 UNIQUE)")
        yield connection
        assert not connection.is_in_transaction()
        await connection.execute("DROP TABLE held")


async def test_a_type_cannot_change_between_description_and_copy(
    held: colonnade.Connection, dsn: str, copy: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []
    for module in (copy_records, copy_in_columns):
        begin, opened = copy_in.begin_copy_in, copy_in.open_staging

        async def altered_first(*args: Any, do: Any = begin) -> None:
            with pytest.raises(LockNotAvailableError):
                elsewhere(dsn, ALTER)
            tried.append(do)
            await do(*args)

        async def altered_before_staging(*args: Any, do: Any = opened) -> None:
            await altered_first(*args, do=do)

        monkeypatch.setattr(module, "begin_copy_in", altered_first)
        monkeypatch.setattr(module, "open_staging", altered_before_staging)
    assert (await copy(held, 7)).split()[-1] == "1"
    assert tried
    assert await held.fetchval("SELECT x::text FROM held") == "7"
    # Nothing is locked any more.
    elsewhere(dsn, ALTER)


async def test_it_takes_no_round_trip_more(
    held: colonnade.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(_: Conversation, sql: str) -> str:
        raise AssertionError(sql)

    monkeypatch.setattr(Conversation, "script", refused)
    assert await by_records(held, 2) == "COPY 1"
    assert await by_columns(held, 3) == "COPY 1"


async def test_a_failed_copy_leaves_no_transaction(held: colonnade.Connection, copy: Copy) -> None:
    await held.execute("INSERT INTO held VALUES (1)")
    with pytest.raises(EncodeError):
        await copy(held, "no number")
    assert not held.is_in_transaction()
    if copy is not by_staged_columns:
        with pytest.raises(UniqueViolationError):
            await copy(held, 1)
        assert not held.is_in_transaction()
    assert await held.fetchval("SELECT count(*) FROM held") == 1


async def test_a_constraint_that_is_checked_at_the_end(
    held: colonnade.Connection, copy: Copy
) -> None:
    await held.execute(
        "ALTER TABLE held ADD y int REFERENCES held (x) DEFERRABLE INITIALLY DEFERRED DEFAULT 5"
    )
    with pytest.raises(ForeignKeyViolationError):
        await copy(held, 1)
    assert not held.is_in_transaction()
    assert await held.fetchval("SELECT count(*) FROM held") == 0


async def test_within_a_transaction_nothing_is_committed(
    held: colonnade.Connection, copy: Copy
) -> None:
    transaction = held.transaction()
    await transaction.start()
    await copy(held, 7)
    assert held.is_in_transaction()
    await transaction.rollback()
    assert await held.fetchval("SELECT count(*) FROM held") == 0


async def test_a_copy_whose_time_is_over_leaves_no_transaction(held: colonnade.Connection) -> None:
    def slow() -> Iterator[dict[str, list[int]]]:
        for number in itertools.count():
            yield {"x": list(range(number * 1000, number * 1000 + 1000))}

    with pytest.raises(TimeoutError):
        await held.copy_columns_to_table("held", slow(), timeout=0.2)
    assert not held.is_in_transaction()
    async with held.transaction():
        assert await held.fetchval("SELECT count(*) FROM held") == 0
    assert not held.is_in_transaction()
