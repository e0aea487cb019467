"""Objects that threads share: each thread gets its own answer, or an error that says why not.

The interpreter switches threads as often as it can; a free-threaded one runs them in parallel.
"""

from __future__ import annotations

import itertools
import operator
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

import colonnade.sync
from colonnade import InterfaceError, Record
from colonnade._driver._sync import conversation
from tests.support.crowd import Crowd, Started, see

THREADS = 4
TURNS = 200


@pytest.fixture(autouse=True)
def _changing_threads() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(work: Any, *args: object) -> list[Any]:
    """Call a function with its number in each thread, all at once, and return the results."""
    together = threading.Barrier(THREADS)

    def begin(number: int) -> Any:
        together.wait()
        return work(number, *args)

    with Crowd() as crowd:
        for number in range(THREADS):
            crowd.start(begin, number)
        return crowd.ends()


def test_nobody_gets_the_answer_of_another_on_one_connection(
    connection: colonnade.sync.Connection,
) -> None:
    def ask(number: int) -> Counter[str]:
        seen: Counter[str] = Counter()
        for turn in range(TURNS):
            value = f"{number}/{turn}"
            try:
                answer = connection.fetchval("SELECT $1::text", value)
            except InterfaceError as error:
                seen[str(error)] += 1
            else:
                assert answer == value
                seen["answered"] += 1
        return seen

    seen: Counter[str] = sum(in_threads(ask), Counter())
    refused = "cannot perform operation: another operation is in progress"
    assert seen["answered"] > 0
    assert seen["answered"] + seen[refused] == THREADS * TURNS, seen
    assert connection.fetchval("SELECT 'as before'") == "as before"


def test_threads_have_connections_of_their_own(dsn: str) -> None:
    pytest.importorskip("numpy")
    query = """
        SELECT g, g::numeric(12, 2) AS n, repeat('ä', g % 7) AS t, ARRAY[g, NULL] AS a,
            '2026-01-01'::timestamptz + g * interval '1 hour' AS m, ROW(g, 'x') AS r
        FROM generate_series($1::int, $1::int + 999) AS g
    """

    def read(number: int) -> None:
        with colonnade.sync.connect(dsn) as connection:
            for turn in range(10):
                first = 1000 * number + turn
                rows = connection.fetch(query, first)
                assert [row["g"] for row in rows] == list(range(first, first + 1000))
                assert rows[-1]["n"] == Decimal(first + 999)
                assert (rows[0]["a"], tuple(rows[0]["r"])) == ([first, None], (first, "x"))
                columns = connection.fetch_columns(query, first)
                assert columns["g"].tolist() == list(range(first, first + 1000))
                assert columns["t"].tolist() == [row["t"] for row in rows]

    in_threads(read)


def test_a_pool_and_its_types_are_shared(dsn: str, connection: colonnade.sync.Connection) -> None:
    connection.execute("CREATE TYPE shared_mood AS ENUM ('glad', 'sad')")
    connection.execute("CREATE TYPE shared_pair AS (mood shared_mood, amount numeric)")

    def use(number: int) -> None:
        for turn in range(50):
            pair = ("sad" if turn % 2 else "glad", Decimal(number))
            with pool.acquire() as lent:
                answer = lent.fetchval("SELECT $1::shared_pair", pair)
                assert tuple(answer) == pair
                assert lent.fetchval("SELECT ARRAY[$1]::shared_mood[]", pair[0]) == [pair[0]]

    try:
        with colonnade.sync.create_pool(dsn, min_size=1, max_size=3) as pool:
            in_threads(use)
            assert pool.get_stats().acquired >= 50 * THREADS
    finally:
        connection.execute("DROP TYPE shared_pair")
        connection.execute("DROP TYPE shared_mood")


