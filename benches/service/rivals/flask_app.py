"""The routes of the service in Flask, psycopg and threads: where many such services come from.

A request has a thread, and so has each of its forty calls, from one pool of threads.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

import requests
from flask import Flask, Response, request
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool
from requests.adapters import HTTPAdapter

from benches.service.rivals import arrow_rows, frame
from benches.service.rivals.offers import consolidated
from examples.service import parameters as read
from examples.service.answers import Answer, of_json
from examples.service.cache import Cache
from examples.service.handlers.asking import Answers, route_of
from examples.service.handlers.export import FLIGHTS
from examples.service.handlers.search import DELAYS, DESTINATION, SCHEDULE
from examples.service.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Generator

_THREADS = 160


def psycopg_query(query: str) -> bytes:
    """Placeholders as psycopg has them: each of these queries uses its own once, in order.

    As bytes, which psycopg's types take for a query that is not written out where it is sent.
    """
    parts = query.replace("%", "%%").split("$")
    return (parts[0] + "".join("%s" + part.lstrip("0123456789") for part in parts[1:])).encode()


class Held:
    """The resources of the process."""

    def __init__(self) -> None:
        self.settings = Settings.from_environment()
        size = self.settings.pool_size
        # With a plan for any arguments, the query of ten properties takes minutes.
        settings = {"options": "-c plan_cache_mode=force_custom_plan"}
        self.pool = ConnectionPool(
            self.settings.dsn, kwargs=settings, min_size=1, max_size=size, open=True
        )
        self.threads = ThreadPoolExecutor(_THREADS, "calls")
        self.session = requests.Session()
        self.session.mount("http://", HTTPAdapter(40, 32))
        self.cache: Cache[Answer] = Cache(self.settings.cache_entries)
        self.frame = frame.merged(self._table)
        self.airlines = dict(self.rows("SELECT carrier, name FROM airlines"))

    def rows(self, query: str, *arguments: Any) -> list[Any]:
        """The rows of a query."""
        with self.pool.connection() as connection:
            return connection.execute(psycopg_query(query), arguments or None).fetchall()

    def _table(self, query: str) -> tuple[list[str], list[Any]]:
        with self.pool.connection() as connection:
            cursor = connection.execute(query.encode())
            return [column.name for column in cursor.description or ()], cursor.fetchall()


held = Held()
application = Flask(__name__)


@application.get("/search")
def search() -> Response:
    """Ask the suppliers and the database, each from a thread."""
    route = route_of(request.args)
    kept = held.cache.get(route)
    if kept is not None:
        return _response(kept)
    began, deadline = time.perf_counter(), held.settings.deadline
    place = (route.origin, route.dest, route.month)
    submit = held.threads.submit
    facts = {
        "schedule": submit(held.rows, SCHEDULE, *place, route.day),
        "delays": submit(held.rows, DELAYS, *place),
        "destination": submit(held.rows, DESTINATION, route.dest),
    }
    calls = [submit(_call, address + route.path, deadline) for address in held.settings.suppliers]
    under_way: list[Future[Any]] = [*facts.values(), *calls]
    wait(under_way, timeout=deadline)
    answers = _answers(calls)
    known = {name: _result(future) for name, future in facts.items()}
    if isinstance(known["destination"], list):
        known["destination"] = next(iter(known["destination"]), (None,))[0]
    seconds = time.perf_counter() - began
    answer, complete = consolidated(route, answers, held.airlines, known, seconds)
    if answer.status == 200:
        seconds = held.settings.cache_seconds
        held.cache.put(route, answer, seconds if complete else seconds / 10)
    return _response(answer)


def _call(address: str, deadline: float) -> bytes | str:
    try:
        response = held.session.get(address, timeout=deadline)
    except requests.RequestException as error:
        return f"unreachable: {type(error).__name__}"
    return response.content if response.status_code == 200 else f"status {response.status_code}"


def _answers(calls: list[Future[bytes | str]]) -> Answers:
    bodies: list[bytes] = []
    senders: list[int] = []
    missing: dict[str, str] = {}
    for number, call in enumerate(calls):
        if not call.done():
            call.cancel()
            missing[str(number)] = "late"
        elif isinstance(found := call.result(), str):
            missing[str(number)] = found
        else:
            bodies.append(found)
            senders.append(number)
    return Answers(bodies, senders, missing)


def _result(future: Future[Any]) -> Any:
    if not future.done():
        future.cancel()
        return TimeoutError("late")
    return future.exception() or future.result()


@application.get("/analytics")
def analytics() -> Response:
    """The usual question, from the frame in memory."""
    return _response(frame.answer(held.frame))


@application.get("/analytics-sql")
def analytics_by_sql() -> Response:
    """The same question, answered by the database."""
    with held.pool.connection() as connection:
        cursor = connection.cursor(row_factory=dict_row)
        rows = cursor.execute(psycopg_query(frame.BY_SQL), frame.arguments()).fetchall()
    return _response(frame.of_rows(rows))


@application.get("/export")
def export() -> Response:
    """Stream the flights, a batch of a cursor at a time."""
    months = read.span(request.args, "months", (1, 12))

    def body() -> Generator[bytes]:
        writer = arrow_rows.Writer()
        with held.pool.connection() as connection, connection.cursor("export", binary=True) as rows:
            rows.execute(psycopg_query(FLIGHTS), months)
            while batch := rows.fetchmany(arrow_rows.BATCH):
                yield writer.batch(batch)
        yield writer.end()

    return Response(body(), mimetype=arrow_rows.MEDIA_TYPE)


@application.get("/livez")
@application.get("/readyz")
def health() -> Response:
    """Alive, and ready."""
    return _response(of_json({"alive": True}))


def _response(answer: Answer) -> Response:
    return Response(answer.body, answer.status, dict(answer.headers), None, answer.content_type)
