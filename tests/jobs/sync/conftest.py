# Generated from tests/jobs/async/conftest.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""A pool and a schema of queues for each test, and a check that no task is left."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade.jobs import sync as jobs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.jobs.definition import LayoutName

PAYLOAD = {"a": "int8", "b": "text"}


@pytest.fixture
def pool(dsn: str) -> Iterator[colonnade.sync.Pool]:
    """A pool; afterwards its schema `jobs` is dropped."""
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=4) as pool:
        yield pool
        pool.execute('DROP SCHEMA IF EXISTS "jobs" CASCADE')
    # Coroutines that are finalized while CPython 3.11 parses a module break its parser.
    gc.collect()


@pytest.fixture
def queue(pool: colonnade.sync.Pool, layout: LayoutName) -> jobs.Queue:
    """A queue of the test's layout with two attempts without a pause."""
    retry = jobs.Retry(max_attempts=2, delay=0)
    return jobs.create_queue(pool, "work", PAYLOAD, retry=retry, layout=layout)


@pytest.fixture
def rows_queue(pool: colonnade.sync.Pool) -> jobs.Queue:
    """A queue of the layout rows, which alone has unique keys."""
    return jobs.create_queue(pool, "rows", PAYLOAD)
