"""SIGTERM to the real application, with work that does not end by itself."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

import aiohttp
import pytest

import colonnade
from colonnade import jobs
from examples.service.jobs import QUEUE
from examples.service.suppliers.processes import suppliers
from tests.service.serving import serving

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("server", ["gunicorn", "granian"])
async def test_what_does_not_end_is_cancelled_and_nothing_is_left(
    server: str, service_dsn: str, tmp_path: Path
) -> None:
    name = f"drain-{tmp_path.name}"[:60]
    settings = {"SERVICE_GRACE": "2", "SERVICE_DEADLINE": "300", "PGAPPNAME": name}
    with (
        suppliers(3, processes=1, mood="hanging") as hanging,
        serving(server, "starlette", service_dsn, hanging, tmp_path, **settings) as service,
    ):
        async with (
            aiohttp.ClientSession(service.address) as client,
            colonnade.create_pool(service_dsn, min_size=1, max_size=2) as pool,
        ):
            search = asyncio.create_task(_status(client, "/search"))
            while await _load(client) == 0:
                assert not search.done()
            service.process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(60):
                assert await search == (503, "The process ends")
                await asyncio.to_thread(service.process.wait)
                assert service.process.returncode == 0
                while await pool.fetchval(
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", name
                ):
                    await pool.execute("SELECT pg_sleep(0.02)")
            stats = await (await jobs.open_queue(pool, QUEUE)).stats()
            assert stats.leased == 0


async def _status(client: aiohttp.ClientSession, path: str) -> tuple[int, str]:
    async with client.get(path) as response:
        problem = await response.json(content_type=None)
        return response.status, problem["title"]


async def _load(client: aiohttp.ClientSession) -> float:
    async with client.get("/metrics") as response:
        lines = (await response.text()).splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("service_load ")))
