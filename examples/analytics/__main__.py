"""A service that answers questions about flights from columns in memory, and its times.

    .venv/bin/python -m examples.analytics [FOLDER]

It loads the demo's flights into a private server, fetches them once, and answers a request over
HTTP: ten properties choose among 327,346 flights, their own and those of the planes, airports and
weather that they refer to. The program prints the time of each step beside pandas, and draws one
request into FOLDER.
"""

from __future__ import annotations

import asyncio
import dataclasses
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import httpx
from starlette.applications import Starlette
from starlette.routing import Route

from colonnade import embedded, observe, serve
from colonnade.cli.demo import data, flights
from examples.analytics import with_pandas
from examples.analytics.answers import Question, chosen_by, facts_of, summary_of
from examples.analytics.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from starlette.requests import Request

ROUNDS = 15
T = TypeVar("T")


class Service:
    """The store and the answers over it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.app = Starlette(routes=[Route("/late", self.late, methods=["POST"])])
        self.times: dict[str, list[float]] = {}

    async def late(self, request: Request) -> serve.TableResponse:
        """Answer a question, as JSON or in the format that the client accepts."""
        question = Question(**await request.json())
        mask = await self.step("choose flights", chosen_by, self.store, question)
        facts = await self.step("follow relations", facts_of, self.store, mask)
        return serve.TableResponse(await self.step("group", summary_of, self.store, facts))

    async def step(self, name: str, function: Callable[..., T], *arguments: Any) -> T:
        """Take a step in a task of its own, which a timeline shows by its name."""

        async def work() -> T:
            began = time.perf_counter()
            result = function(*arguments)
            self.times.setdefault(name, []).append(time.perf_counter() - began)
            return result

        return await asyncio.create_task(work(), name=name)


def load() -> Store:
    """The demo's tables; their server is gone when they are here."""
    directory = flights.data_directory()
    if directory is None:
        raise SystemExit("the data is missing: `colonnade demo` says how to install it")
    with embedded.start() as server, data.loaded(server.dsn, directory) as connection:
        return Store.fetch(connection)


async def main(store: Store, frame: pd.DataFrame, picture: Path) -> None:
    """Ask the service and pandas in turn, compare the answers, and print the times."""
    service, question = Service(store), Question()
    whole, of_pandas = [], []
    transport = httpx.ASGITransport(service.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:

        async def ask() -> dict[str, Any]:
            asked = dataclasses.asdict(question)
            response = await client.post("/late", json=asked, params={"format": "json"})
            return response.raise_for_status().json()  # type: ignore[no-any-return]

        answer, expected = await ask(), with_pandas.answer(frame, question)
        check(answer, expected)
        service.times.clear()
        for _ in range(ROUNDS):
            began = time.perf_counter()
            await ask()
            whole.append(time.perf_counter() - began)
            began = time.perf_counter()
            with_pandas.answer(frame, question)
            of_pandas.append(time.perf_counter() - began)
        async with observe.trace() as timeline:
            await asyncio.create_task(ask(), name="request")
    timeline.to_svg(picture)
    print(expected)
    show(service, whole, of_pandas)
    print(f"one request is drawn in {picture}")


def check(answer: dict[str, Any], expected: pd.DataFrame) -> None:
    """Compare the JSON columns with pandas' frame."""
    for name in expected.columns:
        found, wanted = answer["columns"][name], expected[name].tolist()
        if name == "mean_delay":
            found, wanted = ([round(value, 9) for value in values] for values in (found, wanted))
        if found != wanted:
            raise SystemExit(f"the answers differ in {name}: {found} and {wanted}")


def show(service: Service, whole: list[float], of_pandas: list[float]) -> None:
    """Print the median times in milliseconds."""
    rows = [*service.times.items(), ("request, in all", whole), ("pandas, without HTTP", of_pandas)]
    print(f"{len(service.store.flights):,} flights, median of {ROUNDS}:")
    for name, times in rows:
        print(f"  {name:22} {statistics.median(times) * 1e3:7.2f} ms")


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    loaded = load()
    merged = with_pandas.merged(loaded)
    asyncio.run(main(loaded, merged, folder / "analytics-request.svg"))
