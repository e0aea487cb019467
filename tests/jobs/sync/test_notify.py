# Generated from tests/jobs/async/test_notify.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Notifications are hints: verbs work without them, and may leave them out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from colonnade.jobs import sync as jobs

if TYPE_CHECKING:
    import colonnade
    from colonnade.jobs.definition import LayoutName

# Each colour waits in its own way.
pytestmark = pytest.mark.every_pair

PAYLOAD = {"a": "int8"}


def sent(pool: colonnade.sync.Pool, queue: jobs.Queue) -> int:
    """How many notifications the verbs of a queue send that change jobs."""
    heard: list[str] = []
    with pool.acquire() as listening:

        def note(_connection: Any, _pid: int, _channel: str, payload: str) -> None:
            heard.append(payload)

        listening.add_listener(queue.definition.channel, note)
        queue.add({"a": [1, 2]})
        with pool.acquire() as theirs, theirs.transaction():
            queue.add({"a": [3]}, connection=theirs)
        batch = queue.get(timeout=0)
        batch.nack(batch.ids[0], delay=0)
        batch.extend(1.0)
        batch.release()
        queue.requeue()
        # A server sends what was committed before the answer to the next statement.
        listening.execute("SELECT 1")
        listening.remove_listener(queue.definition.channel, note)
    return len(heard)


def test_a_queue_that_does_not_notify(pool: colonnade.sync.Pool, layout: LayoutName) -> None:
    loud = jobs.create_queue(pool, "w", PAYLOAD, layout=layout)
    assert sent(pool, loud) == 6
    loud.purge()
    silent = jobs.create_queue(pool, "w", PAYLOAD, layout=layout, notify=False)
    assert sent(pool, silent) == 0
    loud.purge()
    opened = jobs.open_queue(pool, "w", notify=False)
    assert sent(pool, opened) == 0


def test_those_who_wait_look_by_the_clock(pool: colonnade.sync.Pool, layout: LayoutName) -> None:
    queue = jobs.create_queue(pool, "w", PAYLOAD, layout=layout, notify=False, poll=0.05)
    queue.add({"a": [1]}, delay=0.2)
    assert len(queue.get(timeout=20)) == 1


def test_it_may_notify_by_itself(pool: colonnade.sync.Pool) -> None:
    queue = jobs.create_queue(pool, "w", PAYLOAD, notify=False)
    with pool.acquire() as listening:
        heard: list[str] = []

        def note(_connection: Any, _pid: int, _channel: str, payload: str) -> None:
            heard.append(payload)

        listening.add_listener(queue.definition.channel, note)
        queue.notify()
        listening.execute("SELECT 1")
        listening.remove_listener(queue.definition.channel, note)
    assert heard == [""]


def test_notify_is_a_switch(pool: colonnade.sync.Pool) -> None:
    wrong: Any = "no"
    with pytest.raises(TypeError, match="notify must be True or False, not str"):
        jobs.create_queue(pool, "w", PAYLOAD, notify=wrong)
