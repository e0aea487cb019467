"""Nodes that die, hang up, stall, leave and talk nonsense."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING

import pytest

from colonnade._words.extras import how_to_install
from colonnade.errors import InterfaceError
from colonnade.jobs.disque import errors
from colonnade.jobs.disque._async.client import Disque
from tests.jobs.disque.fake.faults import answer, cut_at, error, hang_up, stall

if TYPE_CHECKING:
    from tests.jobs.disque.fake.cluster import FakeCluster

pytestmark = pytest.mark.every_loop

ID_REPLY_BYTES = len("+D-aaaaaaaa-8YL1NT17e9+wsA/09NqxscQI-05a1\r\n")


async def test_an_add_whose_answer_is_cut_anywhere_is_never_sent_twice(
    cluster: FakeCluster,
) -> None:
    first, second = cluster.nodes
    async with Disque(cluster.addresses) as client:
        for size in range(ID_REPLY_BYTES):
            before = len(cluster.store.jobs)
            for node in (first, second):
                node.faults = {"ADDJOB": [cut_at(size)]}
            with pytest.raises(
                errors.ConnectionLostError, match="may have been carried out"
            ) as seen:
                await client.add("q", b"x")
            assert not seen.value.safe_to_retry
            assert isinstance(seen.value, ConnectionError)
            assert len(cluster.store.jobs) == before + 1
        for node in (first, second):
            node.faults = {}
        assert await client.add("q", b"y") in cluster.store.jobs
    assert len(first.sent("ADDJOB")) + len(second.sent("ADDJOB")) == ID_REPLY_BYTES + 1


async def test_an_add_to_a_node_that_hangs_up_is_not_sent_twice(cluster: FakeCluster) -> None:
    for node in cluster.nodes:
        node.fail("ADDJOB", hang_up())
    async with Disque(cluster.addresses) as client:
        with pytest.raises(errors.ConnectionLostError):
            await client.add("q", b"x")
        assert cluster.store.jobs == {}


@pytest.mark.parametrize("size", [0, 1, 3, 9, 30, 60, 61])
async def test_a_question_whose_answer_is_cut_is_asked_again(
    cluster: FakeCluster, size: int
) -> None:
    async with Disque(cluster.addresses) as client:
        await client.add("q", b"body", retry=1)
        for node in cluster.nodes:
            node.fail("HELLO", cut_at(size), hang_up())
            node.fail("QPEEK", cut_at(size))
        peeked = await client.peek("q", node=client.nodes[0])
        peeked += await client.peek("q", node=client.nodes[1])
        assert [job.body for job in peeked] == [b"body"]


async def test_jobs_of_a_get_whose_answer_is_cut_come_again(lone: FakeCluster) -> None:
    async with Disque(lone.nodes[0].address) as client:
        for size in range(0, 60, 7):
            job_id = await client.add("q", b"body", retry=5)
            lone.nodes[0].fail("GETJOB", cut_at(size))
            assert await client.get("q", timeout=0) == []
            lone.clock.advance(6)
            (job,) = await client.get("q", timeout=0, counters=True)
            assert (job.id, job.additional_deliveries) == (job_id, 1)
            await client.ack(job)


@pytest.mark.parametrize(
    "reply",
    [
        b"$nonsense\r\n",
        b"!what\r\n",
        b"+no list\r\n",
        b":3\r\n",
        b"*1\r\n:3\r\n",
        b"*1\r\n*2\r\n$1\r\nq\r\n$1\r\nx\r\n",
        b"*1\r\n*5\r\n$1\r\nq\r\n$1\r\ni\r\n$1\r\nb\r\n$1\r\nx\r\n$1\r\ny\r\n$1\r\nz\r\n",
        b"*1\r\n*3\r\n$1\r\nq\r\n$1\r\ni\r\n$-1\r\n",
        b"*1\r\n-ERR inside\r\n",
    ],
)
async def test_nonsense_is_an_error_and_the_next_answer_is_right(
    lone: FakeCluster, reply: bytes
) -> None:
    async with Disque(lone.nodes[0].address, timeout=0.5) as client:
        await client.add("q", b"x")
        lone.nodes[0].fail("QPEEK", answer(reply))
        try:
            jobs = await client.peek("q")
        except errors.DisqueError:
            pass
        else:
            # redis-py itself found the answer broken, and it was asked for again.
            assert [job.body for job in jobs] == [b"x"]
        assert await client.length("q") == 1
        assert [job.body for job in await client.peek("q")] == [b"x"]


async def test_a_late_answer_is_no_other_command_s(lone: FakeCluster) -> None:
    async with Disque(lone.nodes[0].address, timeout=0.2) as client:
        await client.add("q", b"x")
        lone.nodes[0].fail("QLEN", stall(0.6))
        with pytest.raises(errors.CommandTimeoutError) as late:
            await client.length("q")
        assert late.value.safe_to_retry
        assert isinstance(late.value, TimeoutError)
        lone.nodes[0].fail("NACK", stall(0.6))
        (job,) = await client.get("q")
        with pytest.raises(errors.CommandTimeoutError, match="may have been carried out") as late:
            await client.nack(job)
        assert not late.value.safe_to_retry
        assert await client.length("q") == 1
        assert await client.paused("q") == "none"


async def test_the_deadline_of_a_get_is_beyond_its_own_wait(lone: FakeCluster) -> None:
    async with Disque(lone.nodes[0].address, timeout=0.2) as client:
        assert await client.get("q", timeout=0.5) == []
        lone.nodes[0].fail("GETJOB", stall(5))
        start = time.monotonic()
        with pytest.raises(errors.CommandTimeoutError):
            await client.get("q", timeout=0.1)
        assert 0.25 < time.monotonic() - start < 4


async def test_another_node_takes_over(cluster: FakeCluster) -> None:
    first, second = cluster.nodes
    async with Disque(first.address, timeout=3) as client:
        await client.add("q", b"1", retry=60)
        # The seed told of the other one.
        assert set(client.nodes) == {first.address, second.address}
        first.stop()
        await asyncio.sleep(0.05)
        assert await client.add("q", b"2", replicate=1) in cluster.store.jobs
        cluster.clock.advance(61)
        jobs = await client.get("q", limit=5)
        assert {job.body for job in jobs} == {b"1", b"2"}
        assert {job.node for job in jobs} == {second.address}
        first.start()
        second.stop()
        await asyncio.sleep(0.05)
        assert await client.length("q") == 0


async def test_a_restart_between_two_calls_is_no_error(cluster: FakeCluster) -> None:
    async with Disque(cluster.nodes[0].address) as client:
        await client.add("q", b"1")
        cluster.nodes[0].stop()
        cluster.nodes[0].start()
        await asyncio.sleep(0.05)
        assert await client.add("q", b"2", replicate=1) in cluster.store.jobs


async def test_no_node_says_why(cluster: FakeCluster) -> None:
    async with Disque(cluster.addresses, timeout=0.4) as client:
        for node in cluster.nodes:
            node.stop()
        start = time.monotonic()
        with pytest.raises(errors.NoNodeError, match="cannot connect to 127") as seen:
            await client.add("q", b"x", timeout=0.1)
        assert time.monotonic() - start < 10
        assert seen.value.safe_to_retry
        assert all(node.address in str(seen.value) for node in cluster.nodes)
        cluster.nodes[1].start()
        with pytest.raises(errors.NoNodeError):
            await client.length("q", node=cluster.nodes[0].address)


async def test_a_node_that_refuses_is_left_alone(cluster: FakeCluster) -> None:
    cluster.nodes[0].refuses = True
    async with Disque(cluster.addresses) as client:
        for _ in range(50):
            await client.add("q", b"x", replicate=1)
    assert cluster.nodes[0].accepted < 10
    assert len(cluster.nodes[1].sent("ADDJOB")) == 50


async def test_a_leaving_node_is_left(cluster: FakeCluster) -> None:
    first, second = cluster.nodes
    async with Disque(cluster.addresses) as client:
        first.node.is_leaving = True
        assert await client.get("q", timeout=0.05) == []
        await client.add("q", b"x", replicate=1)
        second.node.is_leaving = True
        await client.get("q")
        with pytest.raises(errors.LeavingError):
            await client.get("q", timeout=0.2, node=first.address)


async def test_a_loading_node_is_left(cluster: FakeCluster) -> None:
    text = "LOADING Disque is loading the dataset in memory"
    async with Disque(cluster.nodes[0].address) as client:
        await client.add("q", b"x")
        cluster.nodes[0].fail("QLEN", error(text))
        cluster.nodes[1].fail("HELLO", error(text))
        assert await client.length("q") == 1


async def test_passwords(lone: FakeCluster) -> None:
    node = lone.nodes[0]
    node.node.password = b"hush"
    async with Disque(node.address, password="hush") as client:
        await client.add("q", b"x", replicate=1)
    async with Disque(node.address, password="wrong", timeout=2) as client:
        with pytest.raises(errors.AuthenticationError, match="refused the password") as seen:
            await client.add("q", b"x")
        assert "wrong" not in str(seen.value)
    async with Disque(node.address, timeout=2) as client:
        with pytest.raises(errors.AuthenticationError) as seen:
            await client.add("q", b"x")
        assert seen.value.__notes__ == ["The client was created without `password=`."]


async def test_redis_is_not_disque(lone: FakeCluster) -> None:
    lone.nodes[0].fail("HELLO", answer(b"*2\r\n$6\r\nserver\r\n$5\r\nredis\r\n"))
    async with Disque(lone.nodes[0].address, timeout=2) as client:
        assert client.nodes == (lone.nodes[0].address,)
        with pytest.raises(errors.ReplyError, match="does not seem to be Disque"):
            await client.add("q", b"x")


async def test_a_pipeline_that_breaks_tells_what_is_known(lone: FakeCluster) -> None:
    async with Disque(lone.nodes[0].address, timeout=2) as client:
        lone.nodes[0].faults = {"ADDJOB": [stall(0)] * 1001 + [cut_at(20)]}
        with pytest.raises(errors.PartlyAddedError, match="of 2500 jobs were not added") as seen:
            await client.add_many("q", [b"x"] * 2500)
        known = seen.value
        assert all(job_id in lone.store.jobs for job_id in known.ids[:1000])
        assert known.ids[1001:] == [None] * 1499
        assert {type(error) for error in known.errors[1001:2000]} == {errors.ConnectionLostError}
        assert all(error is not None and error.safe_to_retry for error in known.errors[2000:])


async def test_a_closed_client_says_so(cluster: FakeCluster) -> None:
    client = Disque(cluster.addresses)
    await client.add("q", b"x")
    await client.aclose()
    await client.aclose()
    with pytest.raises(errors.ClosedError, match="closed"):
        await client.length("q")


async def test_the_missing_library_is_named(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "redis"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "redis", None)
    async with Disque(cluster.addresses) as client:
        assert len(client.nodes) == 2
        with pytest.raises(InterfaceError, match="needs redis-py") as seen:
            await client.add("q", b"x")
    assert str(seen.value.hint) == f"install it with: {how_to_install('disque')}"


def assert_source(source: str | None, expected: str | None) -> None:
    """Not an assertion on the property itself, which a type checker would take for its type."""
    assert source == expected


async def test_the_busiest_node_is_asked_for_jobs(cluster: FakeCluster) -> None:
    first, second = cluster.nodes
    async with (
        Disque(first.address) as producer,
        Disque(first.address) as idler,
        Disque(second.address, origin_window=30) as client,
    ):
        await producer.add_many("q", [b"x"] * 100)
        assert await client.get("none", timeout=0) == []
        assert_source(client.source, None)
        for _ in range(3):
            await client.ack(await client.get("q", limit=20))
        assert_source(client.source, first.address)
        seen = len(first.sent("GETJOB"))
        jobs = await client.get("q", limit=5)
        assert {job.node for job in jobs} == {first.address}
        assert len(first.sent("GETJOB")) == seen + 1
        first.stop()
        assert await client.get("q", timeout=0) == []
        assert_source(client.source, None)
        assert_source(idler.source, None)