def test_columns_are_read_by_all(connection: colonnade.sync.Connection) -> None:
    numpy = pytest.importorskip("numpy")
    columns = connection.fetch_columns(
        "SELECT g AS a, g::text AS b, NULLIF(g % 3, 0) AS c, ARRAY[g] AS d"
        " FROM generate_series(1, 2000) AS g"
    )
    expected = list(range(1, 2001))

    def read(_: int) -> None:
        for _ in range(10):
            assert numpy.array_equal(columns["a"], expected)
            assert columns["b"].tolist() == [str(value) for value in expected]
            assert columns["c"].tolist() == [value % 3 or None for value in expected]
            assert [int(value[0]) for value in columns["d"]] == expected
            assert columns[10:20]["a"].tolist() == expected[10:20]
            assert [field.name for field in columns.fields] == ["a", "b", "c", "d"]

    in_threads(read)


def test_an_iterator_over_a_record_is_taken_by_all(connection: colonnade.sync.Connection) -> None:
    names = ", ".join(f"{place} AS c{place}" for place in range(1000))
    (row,) = connection.fetch(f"SELECT {names}")

    def take(_: int, values: Iterator[int], items: Iterator[tuple[str, int]]) -> list[int]:
        taken = []
        for value, (name, again) in zip(values, items, strict=False):
            assert name == f"c{again}"
            assert operator.length_hint(values) <= len(row)
            taken.append(value)
        return taken

    for _ in range(20):
        taken = in_threads(take, iter(row.values()), iter(row.items()))
        # Without the GIL, two threads may get the same value, as with a tuple's iterator.
        assert set(itertools.chain(*taken)) <= set(range(1000))
        assert all(part == sorted(part) for part in taken)


def test_records_are_read_and_dropped_by_all(connection: colonnade.sync.Connection) -> None:
    def read(number: int, rows: list[Record]) -> int:
        total = 0
        while rows:
            try:
                row = rows.pop()
            except IndexError:
                break
            assert (row["a"], row.get("missing", number)) == (row[0], number)
            assert row == tuple(row.values())
            assert row["d"][0][0] == row["a"]
            total += row["a"]
        return total

    for _ in range(5):
        rows = connection.fetch(
            "SELECT g AS a, g::text AS b, ARRAY[ROW(g, 'x')] AS d"
            " FROM generate_series(1, 5000) AS g"
        )
        assert sum(in_threads(read, rows)) == 5000 * 5001 // 2


def test_each_held_row_is_taken_once(connection: colonnade.sync.Connection) -> None:
    def take(_: int, held: colonnade.sync.HeldResult) -> list[int]:
        taken: list[int] = []
        while held_has_rows(held):
            try:
                taken += [row["g"] for row in held.fetch(7)]
            except InterfaceError as error:
                refusals.add(str(error))
        return taken

    refusals: set[str] = set()
    held = connection.hold_result("SELECT g FROM generate_series(1, 3000) AS g")
    taken = in_threads(take, held)
    assert refusals <= {"another thread is reading the rows"}
    assert sorted(itertools.chain(*taken)) == list(range(1, 3001))


def held_has_rows(held: colonnade.sync.HeldResult) -> bool:
    """Whether rows are left, as far as known while another thread takes some."""
    try:
        return held.rows_left > 0
    except InterfaceError:
        return True


def test_a_thread_that_comes_before_the_claim_keeps_its_answer(
    connection: colonnade.sync.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Crowd() as crowd:
        others: list[Started[Any]] = []
        first = threading.get_ident()

        def changes_threads() -> int:
            if threading.get_ident() == first and not others:
                theirs = "SELECT 'theirs' FROM pg_sleep(0.2)"
                others.append(crowd.start(connection.fetchval, theirs))
                see(lambda: connection.conversation.owner is not None)
            return threading.get_ident()

        # The interpreter may switch threads at any call: here, at a query's first one.
        monkeypatch.setattr(conversation, "threading", SimpleNamespace(get_ident=changes_threads))
        with pytest.raises(InterfaceError, match="another operation is in progress"):
            connection.fetchval("SELECT 'ours'")
        assert others[0].end() == "theirs"
    assert connection.fetchval("SELECT 'ours'") == "ours"
