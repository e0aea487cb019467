"""The kinds of a traced task's waits."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import anyio
import pytest

import colonnade
from colonnade import observe

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

pytestmark = pytest.mark.every_loop

# Long enough to be explained, and to be seen beside the steps around it.
WAIT_S = 0.005
# A hold of the loop that no rounding of timers explains.
HOLD_S = 0.02
WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


def hold_the_loop() -> None:
    time.sleep(HOLD_S)


def kinds_of(timeline: observe.Timeline, name: str) -> list[str]:
    """The waits of a task, but for the turns that it had to wait for its loop."""
    return [one.kind for one in lane_of(timeline, name).intervals if one.kind not in TURNS]


TURNS = {"running", "loop_delay"}


def lane_of(timeline: observe.Timeline, name: str) -> observe.Lane:
    return next(lane for lane in timeline.lanes if lane.name == name)


async def sleeps_in_a_generator() -> None:
    async def pauses() -> AsyncIterator[int]:
        await asyncio.sleep(WAIT_S)
        yield 1

    async for _ in pauses():
        pass


async def later(action: Callable[[], object]) -> None:
    asyncio.get_running_loop().call_later(WAIT_S, action)


async def waits_for_lock() -> None:
    lock = asyncio.Lock()
    await lock.acquire()
    await later(lock.release)
    async with lock:
        pass


async def waits_for_queue() -> None:
    queue: asyncio.Queue[int] = asyncio.Queue()
    await later(lambda: queue.put_nowait(1))
    await queue.get()


async def waits_for_anyio_event() -> None:
    event = anyio.Event()
    await later(event.set)
    await event.wait()


async def waits_for_anyio_stream() -> None:
    sender, receiver = anyio.create_memory_object_stream[int](1)
    await later(lambda: sender.send_nowait(1))
    await receiver.receive()
    sender.close()
    receiver.close()


async def waits_for_executor() -> None:
    done = threading.Event()
    await later(done.set)
    await asyncio.get_running_loop().run_in_executor(None, done.wait)


async def waits_for_thread() -> None:
    done = threading.Event()
    await later(done.set)
    await asyncio.to_thread(done.wait)


async def waits_for_anyio_thread() -> None:
    done = threading.Event()
    await later(done.set)
    await anyio.to_thread.run_sync(done.wait)


async def waits_for_task() -> None:
    await asyncio.create_task(asyncio.sleep(WAIT_S))


async def waits_for_gathered() -> None:
    await asyncio.gather(asyncio.sleep(WAIT_S), asyncio.sleep(0))


async def waits_for_shielded() -> None:
    await asyncio.shield(asyncio.sleep(WAIT_S))


async def waits_for_group() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(WAIT_S))


async def waits_for_anyio_group() -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep, WAIT_S)


async def waits_for_socket() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        await later(lambda: theirs.send(b"x"))
        await asyncio.get_running_loop().sock_recv(ours, 1)


async def waits_for_stream() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        reader, writer = await asyncio.open_connection(sock=ours)
        await later(lambda: theirs.send(b"x"))
        await reader.readexactly(1)
        writer.close()


async def waits_for_anyio_socket() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        await later(lambda: theirs.send(b"x"))
        await anyio.wait_readable(ours)


async def waits_for_anything() -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    await later(lambda: future.set_result(None))
    await future


WAITS: dict[Any, str] = {
    sleeps_in_a_generator: "sleep",
    waits_for_lock: "lock",
    waits_for_queue: "lock",
    waits_for_anyio_event: "lock",
    waits_for_anyio_stream: "lock",
    waits_for_executor: "thread",
    waits_for_thread: "thread",
    waits_for_anyio_thread: "thread",
    waits_for_task: "task",
    waits_for_gathered: "task",
    waits_for_shielded: "task",
    waits_for_group: "task",
    waits_for_anyio_group: "task",
    waits_for_socket: "network",
    waits_for_stream: "network",
    waits_for_anyio_socket: "network",
    waits_for_anything: "unknown",
}


@pytest.mark.parametrize(
    ("wait", "kind"), WAITS.items(), ids=lambda value: getattr(value, "__name__", value)
)
async def test_each_wait_has_its_kind(wait: Callable[[], Awaitable[None]], kind: str) -> None:
    async with observe.trace() as timeline:
        await asyncio.create_task(wait(), name="waits")  # type: ignore[arg-type]
    lane = lane_of(timeline, "waits")
    waits = [one for one in lane.intervals if one.kind not in TURNS]
    assert waits, lane.intervals
    longest = max(waits, key=lambda one: one.duration)
    assert longest.kind == kind, lane.intervals


async def test_a_sleep_that_is_over_while_the_loop_is_busy_ends() -> None:
    async def sleeper() -> None:
        await asyncio.sleep(WAIT_S)

    async with observe.trace() as timeline:
        task = asyncio.create_task(sleeper(), name="sleeper")
        await asyncio.sleep(0)
        hold_the_loop()
        await task
    kinds = [one.kind for one in lane_of(timeline, "sleeper").intervals]
    assert kinds[-3:] == ["sleep", "loop_delay", "running"]
    assert timeline.summary().tasks[-1].loop_delay > 0


async def test_a_task_that_waits_for_its_first_turn_is_delayed_by_the_loop() -> None:
    async def first() -> None:
        hold_the_loop()

    async def second() -> None:
        pass

    async with observe.trace() as timeline:
        await asyncio.gather(
            asyncio.create_task(first(), name="first"), asyncio.create_task(second(), name="second")
        )
    delay, step = lane_of(timeline, "second").intervals
    (_, hold) = lane_of(timeline, "first").intervals
    assert (delay.kind, step.kind) == ("loop_delay", "running")
    assert delay.start <= hold.start < hold.end <= delay.end


async def test_an_open_wait_is_explained_at_the_end() -> None:
    async with observe.trace() as timeline:
        task = asyncio.create_task(asyncio.Event().wait(), name="waits")
        await asyncio.sleep(WAIT_S)
    task.cancel()
    assert kinds_of(timeline, "waits") == ["lock"]
    lane = lane_of(timeline, "waits")
    assert lane.intervals[-1].end <= timeline.duration


# Queries


async def test_the_waits_of_a_query_are_its_phases(dsn: str) -> None:
    async def asks() -> None:
        await connection.fetch("SELECT pg_sleep(0.2)")

    async with await colonnade.connect(dsn) as connection, observe.trace() as timeline:
        await asyncio.create_task(asks(), name="asks")
    kinds = set(kinds_of(timeline, "asks"))
    assert {"prepare", "server"} <= kinds
    assert kinds <= {"prepare", "send", "server", "transfer", "decode", "unknown"}
    asked = next(task for task in timeline.summary().tasks if task.name == "asks")
    assert asked.seconds["server"] > 0.1
    assert asked.seconds.get("unknown", 0.0) < 0.05 * sum(asked.seconds.values())


async def test_the_phases_are_those_of_the_timing(dsn: str) -> None:
    async def asks() -> None:
        timings.append((await connection.fetch_columns(sql)).timing)

    sql = "SELECT i, repeat('x', 100) AS t FROM generate_series(1, 100000) AS i"
    timings: list[Any] = []
    async with await colonnade.connect(dsn) as connection:
        await connection.fetch_columns(sql)
        async with observe.trace() as timeline:
            await asyncio.create_task(asks(), name="asks")
    (timing,) = timings
    asked = next(task for task in timeline.summary().tasks if task.name == "asks")
    assert asked.seconds["decode"] == pytest.approx(timing.decode, rel=0.2, abs=0.002)
    assert asked.seconds["transfer"] == pytest.approx(timing.transfer, rel=0.2, abs=0.002)
    assert asked.seconds["server"] == pytest.approx(timing.server_wait, rel=0.2, abs=0.002)


async def test_a_query_that_was_given_up_waited_for_the_server(dsn: str) -> None:
    async def gives_up() -> None:
        with pytest.raises(TimeoutError):
            await connection.fetchval("SELECT pg_sleep(60)", timeout=0.2)

    async with await colonnade.connect(dsn) as connection, observe.trace() as timeline:
        await asyncio.create_task(gives_up(), name="gives up")
    task = next(task for task in timeline.summary().tasks if task.name == "gives up")
    assert task.seconds["server"] > WAIT_S


async def test_a_wait_for_a_connection_is_the_pools(dsn: str) -> None:
    async def takes() -> None:
        async with pool.acquire() as connection:
            await connection.fetch("SELECT pg_sleep(0.02)")

    async def fetches() -> None:
        await pool.fetch("SELECT 1")

    pool = await colonnade.create_pool(dsn, min_size=1, max_size=1)
    async with pool, observe.trace() as timeline:
        await asyncio.gather(
            asyncio.create_task(takes(), name="a"),
            asyncio.create_task(takes(), name="b"),
            asyncio.create_task(fetches(), name="c"),
        )
    assert "pool" not in kinds_of(timeline, "a")
    assert kinds_of(timeline, "b")[0] == "pool"
    assert "server" in kinds_of(timeline, "b")
    assert kinds_of(timeline, "c")[0] == "pool"


@pytest.mark.parametrize("shared", [False, True])
async def test_a_gather_waits_for_its_workers(dsn: str, *, shared: bool) -> None:
    async def asks() -> None:
        texts = [f"SELECT {number} FROM pg_advisory_xact_lock_shared(7)" for number in range(2)]
        await pool.gather({text: colonnade.Query.value(text, shared=shared) for text in texts})

    async with (
        await colonnade.connect(dsn) as gate,
        colonnade.create_pool(dsn, min_size=2, max_size=2) as pool,
    ):
        await gate.execute("SELECT pg_advisory_lock(7)")
        first, second = await pool.acquire(), await pool.acquire()
        async with observe.trace() as timeline:
            gather = asyncio.create_task(asks(), name="asks")
            await asyncio.sleep(HOLD_S)
            await pool.release(first)
            await pool.release(second)
            # Each worker has a query of its own before the first of them ends.
            while await gate.fetchval(WAITING) < 2:
                await asyncio.sleep(0.002)
                assert not gather.done()
            await gate.execute("SELECT pg_advisory_unlock(7)")
            await gather
    asked = next(task for task in timeline.summary().tasks if task.name == "asks")
    assert asked.seconds.get("task", 0.0) >= HOLD_S
    assert "server" not in asked.seconds
    workers = [task.seconds for task in timeline.summary().tasks if "pool" in task.seconds]
    assert len(workers) == 2
    assert all(worker["server"] > 0 for worker in workers)


async def test_a_stream_whose_caller_works_between_is_told_apart(dsn: str) -> None:
    async def reads() -> None:
        async with connection.iter_columns(
            "SELECT i FROM generate_series(1, 300000) AS i", batch_rows=100_000
        ) as stream:
            async for _ in stream:
                await asyncio.sleep(WAIT_S)

    async with await colonnade.connect(dsn) as connection, observe.trace() as timeline:
        await asyncio.create_task(reads(), name="reads")
    kinds = kinds_of(timeline, "reads")
    assert kinds.count("sleep") == 3
    assert "server" in kinds
    read = next(task for task in timeline.summary().tasks if task.name == "reads")
    # uvloop's timers may end a millisecond early.
    assert read.seconds["sleep"] >= 3 * (WAIT_S - 0.001)


async def test_connecting_waits_for_the_server(dsn: str) -> None:
    async def connects() -> None:
        await (await colonnade.connect(dsn)).close()

    async with observe.trace() as timeline:
        await asyncio.create_task(connects(), name="connects")
    assert set(kinds_of(timeline, "connects")) <= {"server", "unknown"}
    assert "server" in kinds_of(timeline, "connects")


async def test_queries_of_other_threads_are_not_of_this_loop(dsn: str) -> None:
    def elsewhere() -> None:
        with colonnade.sync.connect(dsn) as connection:
            connection.fetch("SELECT 1")

    async with observe.trace() as timeline:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        await asyncio.to_thread(thread.join)
    kinds = {one.kind for lane in timeline.lanes for one in lane.intervals}
    assert "server" not in kinds
