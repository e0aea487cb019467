"""`Pool.gather`: the results, the deadline, errors, and what is left running."""

from __future__ import annotations

# async-only: begin
import asyncio

# async-only: end
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import Columns, Gathered, InterfaceError, Query, QueryCosts, errors
from colonnade.errors import DeadlineError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

# So that the server shows which backends are this file's.
_NAME = "gather"
_BUSY = f"""
    SELECT count(*) FROM pg_stat_activity
    WHERE application_name = '{_NAME}' AND state <> 'idle' AND pid <> pg_backend_pid()
"""
_SECONDS_MAX = 20.0


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[colonnade.Pool]:
    settings = {"application_name": _NAME}
    made = colonnade.create_pool(dsn, min_size=3, max_size=3, server_settings=settings)
    async with made as opened:
        yield opened


async def _all_idle(dsn: str) -> None:
    """Wait until the server runs no query of the pool."""
    watcher = await colonnade.connect(dsn)
    try:
        give_up = time.monotonic() + _SECONDS_MAX
        while await watcher.fetchval(_BUSY):
            assert time.monotonic() < give_up, "a query is still running"
    finally:
        await watcher.close()


def _phases(results: Gathered) -> dict[str, str]:
    late = results.errors
    return {name: error.phase for name, error in late.items() if isinstance(error, DeadlineError)}


def _sleep(seconds: float, **options: Any) -> Query[Any]:
    return Query.value(f"SELECT 1 FROM pg_sleep({seconds})", **options)


async def test_each_query_becomes_what_it_says(pool: colonnade.Pool) -> None:
    results = await pool.gather(
        {
            "table": Query.columns("SELECT $1::int8 AS a, 'x' AS b", 7, schema={"a": "float64"}),
            "rows": Query.rows("SELECT generate_series(1, $1)", 3),
            "row": Query.row("SELECT 1 AS a, 2 AS b"),
            "none": Query.row("SELECT 1 WHERE false"),
            "value": Query.value("SELECT 'one'"),
        }
    )
    assert list(results) == ["table", "rows", "row", "none", "value"]
    assert isinstance(results["table"], Columns)
    assert results["table"]["a"].dtype == "float64"
    assert [tuple(row) for row in results["rows"]] == [(1,), (2,), (3,)]
    assert dict(results["row"]) == {"a": 1, "b": 2}
    assert results["none"] is None
    assert results["value"] == "one"
    assert not results.errors


async def test_no_queries_are_no_results(pool: colonnade.Pool) -> None:
    assert dict(await pool.gather({})) == {}


async def test_the_queries_run_at_the_same_time(pool: colonnade.Pool) -> None:
    times = Query.row("SELECT statement_timestamp(), clock_timestamp() FROM pg_sleep(0.5)")
    results = await pool.gather({str(number): times for number in range(3)})
    begins, ends = zip(*results.values(), strict=True)
    assert max(begins) < min(ends)


async def test_the_limit_is_that_of_the_connections(pool: colonnade.Pool) -> None:
    pid = Query.value("SELECT pg_backend_pid() FROM pg_sleep(0.02)")
    results = await pool.gather({str(number): pid for number in range(4)}, limit=1)
    assert len(set(results.values())) == 1
    results = await pool.gather({str(number): pid for number in range(6)}, limit=100)
    assert len(set(results.values())) == 3


async def test_the_deadline_gives_what_is_there(pool: colonnade.Pool, dsn: str) -> None:
    queries = {
        "slow": _sleep(10),
        "slower": _sleep(20),
        "quick": Query.value("SELECT 1"),
        "slowest": _sleep(30),
        "late": _sleep(40),
    }
    began = time.monotonic()
    results = await pool.gather(queries, deadline=0.3, on_error="return", order="given")
    assert time.monotonic() - began < 5
    assert results["quick"] == 1
    assert list(results.errors) == ["slow", "slower", "slowest", "late"]
    phases = _phases(results)
    # The server may end a query a millisecond early, and then this one begins.
    assert phases.pop("late") in {"waiting", "running"}
    assert phases == {
        "slow": "running",
        "slower": "running",
        "slowest": "running",
    }
    with pytest.raises(DeadlineError, match="the query 'late' was still "):
        results["late"]
    with pytest.raises(TimeoutError, match=r"'slow' was still running after 0\.3 s"):
        results["slow"]
    await _all_idle(dsn)


