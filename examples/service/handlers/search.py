"""`/search`: every supplier and the database are asked at once, and what came in time is answered.

Neither a slow supplier nor a slow database decides how long a search takes: the deadline does.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp
import numpy as np
import orjson

from colonnade import Query
from examples.analytics.store import rows_with
from examples.service import parameters as read
from examples.service.answers import Answer, of_json, of_problem
from examples.service.data import ORIGINS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import colonnade
    from examples.service.runtime import Runtime

_ROWS_MAX = 20
_KNOWN = frozenset({"origin", "dest", "month", "day", "max_price"})

SCHEDULE = """
    SELECT carrier, hour, count(*) AS flights FROM flights
    WHERE origin = $1 AND dest = $2 AND month = $3 AND day = $4
    GROUP BY carrier, hour
"""
DELAYS = """
    SELECT carrier, avg(arr_delay) AS mean_delay FROM flights
    WHERE origin = $1 AND dest = $2 AND month = $3
    GROUP BY carrier
"""
DESTINATION = "SELECT name FROM airports WHERE faa = $1"


@dataclass(frozen=True)
class Route:
    """What is searched for; equal searches share an answer."""

    origin: str
    dest: str
    month: int
    day: int
    max_price: float


@dataclass(frozen=True)
class Offers:
    """The answers of the suppliers as one table, and why the others are missing."""

    table: colonnade.Columns
    missing: Mapping[str, str]


async def search(runtime: Runtime, parameters: Mapping[str, str]) -> Answer:
    """Answer a search, from the cache if the same one was answered lately.

    Raises BadRequestError for wrong parameters.
    """
    route = _route(parameters)
    runtime.jobs.note(route.origin, route.dest)
    kept = runtime.cache.get(route)
    if kept is not None:
        return kept
    task = runtime.searching.get(route)
    if task is None:
        task = asyncio.create_task(_searched(runtime, route), name="search")
        runtime.searching[route] = task
        task.add_done_callback(lambda _: runtime.searching.pop(route))
    # A client that goes away does not end the search that others wait for; the deadline does.
    return await asyncio.shield(task)


def _route(parameters: Mapping[str, str]) -> Route:
    read.refuse_unknown(parameters, _KNOWN)
    return Route(
        origin=read.one_of(parameters, "origin", "EWR", ORIGINS),
        dest=parameters.get("dest", "D17")[:8],
        month=read.whole(parameters, "month", 6, 1, 12),
        day=read.whole(parameters, "day", 15, 1, 31),
        max_price=read.number(parameters, "max_price", 1000, 0, 1e6),
    )


async def _searched(runtime: Runtime, route: Route) -> Answer:
    began = time.perf_counter()
    settings = runtime.settings
    asked = asyncio.create_task(_asked(runtime, route), name="suppliers")
    facts = await _facts(runtime, route)
    offers = await asked
    if len(offers.missing) == len(settings.suppliers):
        detail = f"no supplier answered within {settings.deadline:g} s"
        return of_problem(504, "No supplier answered", detail)
    best = _best(route, offers.table, facts)
    complete = not offers.missing and not facts.errors
    found = {
        "origin": route.origin,
        "dest": route.dest,
        "destination": _or_none(facts, "destination"),
        "offers": best.to_pydict(),
        "rows": len(best),
        "suppliers": {
            "asked": len(settings.suppliers),
            "answered": len(settings.suppliers) - len(offers.missing),
            "missing": offers.missing,
        },
        "database": {"missing": {name: str(error) for name, error in facts.errors.items()}},
        "complete": complete,
        "seconds": round(time.perf_counter() - began, 4),
    }
    answer = of_json(found)
    kept = Answer(answer.status, answer.body, headers={"x-cache": "hit"})
    lifetime = settings.cache_seconds if complete else settings.cache_seconds / 10
    runtime.cache.put(route, kept, lifetime)
    return answer


async def _facts(runtime: Runtime, route: Route) -> colonnade.Gathered:
    place = (route.origin, route.dest, route.month)
    return await runtime.pool.gather(
        {
            "schedule": Query.columns(SCHEDULE, *place, route.day),
            "delays": Query.columns(DELAYS, *place, shared=True),
            "destination": Query.value(DESTINATION, route.dest, shared=True),
        },
        deadline=runtime.settings.deadline,
        on_error="return",
    )


async def _asked(runtime: Runtime, route: Route) -> Offers:
    """Ask every supplier; those that have not answered at the deadline are let go."""
    path = f"/offers?route={route.origin}-{route.dest}&day={route.month}-{route.day}"
    tasks = {
        asyncio.create_task(_ask(runtime.client, address + path)): number
        for number, address in enumerate(runtime.settings.suppliers)
    }
    try:
        await asyncio.wait(tasks, timeout=runtime.settings.deadline)
    finally:
        for task in tasks:
            task.cancel()
    answers: list[bytes] = []
    missing: dict[str, str] = {}
    senders: list[int] = []
    for task, number in tasks.items():
        if not task.done() or task.cancelled():
            missing[str(number)] = "late"
        elif isinstance(found := task.result(), str):
            missing[str(number)] = found
        else:
            answers.append(found)
            senders.append(number)
    return Offers(_as_table(runtime, answers, senders), missing)


async def _ask(client: aiohttp.ClientSession, address: str) -> bytes | str:
    """The body of a supplier's answer, or the reason why there is none."""
    try:
        async with client.get(address) as response:
            if response.status != 200:
                return f"status {response.status}"
            return await response.read()
    except (aiohttp.ClientError, OSError) as error:
        return f"unreachable: {type(error).__name__}"


def _as_table(runtime: Runtime, answers: list[bytes], senders: list[int]) -> colonnade.Columns:
    """All offers in columns, beside the airlines that they are of."""
    parts: list[dict[str, Any]] = [orjson.loads(answer) for answer in answers]
    lengths = [len(part["price"]) for part in parts]
    carrier = np.array([one for part in parts for one in part["carrier"]], dtype=object)
    airline = rows_with(runtime.store.airlines["carrier"], carrier)
    return runtime.store.airlines.take(airline).with_columns(
        hour=np.array([hour for part in parts for hour in part["hour"]], np.int32),
        price=np.array([price for part in parts for price in part["price"]], np.float64),
        supplier=np.repeat(np.array(senders, np.int32), lengths),
    )


def _best(route: Route, offers: colonnade.Columns, facts: colonnade.Gathered) -> colonnade.Columns:
    """The cheapest offer of each airline and hour, with what the database knows of it."""
    fitting = offers.filter(offers["price"] <= route.max_price)
    groups = fitting.group_by("carrier", "name", "hour").aggregate(
        price=("price", "min"), offers=("price", "count"), suppliers=("supplier", "nunique")
    )
    best = groups.take(np.argsort(groups["price"], kind="stable")[:_ROWS_MAX])
    delays = _or_none(facts, "delays")
    if delays is None:
        return best
    # The row -1, of airlines without flights on this route, is the last one.
    mean = np.append(delays["mean_delay"].astype(np.float64), np.nan)
    return best.with_columns(mean_delay=mean[_rows_of(delays["carrier"], best["carrier"])])


def _rows_of(keys: Any, wanted: Any) -> Any:
    return rows_with(keys, wanted) if len(keys) else np.full(len(wanted), -1)


def _or_none(facts: colonnade.Gathered, name: str) -> Any:
    return None if name in facts.errors else facts[name]
