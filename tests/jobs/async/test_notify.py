"""Notifications are hints: verbs work without them, and may leave them out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from colonnade import jobs

if TYPE_CHECKING:
    import colonnade
    from colonnade.jobs.definition import LayoutName

# Each colour waits in its own way.
pytestmark = pytest.mark.every_pair

PAYLOAD = {"a": "int8"}


async def sent(pool: colonnade.Pool, queue: jobs.Queue) -> int:
    """How many notifications the verbs of a queue send that change jobs."""
    heard: list[str] = []
    async with pool.acquire() as listening:

        def note(_connection: Any, _pid: int, _channel: str, payload: str) -> None:
            heard.append(payload)

        await listening.add_listener(queue.definition.channel, note)
        await queue.add({"a": [1, 2]})
        async with pool.acquire() as theirs, theirs.transaction():
            await queue.add({"a": [3]}, connection=theirs)
        batch = await queue.get(timeout=0)
        await batch.nack(batch.ids[0], delay=0)
        await batch.extend(1.0)
        await batch.release()
        await queue.requeue()
        # A server sends what was committed before the answer to the next statement.
        await listening.execute("SELECT 1")
        await listening.remove_listener(queue.definition.channel, note)
    return len(heard)


async def test_a_queue_that_does_not_notify(pool: colonnade.Pool, layout: LayoutName) -> None:
    loud = await jobs.create_queue(pool, "w", PAYLOAD, layout=layout)
    assert await sent(pool, loud) == 6
    await loud.purge()
    silent = await jobs.create_queue(pool, "w", PAYLOAD, layout=layout, notify=False)
    assert await sent(pool, silent) == 0
    await loud.purge()
    opened = await jobs.open_queue(pool, "w", notify=False)
    assert await sent(pool, opened) == 0


async def test_those_who_wait_look_by_the_clock(pool: colonnade.Pool, layout: LayoutName) -> None:
    queue = await jobs.create_queue(pool, "w", PAYLOAD, layout=layout, notify=False, poll=0.05)
    await queue.add({"a": [1]}, delay=0.2)
    assert len(await queue.get(timeout=20)) == 1


async def test_it_may_notify_by_itself(pool: colonnade.Pool) -> None:
    queue = await jobs.create_queue(pool, "w", PAYLOAD, notify=False)
    async with pool.acquire() as listening:
        heard: list[str] = []

        def note(_connection: Any, _pid: int, _channel: str, payload: str) -> None:
            heard.append(payload)

        await listening.add_listener(queue.definition.channel, note)
        await queue.notify()
        await listening.execute("SELECT 1")
        await listening.remove_listener(queue.definition.channel, note)
    assert heard == [""]


async def test_notify_is_a_switch(pool: colonnade.Pool) -> None:
    wrong: Any = "no"
    with pytest.raises(TypeError, match="notify must be True or False, not str"):
        await jobs.create_queue(pool, "w", PAYLOAD, notify=wrong)
