"""The real application under real servers, in both frameworks."""

from __future__ import annotations

import asyncio
import itertools
import signal
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

import colonnade
from colonnade import observe, serve
from tests.service.serving import FLIGHTS, Service, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


_searches = itertools.count()


@pytest.fixture(scope="module", params=[("granian", "starlette"), ("gunicorn", "quart")])
def service(
    request: pytest.FixtureRequest,
    service_dsn: str,
    quick_suppliers: list[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Service]:
    server, framework = request.param
    folder = tmp_path_factory.mktemp("beats")
    with serving(server, framework, service_dsn, quick_suppliers, folder) as running:
        yield running


@pytest.fixture
async def client(service: Service) -> Any:
    async with aiohttp.ClientSession(service.address) as session:
        yield session


async def test_a_search_tells_what_came(client: aiohttp.ClientSession) -> None:
    path = f"/search?month=2&max_price={1_000 + next(_searches)}"
    async with client.get(path, headers={"X-Request-Id": "mine-1"}) as response:
        found = await response.json()
        assert response.status == 200
        assert response.headers["X-Request-Id"] == "mine-1"
        assert "db;dur=" in response.headers["Server-Timing"]
    assert found["suppliers"]["asked"] == 40
    assert found["suppliers"]["answered"] + len(found["suppliers"]["missing"]) == 40
    prices = found["offers"]["price"]
    assert prices == sorted(prices)
    assert len(prices) == found["rows"] == 20
    assert found["destination"] == "Airport D17"
    async with client.get(path, headers={"X-Request-Id": "mine-2"}) as response:
        assert await response.json() == found
        assert response.headers["X-Request-Id"] == "mine-2"
        assert response.headers["X-Cache"] == "hit"


async def test_analytics_whose_time_is_over_are_refused(client: aiohttp.ClientSession) -> None:
    async with client.get("/analytics", headers={"X-Deadline-Ms": "0"}) as response:
        problem = await response.json()
        assert (response.status, response.headers["X-Shed"]) == (503, "deadline")
        assert int(response.headers["Retry-After"]) >= 1
        assert response.content_type == "application/problem+json"
        assert problem["detail"] == "the answer would come too late"


async def test_analytics_and_an_export_are_tables(
    client: aiohttp.ClientSession, service: Service
) -> None:
    async with client.get("/analytics") as response:
        found = await response.json()
    assert found["rows"] > 0
    assert sum(found["columns"]["flights"]) < FLIGHTS
    table = await serve.read(f"{service.address}/export")
    assert len(table) == FLIGHTS


@pytest.mark.parametrize("query", ["months=9-1", "zones=x", "origins=", "min_seats=1000"])
async def test_analytics_of_no_flight_are_a_table(
    client: aiohttp.ClientSession, query: str
) -> None:
    async with client.get(f"/analytics?{query}") as response:
        assert (response.status, (await response.json())["rows"]) == (200, 0)


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/search?month=13", "month"),
        ("/export?months=x", "months"),
        ("/search?dest=%00", "dest"),
        ("/analytics?zones=%1b", "zones"),
    ],
)
async def test_a_wrong_parameter_is_explained(
    client: aiohttp.ClientSession, path: str, word: str
) -> None:
    async with client.get(path) as response:
        assert response.status == 400
        problem = await response.json(content_type="application/problem+json")
    assert word in problem["detail"]


async def test_health_and_metrics(client: aiohttp.ClientSession, service: Service) -> None:
    async with client.get("/livez") as response:
        assert (await response.json())["alive"]
    async with client.get("/readyz") as response:
        assert (await response.json())["ready"]
    async with client.get("/metrics") as response:
        text = await response.text()
    assert 'service_refused_total{cause="pool"}' in text
    assert "db_client_operation_duration_seconds" in text
    assert observe.is_alive(next(service.folder.glob("*.beat")), max_age=30)


async def test_sigterm_ends_it_within_its_grace(
    service_dsn: str, quick_suppliers: list[str], tmp_path: Path
) -> None:
    name = f"drained-{tmp_path.name}"
    settings = {"SERVICE_GRACE": "2", "PGAPPNAME": name}
    with serving(
        "granian", "starlette", service_dsn, quick_suppliers, tmp_path, **settings
    ) as service:
        async with (
            aiohttp.ClientSession(service.address) as client,
            colonnade.create_pool(service_dsn, min_size=1, max_size=1) as pool,
        ):
            async with client.get("/search?month=3") as response:
                assert response.status == 200
            service.process.send_signal(signal.SIGTERM)
            await asyncio.to_thread(service.process.wait, 60)
            assert service.process.returncode == 0
            busy = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1"
            async with asyncio.timeout(30):
                while await pool.fetchval(busy, name):
                    await pool.execute("SELECT pg_sleep(0.02)")
