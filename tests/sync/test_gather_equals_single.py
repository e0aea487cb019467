# Generated from tests/async/test_gather_equals_single.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Generated gathers give what the same queries give one by one, errors included."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import Columns, Query

if TYPE_CHECKING:
    from collections.abc import Callable

_MAKERS: list[Callable[..., Query[Any]]] = [Query.columns, Query.rows, Query.row, Query.value]
# Text and arguments; some fail at the client, at once on the server, or amid their rows.
_TEXTS: list[Callable[[int], tuple[Any, ...]]] = [
    lambda n: ("SELECT $1::int + 1 AS a", n),
    lambda n: (f"SELECT {n} AS a, 'é' AS b, NULL::int AS c",),
    lambda n: ("SELECT g, repeat('x', g) FROM generate_series(1, $1) AS g", n % 50),
    lambda n: ("SELECT ARRAY[$1::int8, NULL]", n),
    lambda _: ("SELECT 1 WHERE false",),
    lambda n: (f"SELECT repeat('y', {n * 100})",),
    lambda _: ("SELECT 1 / 0",),
    lambda n: (f"SELECT 1 / (g - {n % 20}) FROM generate_series(1, 30) AS g",),
    lambda _: ("SELECT nothing FROM nowhere",),
    lambda _: ("SELEC 1",),
    lambda _: ("SELECT $1::int", "not a number"),
    lambda _: ("SELECT $1::int",),
    lambda _: ("DO 'BEGIN RAISE unique_violation; END'",),
]


def _queries(seed: int) -> dict[str, Query[Any]]:
    chance = random.Random(seed)
    queries: dict[str, Query[Any]] = {}
    for number in range(chance.randrange(1, 40)):
        # Mostly good ones, with errors between them.
        texts = _TEXTS if chance.random() < 0.5 else _TEXTS[:6]
        sql, *args = chance.choice(texts)(chance.randrange(100))
        cost = chance.choice([None, 0.0, 0.0, 0.001, 1.0])
        shared = chance.random() < 0.2
        queries[str(number)] = chance.choice(_MAKERS)(sql, *args, cost=cost, shared=shared)
    return queries


def _plain(outcome: object) -> object:
    """The outcome in a form that compares, with its class."""
    if isinstance(outcome, Columns):
        return "columns", outcome.names, outcome.to_pylist()
    if isinstance(outcome, list):
        return "list", [_plain(item) for item in outcome]
    if isinstance(outcome, colonnade.Record):
        return "row", tuple((name, repr(value)) for name, value in outcome.items())
    if isinstance(outcome, Exception):
        return "error", type(outcome), str(outcome)
    return "value", type(outcome), outcome


def _one_by_one(pool: colonnade.sync.Pool, queries: dict[str, Query[Any]]) -> dict[str, object]:
    outcomes: dict[str, object] = {}
    with pool.acquire() as connection:
        for name, query in queries.items():
            try:
                outcomes[name] = _plain(query.asked_of(connection))
            except Exception as error:  # noqa: BLE001 - the gather must give the same
                outcomes[name] = _plain(error)
    return outcomes


@pytest.mark.parametrize("limit", [1, 3])
def test_a_gather_equals_its_queries(dsn: str, limit: int) -> None:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=3) as pool:
        for seed in range(25):
            queries = _queries(seed)
            expected = _one_by_one(pool, queries)
            for deadline in (None, 60):
                results = pool.gather(queries, limit=limit, deadline=deadline, on_error="return")
                outcomes = {
                    name: _plain(results.errors.get(name) or results._results[name])
                    for name in results
                }
                assert outcomes == expected
                assert list(results) == list(queries)
