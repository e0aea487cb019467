"""Gathers while connections die, stall and lose messages."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade import Query
from colonnade.errors import DeadlineError
from tests.support.fault_proxy import FaultProxy
from tests.support.faults import Fault, Kind, Way

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.every_loop

_BOUND_S = 30.0
_KINDS = [
    *(Kind.CUT, Kind.RESET_INSIDE, Kind.DROP),
    *(Kind.TRUNCATE_HALF, Kind.TAG_UNKNOWN, Kind.SILENCE),
]
_PLACES = (0, 1, 4, 9)
# A fault without an end, such as silence, takes a gather this long.
_DEADLINE_S = 0.25


@pytest.fixture(scope="module")
def doors(dsn: str) -> Iterator[FaultProxy]:
    with FaultProxy(dsn) as proxy:
        yield proxy


@pytest.mark.parametrize("cost", [0.0, 1.0], ids=["together", "apart"])
@pytest.mark.parametrize("kind", _KINDS)
async def test_a_fault_harms_no_other_connection(
    doors: FaultProxy, kind: Kind, cost: float
) -> None:
    queries = {
        str(number): Query.value(f"SELECT {number} FROM pg_sleep(0.001)", cost=cost)
        for number in range(12)
    }
    for way in Way:
        for at in _PLACES:
            with doors.door() as door:
                async with colonnade.create_pool(door.dsn, min_size=3, max_size=3) as pool:
                    door.arm(Fault(kind, way, at))
                    began = time.monotonic()
                    results = await pool.gather(queries, deadline=_DEADLINE_S, on_error="return")
                    assert time.monotonic() - began < _BOUND_S
                    for name in results:
                        assert name in results.errors or results[name] == int(name)
                    assert len(results.errors) < len(queries)
                    pool.terminate()


async def test_a_late_flight_raises_the_deadlines_error(doors: FaultProxy) -> None:
    # The server says nothing, and the connection's own limit strikes right after the deadline.
    queries = {name: Query.value("SELECT 1", cost=0) for name in "abc"}
    with doors.door() as door:
        async with colonnade.create_pool(
            door.dsn, min_size=1, max_size=1, command_timeout=_DEADLINE_S
        ) as pool:
            door.arm(Fault(Kind.SILENCE, Way.SERVER, 0))
            with pytest.raises(DeadlineError):
                await pool.gather(queries, deadline=_DEADLINE_S)
            pool.terminate()


@pytest.mark.parametrize("at", range(5))
@pytest.mark.parametrize("names", [("wrong", "slow"), ("slow", "wrong")], ids=" then ".join)
async def test_a_query_that_begins_after_the_gather_has_failed(
    doors: FaultProxy, dsn: str, names: tuple[str, str], at: int
) -> None:
    # On its way to the server, the cancel request overtakes the query.
    texts = {"wrong": "SELECT 1 / 0", "slow": "SELECT 1 FROM pg_sleep(60)"}
    queries = {name: Query.value(texts[name]) for name in names}
    settings = {"application_name": "gather-late"}
    busy = """
        SELECT count(*) FROM pg_stat_activity
        WHERE application_name = 'gather-late' AND state <> 'idle'
    """
    with doors.door() as door:
        watcher = await colonnade.connect(dsn)
        async with colonnade.create_pool(
            door.dsn, min_size=2, max_size=2, server_settings=settings
        ) as pool:
            door.arm(Fault(Kind.DELAY, Way.CLIENT, at))
            with pytest.raises(colonnade.errors.DivisionByZeroError):
                await pool.gather(queries, order="given")
            give_up = time.monotonic() + _BOUND_S
            while await watcher.fetchval(busy):
                assert time.monotonic() < give_up, "the slow query is still running"
            assert await pool.fetchval("SELECT 1") == 1
        await watcher.close()


async def test_a_server_that_ends_its_backends(dsn: str) -> None:
    settings = {"application_name": "gather-death"}
    kill = """
        SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE application_name = 'gather-death' AND pid <> pg_backend_pid()
    """
    async with colonnade.create_pool(dsn, min_size=4, max_size=4, server_settings=settings) as pool:
        queries = {
            str(n): Query.value(f"SELECT 1 FROM pg_sleep({n + 20})", cost=1) for n in range(40)
        }
        queries["death"] = Query.value(f"SELECT ({kill}) FROM pg_sleep(0.1)", cost=100)
        with pytest.raises((colonnade.PostgresError, OSError)):
            await pool.gather(queries)
        assert await pool.fetchval("SELECT 1") == 1
        results = await pool.gather(queries, deadline=0.5, on_error="return")
        assert results["death"] == 3
        assert await pool.fetchval("SELECT 1") == 1
