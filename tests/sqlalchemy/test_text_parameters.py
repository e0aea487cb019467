"""Parameters of `text()` have the type of their value, as with psycopg's dialect.

Public reports: sqlalchemy #6842 and #7909, CanopyTax/asyncpgsa #47.
"""

from __future__ import annotations

import datetime as dt
import decimal
import ipaddress
import uuid
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa

from colonnade.sqlalchemy import fetch_columns

Within = Callable[..., Any]
DAY = dt.date(2026, 2, 3)
MOMENT = dt.datetime(2026, 2, 3, 4, 5, 6)
SITUATIONS: list[tuple[str, dict[str, Any]]] = [
    ("SELECT n FROM (VALUES (1), (2)) AS t (n) WHERE (:x IS NULL OR n = :x)", {"x": 1}),
    ("SELECT now() - :x < now()", {"x": dt.timedelta(hours=1)}),
    ("SELECT :x + :x", {"x": 2**31}),
    ("SELECT :x + :x", {"x": 2**70}),
    ("SELECT :x + :x", {"x": decimal.Decimal("1.10")}),
    ("SELECT 1.5 * :x", {"x": 2.5}),
    ("SELECT :x", {"x": 1}),
    ("SELECT :x", {"x": True}),
    ("SELECT :x || :x", {"x": b"\0a"}),
    ("SELECT :x", {"x": uuid.UUID(int=5)}),
    ("SELECT :x + 1, pg_typeof(:x)::text", {"x": DAY}),
    ("SELECT :x - :y", {"x": MOMENT, "y": MOMENT - dt.timedelta(days=3)}),
    ("SELECT pg_typeof(:x)::text, :x", {"x": MOMENT.replace(tzinfo=dt.UTC)}),
    ("SELECT pg_typeof(:x)::text", {"x": dt.time(1, 2)}),
    ("SELECT host(:x)", {"x": ipaddress.ip_address("10.0.0.1")}),
    ("SELECT (:x)[2], pg_typeof(:x)::text", {"x": [1, 2**31]}),
    ("SELECT 2 = ANY(:x)", {"x": [1, 2]}),
    ("SELECT 'a' = ANY(:x)", {"x": ["a", "b"]}),
    ("SELECT generate_series(1, :x) LIMIT :y", {"x": 5, "y": 2}),
    ("SELECT CAST(:x AS text)", {"x": 5}),
    ("SELECT 'a' || :x", {"x": "b"}),
    ("SELECT length(:x)", {"x": "abc"}),
    ("SELECT ':x $1', :x -- :x $1", {"x": 7}),
]


@pytest.fixture(scope="module")
def psycopgs(url: sa.URL) -> Any:
    """Psycopg's dialect on the same database."""
    engine = sa.create_engine(url.set(drivername="postgresql+psycopg"))
    yield engine
    engine.dispose()


@pytest.mark.parametrize(("query", "values"), SITUATIONS, ids=[repr(each) for each in SITUATIONS])
def test_text_is_answered_as_by_psycopgs_dialect(
    within: Within, psycopgs: sa.Engine, query: str, values: dict[str, Any]
) -> None:
    with psycopgs.connect() as other:
        expected = [tuple(row) for row in other.execute(sa.text(query), values)]

    def ask(connection: sa.Connection) -> list[Any]:
        streamed = connection.execution_options(yield_per=5)
        rows = [tuple(row) for row in streamed.execute(sa.text(query), values)]
        assert rows == [tuple(row) for row in connection.execute(sa.text(query), values)]
        return rows

    found = within(ask)
    assert repr(found) == repr(expected)


def test_columns_take_the_same_parameters(within: Within) -> None:
    def ask(connection: sa.Connection) -> Any:
        query = sa.text("SELECT 1.5 * :x AS v WHERE :y IS NULL OR :y > 0")
        return fetch_columns(connection, query, {"x": 2.5, "y": 1}).to_pydict()

    assert within(ask) == {"v": [3.75]}


def test_many_sets_take_the_same_parameters(within: Within, psycopgs: sa.Engine) -> None:
    made = "CREATE TEMP TABLE filled (k int, n numeric, at timestamptz)"
    insert = "INSERT INTO filled SELECT :k, :n * 1.5, now() - :span WHERE :k IS NULL OR :k < 9"
    sets = [
        {"k": 1, "n": 2.5, "span": dt.timedelta(1)},
        {"k": 2**31 - 1, "n": 0.1, "span": dt.timedelta(2)},
    ]

    def ask(connection: sa.Connection) -> list[Any]:
        connection.execute(sa.text(made))
        connection.execute(sa.text(insert), sets)
        found = connection.execute(sa.text("SELECT k, n, now() - at FROM filled"))
        return [tuple(row) for row in found]

    # Without a commit the temporary table ends with the block.
    with psycopgs.connect() as other:
        assert within(ask) == ask(other)


def test_strings_and_casts_keep_the_type_of_their_context(within: Within) -> None:
    """A `str` is a literal that the server reads, and a cast of the text's own decides the type."""

    def ask(connection: sa.Connection) -> Any:
        query = sa.text(
            "SELECT n FROM (VALUES (CAST('00112233445566778899aabbccddeeff' AS uuid))) AS t (n)"
            " WHERE n = :x AND CAST(:y AS int8) + 1 = 6"
        )
        values = {"x": "00112233-4455-6677-8899-aabbccddeeff", "y": "5"}
        typed = sa.select(sa.literal(5, sa.BigInteger) + 1, sa.literal("a"))
        return len(connection.execute(query, values).all()), connection.execute(typed).one()

    assert within(ask) == (1, (6, "a"))


def test_frames_are_filtered_by_values(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        frame = pd.read_sql(
            sa.text("SELECT n FROM generate_series(1, 3) AS n WHERE :x IS NULL OR n = :x"),
            connection,
            params={"x": 2},
        )
    assert frame["n"].tolist() == [2]
