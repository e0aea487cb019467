"""Test a FastAPI application, each test with a database of its own: by requests and by tasks."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import httpx2
import pytest
from fastapi import Depends, FastAPI, Request
from fastapi.testclient import TestClient

import colonnade
import colonnade.sync

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator


def pool_of(request: Request) -> colonnade.Pool:
    """Return the pool that the application opened when it started."""
    pool: colonnade.Pool = request.app.state.pool
    return pool


def create_app(dsn: str) -> FastAPI:
    """Create the application: a shop with items."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with colonnade.create_pool(dsn) as app.state.pool:
            yield

    app = FastAPI(lifespan=lifespan)
    app.put("/items/{name}")(put_item)
    app.get("/items")(items)
    return app


async def put_item(
    name: str, price: float, pool: Annotated[colonnade.Pool, Depends(pool_of)]
) -> None:
    """Add an item."""
    await pool.execute("INSERT INTO items VALUES ($1, $2)", name, price)


async def items(pool: Annotated[colonnade.Pool, Depends(pool_of)]) -> dict[str, float]:
    """Return the prices of all items."""
    rows = await pool.fetch("SELECT name, price FROM items")
    return {row["name"]: row["price"] for row in rows}


def create_tables(dsn: str) -> None:
    """Fill the template database. Here your migrations run."""
    with colonnade.sync.connect(dsn) as connection:
        connection.execute("CREATE TABLE items (name text PRIMARY KEY, price float8 NOT NULL)")


@pytest.fixture(scope="session")
def colonnade_template() -> Callable[[str], None]:
    """Have the plugin call `create_tables` once; each test gets a copy of the result."""
    return create_tables


@pytest.fixture
def client(colonnade_dsn: str) -> Iterator[TestClient]:
    """Start the application on the test's database."""
    with TestClient(create_app(colonnade_dsn)) as client:
        yield client


def test_an_item(client: TestClient, colonnade_sync_connection: colonnade.sync.Connection) -> None:
    """The application writes what a connection beside it reads."""
    assert client.put("/items/tea", params={"price": 2.5}).is_success
    assert colonnade_sync_connection.fetchval("SELECT price FROM items") == 2.5


def test_no_items(client: TestClient) -> None:
    """The item of the other test is not here."""
    assert client.get("/items").json() == {}


@pytest.mark.asyncio
async def test_asynchronously(colonnade_dsn: str, colonnade_pool: colonnade.Pool) -> None:
    """The application and the test share a pool: they run on one event loop."""
    app = create_app(colonnade_dsn)
    app.state.pool = colonnade_pool  # This transport does not start the application.
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://shop") as client:
        await colonnade_pool.execute("INSERT INTO items VALUES ('tea', 2.5)")
        assert (await client.get("/items")).json() == {"tea": 2.5}
