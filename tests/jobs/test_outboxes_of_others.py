"""Outboxes in transactions of SQLAlchemy and of the DB-API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import asyncpg
import pytest
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

import colonnade
from colonnade import dbapi, embedded, jobs
from colonnade.jobs import sync as blocking_jobs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.jobs.definition import LayoutName

LAYOUTS = pytest.mark.parametrize("layout", ["rows", "segments"])


@pytest.fixture(scope="module")
def preparing() -> Iterator[str]:
    """A server with two-phase commit."""
    with embedded.start(tcp=True, settings={"max_prepared_transactions": "5"}) as server:
        yield server.dsn


@pytest.fixture
def queue(preparing: str, layout: LayoutName) -> Iterator[blocking_jobs.Queue]:
    with colonnade.sync.create_pool(preparing, min_size=1, max_size=2) as pool:
        pool.execute("CREATE TABLE users (name text)")
        yield blocking_jobs.create_queue(pool, "work", {"a": "int8"}, layout=layout)
        pool.execute("DROP SCHEMA jobs CASCADE; DROP TABLE users")


def url(dsn: str) -> sa.URL:
    return sa.make_url(dsn).set(drivername="postgresql+colonnade")


ADDED = sa.text("INSERT INTO users VALUES (:name)")


@LAYOUTS
def test_a_session(preparing: str, queue: blocking_jobs.Queue) -> None:
    engine = sa.create_engine(url(preparing))
    for count in (0, 1):
        with orm.Session(engine) as session:
            session.execute(ADDED, {"name": "Ada"})
            raw = session.connection().connection.driver_connection
            assert queue.add({"a": [1]}, connection=raw) == 1
            with session.begin_nested():
                assert queue.add({"a": [2]}, connection=raw) == 1
            with pytest.raises(colonnade.EncodeError):
                queue.add({"a": ["x"]}, connection=raw)
            session.execute(ADDED, {"name": "Bob"})
            assert queue.length() == 0
            if count:
                session.commit()
        assert queue.length() == 2 * count
    engine.dispose()


@LAYOUTS
async def test_a_session_of_asyncio(preparing: str, queue: blocking_jobs.Queue) -> None:
    engine = create_async_engine(url(preparing))
    async with colonnade.create_pool(preparing, min_size=1, max_size=2) as pool:
        mine = await jobs.open_queue(pool, "work")
        for count in (0, 1):
            async with AsyncSession(engine) as session:
                await session.execute(ADDED, {"name": "Ada"})
                link = await (await session.connection()).get_raw_connection()
                raw = link.driver_connection
                assert await mine.add({"a": [1]}, connection=raw) == 1
                with pytest.raises(colonnade.EncodeError):
                    await mine.add({"a": ["x"]}, connection=raw)
                await session.execute(ADDED, {"name": "Bob"})
                if count:
                    await session.commit()
            assert queue.length() == count
    await engine.dispose()


@LAYOUTS
@pytest.mark.parametrize("is_wrapped", [True, False])
def test_a_connection_of_the_db_api(
    preparing: str, queue: blocking_jobs.Queue, *, is_wrapped: bool
) -> None:
    with dbapi.connect(preparing) as link:
        for count in (0, 1):
            with link.cursor() as cursor:
                cursor.execute("INSERT INTO users VALUES ('Ada')")
            given = link if is_wrapped else link.driver_connection
            assert queue.add({"a": [1]}, connection=given) == 1
            assert queue.length() == 0
            if count:
                link.commit()
            else:
                link.rollback()
            assert queue.length() == count
        batch = queue.get()
        batch.commit(link)
        link.rollback()
        batch.commit(link, batch.ids)
        link.commit()
    assert queue.length() == 0


@LAYOUTS
def test_the_first_statement_of_a_transaction_of_the_db_api(
    preparing: str, queue: blocking_jobs.Queue
) -> None:
    with dbapi.connect(preparing) as link:
        queue.add({"a": [1]}, connection=link)
        assert queue.length() == 0
        link.rollback()
        assert queue.length() == 0
    with (
        dbapi.connect(preparing, autocommit=True) as link,
        pytest.raises(colonnade.InterfaceError, match="open transaction"),
    ):
        queue.add({"a": [1]}, connection=link)


@LAYOUTS
def test_two_phases_of_the_db_api(preparing: str, queue: blocking_jobs.Queue) -> None:
    with dbapi.connect(preparing) as link:
        link.tpc_begin("of jobs")
        queue.add({"a": [1, 2]}, connection=link)
        link.tpc_prepare()
        assert queue.length() == 0
        link.tpc_commit()
    assert queue.length() == 2


@LAYOUTS
async def test_a_connection_of_the_other_colour(dsn: str, layout: LayoutName) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=2) as pool:
        queue = await jobs.create_queue(pool, "work", {"a": "int8"}, layout=layout)
        try:
            with colonnade.sync.create_pool(dsn, min_size=1, max_size=2) as threads:
                blocking = blocking_jobs.open_queue(threads, "work")
                with (
                    threads.acquire() as connection,
                    connection.transaction(),
                    pytest.raises(TypeError, match=r"got a connection of colonnade\.sync"),
                ):
                    await queue.add({"a": [1]}, connection=connection)
                async with pool.acquire() as other, other.transaction():
                    with pytest.raises(TypeError, match="got a connection of asyncio"):
                        blocking.add({"a": [1]}, connection=other)
            assert await queue.length() == 0
        finally:
            await pool.execute("DROP SCHEMA jobs CASCADE")


@pytest.mark.parametrize("layout", ["rows"])
async def test_a_connection_of_asyncpg_is_refused(
    preparing: str, queue: blocking_jobs.Queue
) -> None:
    queue.add({"a": [1]})
    wrong = r"Colonnade's pool\.acquire\(\) returns, not asyncpg's "
    async with colonnade.create_pool(preparing, min_size=1, max_size=2) as pool:
        own = await jobs.open_queue(pool, "work")
        async with (
            asyncpg.create_pool(preparing, min_size=1, max_size=1) as other,
            other.acquire() as lent,
            lent.transaction(),
        ):
            with pytest.raises(TypeError, match=rf"add\(.*{wrong}PoolConnectionProxy"):
                await own.add({"a": [1]}, connection=lent)
            batch = await own.get()
            with pytest.raises(TypeError, match=rf"commit\(.*{wrong}PoolConnectionProxy"):
                await batch.commit(lent)


@pytest.mark.parametrize("layout", ["rows"])
async def test_a_connection_of_sqlalchemy_is_told_where_the_driver_is(
    preparing: str, queue: blocking_jobs.Queue
) -> None:
    engine = sa.create_engine(url(preparing))
    with engine.begin() as connection:
        connection.execute(ADDED, {"name": "Ada"})
        with pytest.raises(TypeError, match=r"sqlalchemy's Connection\. .*\.driver_connection"):
            queue.add({"a": [1]}, connection=connection)
        assert queue.add({"a": [1]}, connection=connection.connection) == 1
    engine.dispose()
    async with colonnade.create_pool(preparing, min_size=1, max_size=2) as pool:
        own = await jobs.open_queue(pool, "work")
        asking = create_async_engine(url(preparing))
        async with asking.begin() as asked:
            await asked.execute(ADDED, {"name": "Bob"})
            with pytest.raises(TypeError, match=r"sqlalchemy's AsyncConnection\. .*get_raw"):
                await own.add({"a": [1]}, connection=asked)
            raw = await asked.get_raw_connection()
            assert await own.add({"a": [1]}, connection=raw) == 1
        await asking.dispose()