async def test_the_deadline_of_a_result_on_its_way(pool: colonnade.Pool, dsn: str) -> None:
    # The rows come before the server waits.
    text = "SELECT repeat('x', 10000), CASE WHEN n = 100 THEN pg_sleep(30) END"
    endless = Query.rows(f"{text} FROM generate_series(1, 100) AS n")
    results = await pool.gather({"endless": endless}, deadline=1.0, on_error="return")
    assert _phases(results) == {"endless": "arriving"}
    with pytest.raises(DeadlineError, match="its result was still arriving"):
        results["endless"]
    await _all_idle(dsn)


async def test_a_deadline_is_raised_where_errors_are(pool: colonnade.Pool, dsn: str) -> None:
    with pytest.raises(DeadlineError) as caught:
        await pool.gather({"slow": _sleep(30), "quick": _sleep(0)}, deadline=0.1)
    assert caught.value.name == "slow"
    assert caught.value.seconds == 0.1
    await _all_idle(dsn)


async def test_the_deadline_leaves_the_connections_as_they_were(dsn: str) -> None:
    options: dict[str, Any] = {"server_settings": {"statement_timeout": "7s"}}
    show = Query.value("SHOW statement_timeout")
    failing = Query.value("SELECT 1 / 0")
    async with colonnade.create_pool(dsn, min_size=1, max_size=1, **options) as pool:
        for queries in ({"a": show}, {"a": failing, "b": show}, {"a": _sleep(9), "b": show}):
            results = await pool.gather(queries, deadline=0.2, on_error="return")
            assert "b" not in results or "b" in results.errors or results["b"] != "7s"
            assert await pool.fetchval("SHOW statement_timeout") == "7s"


async def test_a_shorter_timeout_of_the_session_stays(dsn: str) -> None:
    options: dict[str, Any] = {"server_settings": {"statement_timeout": "50ms"}}
    async with colonnade.create_pool(dsn, min_size=1, max_size=1, **options) as pool:
        queries = {"shown": Query.value("SHOW statement_timeout"), "slow": _sleep(9)}
        results = await pool.gather(queries, deadline=20, on_error="return")
        assert results["shown"] == "50ms"
        with pytest.raises(errors.QueryCanceledError, match="statement timeout"):
            results["slow"]


