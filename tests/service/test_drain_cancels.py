"""A drain cancels at the server what still runs there."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

import aiohttp
import pytest

import colonnade
from tests.service.serving import serving

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.thorough

WAITING = """
    SELECT count(*) FROM pg_stat_activity
    WHERE application_name = $1 AND state = 'active' AND query LIKE '%FROM flights WHERE month%'
"""


@pytest.mark.parametrize("server", ["gunicorn", "granian"])
async def test_a_query_that_waits_for_a_lock_is_ended(
    server: str, service_dsn: str, quick_suppliers: list[str], tmp_path: Path
) -> None:
    name = f"cancelled-{tmp_path.name}"[:60]
    settings = {"SERVICE_GRACE": "2", "PGAPPNAME": name}
    with serving(
        server, "starlette", service_dsn, quick_suppliers, tmp_path, **settings
    ) as service:
        async with (
            aiohttp.ClientSession(service.address) as client,
            colonnade.create_pool(service_dsn, min_size=1, max_size=2) as pool,
            pool.acquire() as holder,
            holder.transaction(),
        ):
            await holder.execute("LOCK TABLE flights IN ACCESS EXCLUSIVE MODE")
            export = asyncio.create_task(_status(client, "/export?months=1-1"))
            async with asyncio.timeout(60):
                while not await pool.fetchval(WAITING, name):
                    assert not export.done()
                service.process.send_signal(signal.SIGTERM)
                # The lock is still held, so nothing but a cancellation ends the query.
                while await pool.fetchval(WAITING, name):
                    await pool.execute("SELECT pg_sleep(0.02)")
                assert await export == 503
                await asyncio.to_thread(service.process.wait)
            assert service.process.returncode == 0


async def _status(client: aiohttp.ClientSession, path: str) -> int:
    async with client.get(path) as response:
        await response.read()
        return response.status
