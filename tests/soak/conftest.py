"""A check that a test leaves nothing behind, and a server that can be restarted."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.leftovers import BackendWatch, Leftovers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.support.servers import ServerUnderTest

_END_SECONDS_MAX = 10.0


@pytest.fixture(scope="session")
def watch(server: ServerUnderTest) -> Iterator[BackendWatch]:
    """A connection that watches the backends of the session's server, and ends them."""
    with BackendWatch(server.dsn) as watch:
        yield watch


@pytest.fixture
async def nothing_left(watch: BackendWatch) -> AsyncIterator[None]:
    """Check that the test leaves no tasks, sockets or backends behind."""
    leftovers = Leftovers(watch)
    yield
    give_up = time.monotonic() + _END_SECONDS_MAX
    current = asyncio.current_task()
    while found := [*(asyncio.all_tasks() - {current}), *leftovers.found()]:
        await asyncio.sleep(0.005)
        if time.monotonic() > give_up:
            break
    assert found == []
