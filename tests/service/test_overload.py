"""The real application with more work than it can do."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import TYPE_CHECKING

import aiohttp

from examples.service.retrying import RetryBudget, get, pause_before
from tests.service.serving import serving

if TYPE_CHECKING:
    from pathlib import Path


async def test_exports_are_refused_and_health_and_retries_are_not(
    service_dsn: str, quick_suppliers: list[str], tmp_path: Path
) -> None:
    # One connection beside that of the jobs, and an aim that any wait for it misses.
    settings = {"SERVICE_POOL_SIZE": "2", "SERVICE_POOL_AIM": "0.000001", "SERVICE_LOOP_AIM": "60"}
    with serving(
        "gunicorn", "starlette", service_dsn, quick_suppliers, tmp_path, **settings
    ) as service:
        async with aiohttp.ClientSession(service.address) as client:
            statuses: Counter[int] = Counter()

            async def export() -> None:
                while not statuses[503]:
                    async with client.get("/export") as response:
                        statuses[response.status] += 1
                        await response.read()
                        if response.status == 503:
                            assert response.headers["X-Shed"] == "pool"
                            assert 1 <= int(response.headers["Retry-After"]) <= 30

            async with asyncio.timeout(60), asyncio.TaskGroup() as group:
                for _ in range(12):
                    group.create_task(export())
                while not statuses[503]:
                    async with client.get("/livez") as response:
                        assert response.status == 200
            assert set(statuses) == {200, 503}
            async with client.get("/metrics") as response:
                assert 'service_refused_total{cause="pool"} 0.0' not in await response.text()
        # Nothing is under way now, so a single request is let in. The server may be closing the
        # connections that were idle for seconds.
        async with aiohttp.ClientSession(service.address) as client:
            status, _ = await get(client, "/export?months=1-1", RetryBudget())
            assert status == 200


class Refusing:
    """Counts the tries of a client that is always refused."""

    def __init__(self) -> None:
        self.tries = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                self.tries += 1
                head = b"HTTP/1.1 503 Busy\r\nretry-after: 2\r\ncontent-length: 0\r\n\r\n"
                writer.write(head)
                await writer.drain()
        except asyncio.IncompleteReadError:
            writer.close()


async def test_a_client_retries_a_tenth_and_after_what_the_server_says() -> None:
    refusing = Refusing()
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    server = await asyncio.start_server(refusing.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    budget = RetryBudget(0.1, most=5)
    async with server, aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client:
        for _ in range(200):
            status, _ = await get(client, "/", budget, sleep=sleep)
            assert status == 503
    assert 220 <= refusing.tries <= 225
    assert len(pauses) == refusing.tries - 200
    assert all(2 <= pause <= 4 for pause in pauses)
    assert len(set(pauses)) > 1


def test_pauses_grow_without_advice() -> None:
    chance = random.Random(1)
    first = max(pause_before(0, 1, chance) for _ in range(100))
    third = max(pause_before(0, 3, chance) for _ in range(100))
    assert 0.1 < first <= 0.2 < third <= 0.8
