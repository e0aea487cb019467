"""Many tasks on one client, and tasks that are cancelled."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

import pytest

from colonnade.jobs.disque import CommandTimeoutError, Disque

if TYPE_CHECKING:
    from tests.jobs.disque.fake.cluster import FakeCluster


async def test_a_cancelled_get_leaves_no_answer_behind(cluster: FakeCluster) -> None:
    node = cluster.nodes[0]
    async with Disque(node.address, max_connections=2) as client:
        for _ in range(20):
            waiting = asyncio.create_task(client.get("q"))
            await asyncio.sleep(0.01)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert await client.paused("q") == "none"
        stats = await client.stats("q")
        assert stats is not None
        assert stats.blocked == 0
        await client.add("q", b"x")
        assert len(await client.get("q", timeout=1)) == 1


async def test_cancellations_at_any_moment_mix_up_nothing(cluster: FakeCluster) -> None:
    chance = random.Random(4)
    async with Disque(cluster.addresses, max_connections=3) as client:
        for number in range(1, 6):
            await client.add_many(f"q{number}", [str(number).encode()] * number)

        async def ask(number: int) -> None:
            peeked = await client.peek(f"q{number}", node=home[number])
            assert {job.body for job in peeked} == {str(number).encode()}
            assert len(peeked) == number

        home = {
            number: next(
                node.address
                for node in cluster.nodes
                if cluster.store.queues[node.id].get(f"q{number}".encode())
                and cluster.store.queues[node.id][f"q{number}".encode()].jobs
            )
            for number in range(1, 6)
        }
        for _ in range(300):
            task = asyncio.create_task(ask(chance.randint(1, 5)))
            await asyncio.sleep(chance.choice([0, 0, 0.0005, 0.001, 0.003]))
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert task.cancelled() or task.exception() is None
        await asyncio.gather(*(ask(number) for number in (1, 2, 3, 4, 5) * 20))
    assert all(len(node.writers) <= 3 for node in cluster.nodes)


async def test_connections_are_bounded(cluster: FakeCluster) -> None:
    node = cluster.nodes[0]
    async with Disque(node.address, max_connections=2, timeout=0.2) as client:
        waiting = [asyncio.create_task(client.get("q", node=node.address)) for _ in range(2)]
        await asyncio.sleep(0.05)
        with pytest.raises(CommandTimeoutError, match=r"all 2 connections .* are busy") as seen:
            await client.length("q", node=node.address)
        assert seen.value.safe_to_retry
        assert node.accepted == 2
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert await client.length("q") == 0


async def test_a_get_without_end_outlives_its_node(cluster: FakeCluster) -> None:
    first, second = cluster.nodes
    async with Disque(first.address, timeout=0.3) as client:
        await client.length("q")
        waiting = asyncio.create_task(client.get("q"))
        await asyncio.sleep(0.05)
        await asyncio.to_thread(first.stop)
        await asyncio.to_thread(second.stop)
        await asyncio.sleep(0.5)
        await asyncio.to_thread(second.start)
        async with Disque(second.address) as other:
            await other.add("q", b"x", replicate=1)
        (job,) = await asyncio.wait_for(waiting, 10)
        assert job.node == second.address
