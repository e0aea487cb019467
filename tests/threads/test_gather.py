"""Gathers whose threads cannot start."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

import colonnade.sync
from colonnade import Query

if TYPE_CHECKING:
    from collections.abc import Iterator

# No address space has room for two such stacks.
_HUGE_STACK_BYTES = 1 << 46


@pytest.fixture
def no_threads() -> Iterator[None]:
    before = threading.stack_size(_HUGE_STACK_BYTES)
    yield
    threading.stack_size(before)


@pytest.fixture
def pool(dsn: str) -> Iterator[colonnade.sync.Pool]:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=4) as pool:
        yield pool


@pytest.mark.usefixtures("no_threads")
def test_a_shared_query_that_could_not_begin_is_not_waited_for(pool: colonnade.sync.Pool) -> None:
    query = {"a": Query.value("SELECT 1", shared=True)}
    with pytest.raises(RuntimeError, match="can't start new thread"):
        pool.gather(query)
    threading.stack_size(0)
    assert pool.gather(query, deadline=10)["a"] == 1


@pytest.mark.usefixtures("no_threads")
def test_no_query_goes_on_if_a_thread_cannot_start(pool: colonnade.sync.Pool) -> None:
    sleeping = {str(number): Query.value("SELECT pg_sleep(60)") for number in range(4)}
    with pytest.raises(RuntimeError, match="can't start new thread"):
        pool.gather(sleeping)
    assert pool.get_stats().busy == 0
