"""Answers that are not as documented."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from colonnade.jobs.disque import replies
from colonnade.jobs.disque.errors import ReplyError

JOB: dict[str, Any] = {
    "id": b"D-dcb833cf-8YL1NT17e9+wsA/09NqxscQI-05a1",
    "queue": b"mail",
    "state": b"queued",
    "repl": 1,
    "ttl": 86_400,
    "ctime": 1_462_000_000_000_000_000,
    "delay": 0,
    "retry": 30,
    "nacks": 0,
    "additional-deliveries": 0,
    "nodes-delivered": [],
    "nodes-confirmed": [],
    "next-requeue-within": 29_000,
    "next-awake-within": 28_500,
    "body": b"hello",
}


def described(changed: dict[str, Any]) -> list[Any]:
    facts = {**JOB, **changed}
    return [part for name, value in facts.items() for part in (name.encode(), value)]


def test_a_job_is_described() -> None:
    found = replies.job_info(described({"nodes-delivered": [b"dcb833cf"], "repl": b"3"}))
    assert found is not None
    assert (found.created_at, found.next_requeue, found.replicate) == (1_462_000_000, 29.0, 3)


@pytest.mark.parametrize("field", ["ctime", "ttl", "next-requeue-within"])
@pytest.mark.parametrize(
    "number", [10**400, b"1" * 400, b"1" * 5000, 1 << 64, "12", b"1_0", b" 1", b"", 1.5, []]
)
def test_a_number_is_one_of_64_bits(field: str, number: Any) -> None:
    """A larger one made an OverflowError of the time that it was."""
    with pytest.raises(ReplyError, match="where a number belongs"):
        replies.job_info(described({field: number}))


REPLIES = st.recursive(
    st.none()
    | st.integers()
    | st.binary(max_size=20)
    | st.sampled_from([name.encode() for name in JOB])
    | st.builds(lambda size: b"9" * size, st.integers(0, 5000)),
    lambda inner: st.lists(inner, max_size=8),
)


@given(REPLIES)
def test_every_answer_is_a_value_or_a_reply_error(reply: Any) -> None:
    changed = dict.fromkeys(("ctime", "ttl", "body", "queue"), reply)
    for parse in (
        lambda: replies.jobs(reply, "node:7711"),
        lambda: replies.job_info(reply),
        lambda: replies.queue_stats(reply),
        lambda: replies.hello(reply),
        lambda: replies.pause(reply),
        lambda: replies.page(reply, replies.full_job),
        lambda: replies.info(reply),
        lambda: replies.job_info(described(changed)),
    ):
        try:
            parse()
        except ReplyError:
            continue
