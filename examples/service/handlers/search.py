"""`/search`: asks every supplier and the database at once, and answers with what came in time.

Neither a slow supplier nor a slow database decides how long a search takes: the deadline does.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from colonnade import Query
from examples.analytics.store import rows_with
from examples.service.answers import Answer, of_json, of_problem
from examples.service.handlers.asking import Answers, Route, asked, route_of
from examples.service.phases import phase

if TYPE_CHECKING:
    from collections.abc import Mapping

    import colonnade
    from examples.service.runtime import Runtime

_ROWS_MAX = 20

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


async def search(runtime: Runtime, parameters: Mapping[str, str]) -> Answer:
    """Answer a search, from the cache if the same one was answered lately.

    Raises BadRequestError for wrong parameters.
    """
    route = route_of(parameters)
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


async def _searched(runtime: Runtime, route: Route) -> Answer:
    began = time.perf_counter()
    settings = runtime.settings
    suppliers = asyncio.create_task(_asked(runtime, route), name="suppliers")
    facts = await _facts(runtime, route)
    answers = await suppliers
    if not answers.bodies:
        detail = f"no supplier answered within {settings.deadline:g} s"
        return of_problem(504, "No supplier answered", detail)
    with phase("columns"):
        best = _best(route, _as_table(runtime, answers), facts)
    complete = not answers.missing and not facts.errors
    found = {
        "origin": route.origin,
        "dest": route.dest,
        "destination": _or_none(facts, "destination"),
        "offers": best.to_pydict(),
        "rows": len(best),
        "suppliers": {
            "asked": len(settings.suppliers),
            "answered": len(answers.bodies),
            "missing": answers.missing,
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


async def _asked(runtime: Runtime, route: Route) -> Answers:
    settings = runtime.settings
    with phase("suppliers"):
        return await asked(runtime.client, settings.suppliers, route, settings.deadline)


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


def _as_table(runtime: Runtime, answers: Answers) -> colonnade.Columns:
    """All offers in columns, beside the airlines that they are of."""
    parts: list[dict[str, Any]] = [orjson.loads(body) for body in answers.bodies]
    lengths = [len(part["price"]) for part in parts]
    carrier = np.array([one for part in parts for one in part["carrier"]], dtype=object)
    airline = rows_with(runtime.store.airlines["carrier"], carrier)
    return runtime.store.airlines.take(airline).with_columns(
        hour=np.array([hour for part in parts for hour in part["hour"]], np.int32),
        price=np.array([price for part in parts for price in part["price"]], np.float64),
        supplier=np.repeat(np.array(answers.senders, np.int32), lengths),
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
