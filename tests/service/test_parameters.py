"""Strangers' texts in a query string: refused, quoted, and not kept."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import aiohttp
import pytest

import colonnade
from colonnade import jobs
from examples.service import parameters as read
from examples.service.answers import BadRequestError
from examples.service.handlers.asking import Route, asked, route_of, route_of_query
from examples.service.jobs import QUEUE, create_jobs, search_jobs
from tests.serve.serving import serving
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.mark.parametrize("dest", ["\0", "D\0", "D\x1b", "D\n", "\x7f", "\u2028", "123456789"])
def test_a_destination_is_a_short_text_that_prints(dest: str) -> None:
    with pytest.raises(BadRequestError, match="dest must be at most 8 characters that print"):
        route_of({"dest": dest})
    with pytest.raises(BadRequestError, match="zones must be at most 1000 characters"):
        read.words({"zones": f"a,{dest * 500}"}, "zones", ())
    assert route_of_query(b"dest=%00") is None


def test_a_destination_of_any_letters() -> None:
    assert route_of({"dest": "Zürich €"}).dest == "Zürich €"
    assert read.words({"zones": "a,b c"}, "zones", ()) == ("a", "b c")
    longest = "&".join(f"{name}={'%E2%82%AC' * 8}" for name in ("dest",))
    assert route_of_query(longest.encode()) == route_of({"dest": "€" * 8})


def test_a_long_query_string_is_not_kept() -> None:
    query = b"dest=" + b"A" * 60_000
    held = sys.getrefcount(query)
    assert route_of_query(query) is None
    assert sys.getrefcount(query) == held


async def test_a_destination_is_quoted_for_suppliers() -> None:
    seen: list[bytes] = []

    async def supplier(scope: Any, receive: Any, send: Any) -> None:
        del receive
        seen.append(scope["query_string"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    dests = ("A&day=1", "#x", "a b+c", "%26", "é")
    async with serving(supplier) as address, aiohttp.ClientSession() as client:
        for dest in dests:
            route = Route("EWR", dest, 6, 15, 1000)
            await asked(client, [address], route, deadline=10)
    found = [parse_qs(query.decode("ascii")) for query in seen]
    assert found == [{"route": [f"EWR-{dest}"], "day": ["6-15"]} for dest in dests]


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[colonnade.Pool]:
    await create_jobs(dsn)
    async with colonnade.create_pool(dsn, min_size=1, max_size=4) as pool:
        yield pool
        await jobs.drop_queue(pool, QUEUE)
        await pool.execute("DROP TABLE search_counts")


async def test_a_refused_search_costs_no_other_one(
    pool: colonnade.Pool, caplog: pytest.LogCaptureFixture
) -> None:
    async with search_jobs(pool, 5) as working:
        for number in range(20):
            working.note("EWR", f"D{number}")
        working.note("EWR", "\0")
        await until(lambda: any("refused" in record.message for record in caplog.records))
        await asyncio.wait_for(all_counted(pool, 20), 30)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


async def all_counted(pool: colonnade.Pool, searches: int) -> None:
    counted = "SELECT coalesce(sum(searches), 0)::int4 FROM search_counts"
    while await pool.fetchval(counted) < searches:
        pass
