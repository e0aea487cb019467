"""Every command of the client, against nodes with the semantics that Disque documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from colonnade.jobs.disque import errors
from colonnade.jobs.disque._async.client import Disque
from tests.jobs.disque.fake.faults import error as fake_error

if TYPE_CHECKING:
    from tests.jobs.disque.fake.cluster import FakeCluster


async def test_a_job_goes_in_and_out_and_is_done(cluster: FakeCluster) -> None:
    async with Disque(cluster.addresses) as client:
        job_id = await client.add("mail", b"\x00\xff", retry=60)
        assert await client.length("mail", node=client.nodes[0]) in {0, 1}
        (job,) = await client.get("mail")
        assert (job.id, job.queue, job.body) == (job_id, "mail", b"\x00\xff")
        assert job.node in cluster.addresses
        assert job.origin == job_id[2:10]
        assert job.nacks is None
        assert await client.ack(job) == 1
        assert await client.ack(job) == 0
        assert await client.get("mail", timeout=0) == []
        assert cluster.store.jobs == {}


async def test_every_option_of_add_is_sent(cluster: FakeCluster) -> None:
    async with Disque(cluster.nodes[0].address) as client:
        await client.add(
            "q", b"x", timeout=0.25, replicate=2, delay=3, retry=7, ttl=600, max_length=9,
            background=True,
        )  # fmt: skip
    (words,) = cluster.nodes[0].sent("ADDJOB")
    assert b" ".join(words) == (
        b"ADDJOB q x 250 REPLICATE 2 DELAY 3 RETRY 7 TTL 600 MAXLEN 9 ASYNC"
    )


async def test_every_option_of_get_is_sent(cluster: FakeCluster) -> None:
    async with Disque(cluster.nodes[0].address) as client:
        await client.add_many("b", [b"1", b"2"])
        await client.get("a", "b", limit=5, timeout=1.5, counters=True)
        await client.get("a", timeout=0)
    first, second = cluster.nodes[0].sent("GETJOB")
    assert b" ".join(first) == b"GETJOB TIMEOUT 1500 COUNT 5 WITHCOUNTERS FROM a b"
    assert b" ".join(second) == b"GETJOB NOHANG COUNT 1 FROM a"


async def test_queues_are_asked_left_to_right(cluster: FakeCluster) -> None:
    async with Disque(cluster.nodes[0].address) as client:
        for queue in ("late", "soon"):
            await client.add_many(queue, [b"1", b"2"])
        jobs = await client.get("soon", "late", limit=3)
        assert [(job.queue, job.body) for job in jobs] == [
            ("soon", b"1"),
            ("late", b"1"),
            ("soon", b"2"),
        ]


async def test_get_waits_for_a_job_and_gives_up(cluster: FakeCluster) -> None:
    async with Disque(cluster.nodes[0].address) as client:
        assert await client.get("q", timeout=0.05) == []
        await client.add("q", b"x", delay=1)
        assert await client.get("q", timeout=0) == []
        cluster.clock.advance(2)
        assert len(await client.get("q", timeout=5)) == 1


async def test_jobs_come_from_the_other_node(cluster: FakeCluster) -> None:
    here, there = (node.address for node in cluster.nodes)
    async with Disque(here) as producer, Disque(there) as consumer:
        await producer.add("q", b"x")
        (job,) = await consumer.get("q", node=there)
        assert job.node == there
        assert cluster.nodes[0].id.startswith(job.origin)
        assert await consumer.extend(job) == [300]
        assert await consumer.ack(job) == 1


async def test_a_job_comes_again_after_its_retry(cluster: FakeCluster) -> None:
    async with Disque(cluster.nodes[0].address) as client:
        await client.add("q", b"x", retry=30)
        (first,) = await client.get("q")
        cluster.clock.advance(31)
        (again,) = await client.get("q", counters=True)
        assert (again.id, again.nacks, again.additional_deliveries) == (first.id, 0, 1)
        assert await client.nack(again) == 1
        (third,) = await client.get("q", counters=True)
        assert (third.nacks, third.additional_deliveries) == (1, 1)
        assert await client.nack([third, third.id]) == 1


async def test_extend_holds_a_job_until_half_of_its_ttl(cluster: FakeCluster) -> None:
    async with Disque(cluster.nodes[0].address) as client:
        await client.add("q", b"x", retry=30, ttl=100)
        (job,) = await client.get("q")
        cluster.clock.advance(25)
        assert await client.extend(job) == [30]
        cluster.clock.advance(15)
        assert await client.get("q", timeout=0) == []
        cluster.clock.advance(12)
        (late,) = await client.extend([job])
        assert isinstance(late, errors.TooLateError)
        await client.ack(job)
        (gone,) = await client.extend(job.id)
        assert isinstance(gone, errors.NoJobError)
        assert gone.command == "WORKING"


async def test_a_job_at_most_once_does_not_come_again(cluster: FakeCluster) -> None:
    async with Disque(cluster.nodes[0].address) as client:
        await client.add("q", b"x", retry=0, replicate=1, ttl=1000)
        assert len(await client.get("q")) == 1
        cluster.clock.advance(900)
        assert await client.get("q", timeout=0) == []
        cluster.clock.advance(200)
        assert await client.scan_jobs() == await client.scan_jobs(queue="q")


async def test_add_many_is_one_pipeline(cluster: FakeCluster) -> None:
    async with Disque(cluster.nodes[0].address) as client:
        bodies = [str(number).encode() for number in range(2500)]
        ids = await client.add_many("q", bodies)
        assert len(set(ids)) == 2500
        jobs = await client.get("q", limit=3000)
        assert [job.body for job in jobs] == bodies
        assert [job.id for job in jobs] == ids
        assert await client.fast_ack(jobs) == 2500
        assert cluster.nodes[0].accepted == 1
        assert len(cluster.nodes[0].sent("FASTACK")) == 1
        assert await client.add_many("q", []) == []


async def test_add_many_tells_which_jobs_were_refused(cluster: FakeCluster) -> None:
    async with Disque(cluster.nodes[0].address) as client:
        with pytest.raises(
            errors.PartlyAddedError, match=r"2 of 5 jobs .* job 3: .*MAXLEN"
        ) as raised:
            await client.add_many("q", [b"x"] * 5, max_length=3)
        assert [job_id is None for job_id in raised.value.ids] == [False] * 3 + [True] * 2
        assert [type(error) for error in raised.value.errors[2:4]] == [
            type(None),
            errors.QueueFullError,
        ]
        assert len(await client.get("q", limit=9)) == 3


async def test_errors_of_the_server_have_their_classes(cluster: FakeCluster) -> None:
    async with Disque(cluster.nodes[0].address) as client:
        with pytest.raises(errors.NotReplicatedError) as raised:
            await client.add("q", b"x", replicate=9)
        assert (raised.value.code, raised.value.command) == ("NOREPL", "ADDJOB")
        assert raised.value.node == cluster.nodes[0].address
        with pytest.raises(errors.BadIdError):
            await client.ack("what")
        await client.pause("q", "in")
        with pytest.raises(errors.PausedError) as paused:
            await client.add("q", b"x")
        assert paused.value.safe_to_retry
        for text, kind in (
            ("OOM command not allowed when used memory > 'maxmemory'.", errors.OutOfMemoryError),
            ("ACKED it is done", errors.AlreadyAckedError),
            ("WHATEVER happened", errors.ServerError),
            ("ERR odd", errors.ServerError),
        ):
            cluster.nodes[0].fail("QLEN", fake_error(text))
            with pytest.raises(errors.ServerError) as seen:
                await client.length("q")
            assert type(seen.value) is kind
            assert seen.value.code == text.split()[0]


async def test_a_command_that_the_server_lacks_is_named(cluster: FakeCluster) -> None:
    cluster.nodes[0].node.lacks = {"NACK", "QSTAT", "QLEN"}
    async with Disque(cluster.nodes[0].address) as client:
        await client.add("q", b"x")
        (job,) = await client.get("q")
        with pytest.raises(errors.UnsupportedCommandError, match=r"NACK.*from 1\.0-rc1 on"):
            await client.nack(job)
        with pytest.raises(errors.UnsupportedCommandError, match="is this server Disque"):
            await client.length("q")


async def test_pauses(cluster: FakeCluster) -> None:
    here, there = (node.address for node in cluster.nodes)
    async with Disque(cluster.addresses) as client:
        await client.add("q", b"x")
        assert await client.paused("q", node=here) == "none"
        assert await client.pause("q", "out", everywhere=True) == "out"
        assert await client.paused("q", node=there) == "out"
        assert await client.get("q", timeout=0) == []
        assert await client.pause("q", "all", node=here) == "all"
        assert await client.pause("q", "none", everywhere=True) == "none"
        assert len(await client.get("q", timeout=0)) == 1


async def test_what_nodes_tell(cluster: FakeCluster) -> None:
    here = cluster.nodes[0].address
    async with Disque(here) as client:
        ids = await client.add_many("q", [b"1", b"2", b"3"], retry=44, ttl=777)
        assert [job.body for job in await client.peek("q", 2)] == [b"1", b"2"]
        assert [job.id for job in await client.peek("q", newest_first=True)] == ids[::-1]
        assert await client.peek("none") == []
        stats = await client.stats("q")
        assert stats is not None
        assert (stats.name, stats.length, stats.jobs_in, stats.jobs_out, stats.pause) == (
            ("q", 3, 3, 0, "none")
        )
        assert await client.stats("none") is None
        info = await client.show(ids[0])
        assert info is not None
        assert (info.id, info.queue, info.state, info.body) == (ids[0], "q", "queued", b"1")
        assert (info.retry, info.delay, info.replicate, info.nacks) == (44, 0, 2, 0)
        assert 0 <= info.ttl <= 777
        assert set(info.nodes_delivered) == {node.id for node in cluster.nodes}
        assert info.next_requeue is None
        assert await client.show("D-cccccccc-aaaaaaaaaaaaaaaaaaaaaaaa-05a1") is None
        hello = await client.hello()
        assert hello.node_id == cluster.nodes[0].id
        assert [node.address for node in await client.known_nodes()] == [
            node.address for node in cluster.nodes
        ]
        assert (await client.info())["disque_version"] == "1.0-rc1"


async def test_scans(cluster: FakeCluster) -> None:
    async with Disque(cluster.nodes[0].address) as client:
        for number in range(5):
            await client.add_many(f"q{number}", [b"x"] * (number + 1))
        names: list[str] = []
        cursor = 0
        while True:
            page = await client.scan_queues(cursor, count=2, min_length=2, max_length=4)
            names += page
            cursor = page.cursor
            if not cursor:
                break
        assert names == ["q1", "q2", "q3"]
        (job,) = await client.get("q4")
        assert list(await client.scan_jobs(queue="q4", states=["active"])) == [job.id]
        found = await client.scan_job_infos(queue="q4", states=["queued", "active"])
        assert len(found) == 5
        assert {info.state for info in found} == {"queued", "active"}
        assert (await client.scan_jobs(count=3)).cursor == 3


async def test_administration_of_jobs(cluster: FakeCluster) -> None:
    here = cluster.nodes[0].address
    async with Disque(here) as client:
        ids = await client.add_many("q", [b"1", b"2"])
        assert await client.dequeue(ids, node=here) == 2
        assert await client.get("q", timeout=0) == []
        assert await client.enqueue(ids[0]) == 1
        assert await client.length("q") == 1
        assert await client.delete(ids, node=here) == 2
        assert cluster.store.jobs == {}


async def test_names_of_queues_are_any_bytes(cluster: FakeCluster) -> None:
    async with Disque(cluster.nodes[0].address) as client:
        await client.add("schlüssel", b"x")
        cluster.store.queue(cluster.nodes[0].id, b"\xff odd")
        names = list(await client.scan_queues())
        assert sorted(names) == ["schlüssel", "\udcff odd"]
        assert await client.stats("\udcff odd") is not None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"retry": 0}, "retry=0 .* needs replicate=1"),
        ({"delay": 5, "ttl": 5}, "must be less than ttl"),
        ({"delay": -1}, "delay must be 0 or more"),
        ({"replicate": 0}, "replicate must be 1 or more"),
        ({"timeout": 0}, "timeout must be"),
        ({"max_length": 0}, "max_length must be 1 or more"),
    ],
)
async def test_options_are_refused_before_they_are_sent(
    cluster: FakeCluster, options: dict[str, int], words: str
) -> None:
    async with Disque(cluster.addresses) as client:
        assert len(client.nodes) == 2
        with pytest.raises(ValueError, match=words):
            await client.add("q", b"x", **options)  # type: ignore[arg-type]
    assert not any(node.accepted for node in cluster.nodes)


async def test_wrong_arguments_are_refused(cluster: FakeCluster) -> None:
    async with Disque(cluster.addresses) as client:
        with pytest.raises(TypeError, match="must be bytes, not str: encode it"):
            await client.add("q", "x")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="at least one queue"):
            await client.get()
        with pytest.raises(TypeError, match="expected a Job or the id"):
            await client.ack([3])  # type: ignore[list-item]
        with pytest.raises(ValueError, match='pause must be "'):
            await client.pause("q", "maybe")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match='a state must be "'):
            await client.scan_jobs(states=["lost"])
