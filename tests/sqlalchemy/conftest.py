"""A server with the databases of SQLAlchemy's tests, and blocking and asyncio engines on it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import conninfo
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from colonnade import embedded
from tests.sqlalchemy.tables import Base, Thing, things

# The suite takes over pytest, so it runs in separate processes: see test_compliance.py.
collect_ignore = ["compliance"]

_SETTINGS = {
    "default_text_search_config": "pg_catalog.english",
    "max_prepared_transactions": "20",
    "timezone": "UTC",
}
_SCRIPT = """
CREATE SCHEMA test_schema;
CREATE SCHEMA test_schema_2;
CREATE EXTENSION hstore;
CREATE EXTENSION citext;
"""


@pytest.fixture(scope="session")
def databases() -> Iterator[dict[str, sa.URL]]:
    """A database for each purpose, by name, on a private server."""
    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(embedded.start(tcp=True, settings=_SETTINGS))
        except embedded.EmbeddedServerError as error:
            pytest.skip(f"this needs a private server with prepared transactions: {error}")
        urls = {}
        for name in ("suite_sync", "suite_async", "ours"):
            _make_database(server.dsn, name)
            url = sa.make_url(server.dsn).set(drivername="postgresql+colonnade", database=name)
            urls[name] = url
        yield urls


def _make_database(dsn: str, name: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'".encode())
        # A connection that a failed test left open must not hold up the others.
        connection.execute(f"ALTER DATABASE {name} SET lock_timeout = '20s'".encode())
    with psycopg.connect(conninfo.make_conninfo(dsn, dbname=name), autocommit=True) as connection:
        connection.execute(_SCRIPT)


@pytest.fixture(scope="session")
def url(databases: dict[str, sa.URL]) -> sa.URL:
    """The database of our own tests."""
    return databases["ours"]


@pytest.fixture
def engine(url: sa.URL) -> Iterator[sa.Engine]:
    """A blocking engine."""
    engine = sa.create_engine(url)
    yield engine
    engine.dispose()


@pytest.fixture
async def async_engine(url: sa.URL) -> AsyncIterator[AsyncEngine]:
    """An asyncio engine, by the same URL."""
    engine = create_async_engine(url)
    yield engine
    await engine.dispose()


Body = Callable[[sa.Connection], Any]


@pytest.fixture(params=["sync", "async"])
def within(request: pytest.FixtureRequest, url: sa.URL) -> Callable[..., Any]:
    """Run a function of a connection on a blocking or asyncio engine, and return its result."""

    def run_blocking(body: Body, **options: Any) -> Any:
        engine = sa.create_engine(options.pop("url", url), **options)
        try:
            with engine.connect() as connection:
                return body(connection)
        finally:
            engine.dispose()

    async def run_in_loop(body: Body, **options: Any) -> Any:
        engine = create_async_engine(options.pop("url", url), **options)
        try:
            async with engine.connect() as connection:
                return await connection.run_sync(body)
        finally:
            await engine.dispose()

    if request.param == "sync":
        return run_blocking
    return lambda body, **options: asyncio.run(run_in_loop(body, **options))


@pytest.fixture(scope="module")
def filled(url: sa.URL) -> Iterator[None]:
    """The table `Thing`, with its rows."""
    engine = sa.create_engine(url)
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(sa.insert(Thing), things())
    yield
    Base.metadata.drop_all(engine)
    engine.dispose()