async def test_the_timeout_takes_no_round_trip(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        query = {"a": Query.value("SELECT 1")}
        await pool.gather(query)
        connection = await pool.acquire()
        before = connection.conversation.session.exchanges
        await pool.release(connection)
        await pool.gather(query, deadline=5)
        connection = await pool.acquire()
        assert connection.conversation.session.exchanges == before + 1
        await pool.release(connection)


@pytest.mark.parametrize("sql", ["VACUUM pg_class", "CALL gather_commits()"])
async def test_what_needs_no_block_fails_with_a_deadline(dsn: str, sql: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        body = "LANGUAGE plpgsql AS 'BEGIN COMMIT; END'"
        await pool.execute(f"CREATE OR REPLACE PROCEDURE gather_commits() {body}")
        try:
            queries = {"it": Query.rows(sql)}
            results = await pool.gather(queries, deadline=20, on_error="return")
            (error,) = results.errors.values()
            assert "without a deadline" in error.__notes__[-1]
            assert not (await pool.gather(queries)).errors
        finally:
            await pool.execute("DROP PROCEDURE gather_commits()")


async def test_a_command_timeout_is_no_deadline(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1, command_timeout=0.1) as pool:
        results = await pool.gather({"slow": _sleep(9)}, deadline=20, on_error="return")
        assert type(results.errors["slow"]) is TimeoutError


async def test_the_first_error_is_raised_and_nothing_runs_on(
    pool: colonnade.Pool, dsn: str
) -> None:
    queries = {str(number): _sleep(30 + number) for number in range(39)}
    with pytest.raises(errors.DivisionByZeroError) as caught:
        await pool.gather({"wrong": Query.value("SELECT 1 / 0")} | queries)
    assert caught.value.__notes__[-1] == "in the query 'wrong' of a gather"
    await _all_idle(dsn)
    assert await pool.fetchval("SELECT 1") == 1


async def test_errors_are_returned_one_by_one(pool: colonnade.Pool) -> None:
    queries = {
        str(number): Query.value(f"SELECT 1 / {number % 10}, {number}") for number in range(40)
    }
    results = await pool.gather(queries, on_error="return")
    assert list(results.errors) == ["0", "10", "20", "30"]
    assert [results[name] for name in results if name not in results.errors] == [
        1 if number % 10 == 1 else 0 for number in range(40) if number % 10
    ]


def test_get_raises_even_a_key_error() -> None:
    results = Gathered(("wrong", "good"), {"good": 1}, {"wrong": KeyError("of a codec")})
    with pytest.raises(KeyError, match="of a codec"):
        results.get("wrong")
    assert results.get("good") == 1
    assert results.get("none") is None
    assert results.get("none", 5) == 5


class _Growing(Mapping[str, Any]):
    """A mapping with a further entry each time that it is read."""

    def __init__(self) -> None:
        self._reads = 0

    def __iter__(self) -> Iterator[str]:
        self._reads += 1
        return iter(["one", "no query"][: self._reads])

    def __len__(self) -> int:
        return 1

    def __getitem__(self, name: str) -> Any:
        return Query.value("SELECT 1") if name == "one" else name


async def test_the_queries_are_those_at_the_call(pool: colonnade.Pool) -> None:
    assert dict(await pool.gather(_Growing())) == {"one": 1}


async def test_a_wrong_argument_is_the_error_of_its_query(pool: colonnade.Pool) -> None:
    queries = {
        "wrong": Query.value("SELECT $1::int", "x", cost=0),
        "few": Query.value("SELECT $1::int", cost=0),
        "schema": Query.columns("SELECT 1 AS a", schema={"b": "int32"}, cost=0),
        "good": Query.value("SELECT 1", cost=0),
    }
    for limit in (1, 3):
        results = await pool.gather(queries, on_error="return", limit=limit)
        kinds = {name: type(error).__name__ for name, error in results.errors.items()}
        assert kinds == {
            "wrong": "EncodeError",
            "few": "InterfaceError",
            "schema": "SchemaError",
        }
        assert results["good"] == 1


async def test_short_queries_share_a_flight(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        queries = {
            str(number): Query.value(f"SELECT 1 / {number % 5} + {number}", cost=0.0001)
            for number in range(30)
        }
        single = await pool.gather(queries, on_error="return", order="given")
        for deadline in (None, 10):
            results = await pool.gather(queries, deadline=deadline, on_error="return")
            assert list(results.errors) == list(single.errors)
            assert [results[name] for name in results if name not in results.errors] == [
                number + (1 if number % 5 == 1 else 0) for number in range(30) if number % 5
            ]
        with pytest.raises(errors.DivisionByZeroError, match="division by zero"):
            await pool.gather(queries)
        assert await pool.fetchval("SELECT 1") == 1


async def test_a_flight_ends_with_the_deadline(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        queries = {"a": Query.value("SELECT 1", cost=0), "b": _sleep(30, cost=0)}
        queries["c"] = Query.value("SELECT 2", cost=0)
        results = await pool.gather(queries, deadline=0.2, on_error="return", order="given")
        assert results["a"] == 1
        assert isinstance(results.errors["b"], DeadlineError)
        assert await pool.fetchval("SELECT 1") == 1


async def test_a_flight_that_fails_names_the_query_it_waits_for(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1, command_timeout=0.1) as pool:
        queries = {"a": Query.value("SELECT 1", cost=0), "b": _sleep(30, cost=0)}
        queries["c"] = Query.value("SELECT 2", cost=0)
        with pytest.raises(TimeoutError) as caught:
            await pool.gather(queries, order="given")
        assert caught.value.__notes__ == ["in the query 'b' of a gather"]
        queries["b"] = Query.value("SELECT 1 / 0", cost=0)
        with pytest.raises(errors.DivisionByZeroError) as named_once:
            await pool.gather(queries, order="given")
        assert named_once.value.__notes__.count("in the query 'b' of a gather") == 1


async def test_each_query_of_a_flight_has_an_error_of_its_own(dsn: str) -> None:
    queries = {name: _sleep(30, cost=0) for name in "abc"}
    async with colonnade.create_pool(dsn, min_size=1, max_size=1, command_timeout=0.1) as pool:
        late = await pool.gather(queries, on_error="return")
    refused = await pool.gather(queries, on_error="return")
    for results, kind in ((late, TimeoutError), (refused, InterfaceError)):
        assert len({id(error) for error in results.errors.values()}) == 3
        assert all(isinstance(error, kind) for error in results.errors.values())


async def test_shared_reads_run_once(pool: colonnade.Pool) -> None:
    text = "SELECT (now()::text, pg_backend_pid())::text FROM pg_sleep(0.05)"
    shared = {str(number): Query.value(text, shared=True) for number in range(3)}
    assert len(set((await pool.gather(shared)).values())) == 1
    again = (await pool.gather(shared))["0"]
    single = {str(number): Query.value(text) for number in range(3)}
    assert len(set((await pool.gather(single)).values())) == 3
    # Nothing is kept.
    assert (await pool.gather(shared))["0"] != again


async def test_a_shared_query_is_learned_once(dsn: str) -> None:
    costs = QueryCosts(samples_min=2)
    async with colonnade.create_pool(dsn, min_size=2, max_size=2, costs=costs) as pool:
        query = _sleep(0.2, shared=True)
        await pool.gather({"a": query, "b": query})
        assert costs.expected(query.sql) is None
        await pool.gather({"a": query, "b": query})
        expected = costs.expected(query.sql)
        assert expected is not None
        assert expected >= 0.2


async def test_a_shared_query_may_wait_for_a_connection(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        queries = {"a": _sleep(30, shared=True, cost=2), "b": _sleep(31, shared=True, cost=1)}
        results = await pool.gather(queries, deadline=0.1, on_error="return")
        assert _phases(results) == {"a": "running", "b": "waiting"}
        async with pool.acquire():
            results = await pool.gather(queries, deadline=0.1, on_error="return")
        assert _phases(results) == {"a": "waiting", "b": "waiting"}


async def test_only_the_same_is_shared(pool: colonnade.Pool) -> None:
    text = "SELECT $1::text || pg_backend_pid()"
    results = await pool.gather(
        {
            "a": Query.value(text, "1", shared=True),
            "b": Query.value(text, "2", shared=True),
            "c": Query.rows(text, "1", shared=True),
        }
    )
    assert results["a"] != results["b"]
    assert isinstance(results["c"], list)


async def test_a_shared_error_reaches_all(pool: colonnade.Pool) -> None:
    wrong = Query.value("SELECT 1 / 0 FROM pg_sleep(0.05)", shared=True)
    results = await pool.gather({"a": wrong, "b": wrong}, on_error="return")
    assert {type(error) for error in results.errors.values()} == {errors.DivisionByZeroError}
    first, second = results.errors.values()
    assert first is not second, "a raised error is changed by each caller"
    first.add_note("for the first caller")
    assert "for the first caller" not in getattr(second, "__notes__", [])
    assert isinstance(second, errors.DivisionByZeroError)
    assert (second.sqlstate, str(second)) == ("22012", str(first).partition("\n")[0])


async def test_a_shared_error_is_apart_where_tblib_copies_it(pool: colonnade.Pool) -> None:
    pickling_support = pytest.importorskip("tblib.pickling_support")
    pickling_support.install(errors.DivisionByZeroError)
    wrong = Query.value("SELECT 1 / 0 FROM pg_sleep(0.05)", shared=True)
    results = await pool.gather({"a": wrong, "b": wrong}, on_error="return")
    results.errors["a"].add_note("for the first caller")
    assert not getattr(results.errors["b"], "__notes__", [])


async def test_a_shared_query_ends_with_its_last_caller(pool: colonnade.Pool, dsn: str) -> None:
    slow = _sleep(30, shared=True)
    results = await pool.gather({"a": slow, "b": slow}, deadline=0.1, on_error="return")
    assert {type(error) for error in results.errors.values()} == {DeadlineError}
    await _all_idle(dsn)


async def test_a_shared_query_must_be_comparable(pool: colonnade.Pool) -> None:
    query = Query.value("SELECT $1::int[]", [1], shared=True)
    with pytest.raises(InterfaceError, match=r"the query 'ids' is shared.*give tuples instead"):
        await pool.gather({"ids": query})


async def test_the_longest_goes_first(dsn: str) -> None:
    costs = QueryCosts(samples_min=2)
    number_of = "SELECT nextval('pg_temp.numbers')"
    texts = {name: f"{number_of} /* {name} */" for name in "abcd"}
    async with colonnade.create_pool(
        dsn, min_size=1, max_size=1, costs=costs, reset=_nothing, init=_with_numbers
    ) as pool:
        queries = {name: Query.value(text) for name, text in texts.items()}
        results = await pool.gather(queries)
        assert sorted(results, key=results.__getitem__) == ["a", "b", "c", "d"]
        for name, seconds in zip("abcd", (0.3, 0.1, 0.4, 0.2), strict=True):
            for _ in range(50):
                costs.note(texts[name], seconds)
        results = await pool.gather(queries)
        assert sorted(results, key=results.__getitem__) == ["c", "a", "d", "b"]
        results = await pool.gather(queries, order="given")
        assert sorted(results, key=results.__getitem__) == ["a", "b", "c", "d"]
        queries["b"] = Query.value(texts["b"], cost=1)
        queries["new"] = Query.value(number_of)
        results = await pool.gather(queries)
        assert sorted(results, key=results.__getitem__) == ["new", "b", "c", "a", "d"]
        assert pool.costs is costs
        assert costs.expected(number_of) is None


async def _nothing(connection: colonnade.Connection) -> None:
    del connection


async def _with_numbers(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE TEMPORARY SEQUENCE numbers")


@pytest.mark.parametrize(
    ("queries", "options", "error", "message"),
    [
        ([], {}, TypeError, "gather takes a mapping of names to queries, not a list"),
        ({1: Query.value("x")}, {}, TypeError, "the names of a gather's queries must be str"),
        ({"a": "SELECT 1"}, {}, TypeError, "the query 'a' of a gather must be a Query"),
        ({}, {"on_error": "ignore"}, ValueError, 'on_error must be "raise" or "return"'),
        ({}, {"order": "shortest"}, ValueError, 'order must be "longest-first" or "given"'),
        ({}, {"limit": 0}, ValueError, "limit must be 1 or more, not 0"),
        ({}, {"limit": 1.5}, TypeError, "limit must be a whole number"),
        ({}, {"deadline": "soon"}, ValueError, "expected a number of seconds or None"),
    ],
)
async def test_arguments_are_checked(
    pool: colonnade.Pool,
    queries: Any,
    options: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        await pool.gather(queries, **options)


async def test_costs_are_checked(dsn: str) -> None:
    with pytest.raises(TypeError, match="costs must be a QueryCosts or None"):
        colonnade.create_pool(dsn, costs=1)  # type: ignore[arg-type]


async def test_a_closed_pool_refuses(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=2) as pool:
        pass
    with pytest.raises(InterfaceError, match="pool is closed"):
        await pool.gather({"a": Query.value("SELECT 1"), "b": Query.value("SELECT 2")})


# async-only: begin
@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.02, 0.1])
async def test_a_cancelled_gather_leaves_nothing(
    pool: colonnade.Pool, dsn: str, seconds: float
) -> None:
    queries = {str(number): _sleep(30 + number) for number in range(10)}
    queries["shared"] = _sleep(30, shared=True, cost=100)
    for deadline in (None, 25):
        tasks = asyncio.all_tasks()
        gather = asyncio.ensure_future(pool.gather(queries, deadline=deadline))
        await asyncio.sleep(seconds)
        gather.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gather
        await _all_idle(dsn)
        assert await pool.fetchval("SELECT 1") == 1
        give_up = time.monotonic() + _SECONDS_MAX
        while asyncio.all_tasks() - tasks:
            assert time.monotonic() < give_up, "a task is left"
            await asyncio.sleep(0.01)


async def test_one_callers_cancellation_leaves_a_shared_query_to_the_others(
    pool: colonnade.Pool,
) -> None:
    query = {"a": Query.value("SELECT now()::text FROM pg_sleep(0.3)", shared=True)}
    first, second = (asyncio.ensure_future(pool.gather(query)) for _ in range(2))
    await asyncio.sleep(0.1)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert (await second)["a"]


async def test_a_gather_waits_for_its_turn(pool: colonnade.Pool) -> None:
    held = [await pool.acquire() for _ in range(3)]
    results = await pool.gather(
        {str(number): Query.value("SELECT 1") for number in range(5)},
        deadline=0.05,
        on_error="return",
    )
    assert set(_phases(results).values()) == {"waiting"}
    gather = asyncio.ensure_future(pool.gather({"a": Query.value("SELECT 1")}))
    await asyncio.sleep(0.05)
    assert not gather.done()
    for connection in held:
        await pool.release(connection)
    assert (await gather)["a"] == 1


async def test_a_gather_has_its_priority(dsn: str) -> None:
    order: list[str] = []

    async def gather(pool: colonnade.Pool, name: str, priority: int) -> None:
        await pool.gather({name: Query.value("SELECT 1")}, priority=priority)
        order.append(name)

    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        held = await pool.acquire()
        low = asyncio.ensure_future(gather(pool, "low", -1))
        high = asyncio.ensure_future(gather(pool, "high", 1))
        await asyncio.sleep(0.05)
        await pool.release(held)
        await asyncio.gather(low, high)
    assert order == ["high", "low"]


# async-only: end
