"""Generated values: columns, rows and parameters of every type agree with the server's text."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from colonnade.errors import DecodeError
from samples import COMMON, SAMPLES, query, strategies
from tests.types import oracle
from tests.types.test_corpus import char_text

if TYPE_CHECKING:
    from colonnade.sync import Connection

# Of the other types, only text columns: `oracle.expected` knows none of their other layouts.
TEXTS = {
    sample.sql_type: sample.texts if sample.column_texts is None else sample.column_texts
    for sample in SAMPLES
    if sample.texts is not None and (sample in COMMON or sample.arrow == "utf8")
}
OBJECTS = {sample.sql_type: sample.drawn for sample in SAMPLES if sample.drawn is not None}
# One connection serves all examples, because it keeps no state of them.
generated = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("sql_type", TEXTS)
def test_columns_are_the_servers_text(link: Connection, sql_type: str) -> None:
    column = st.lists(st.none() | TEXTS[sql_type], max_size=80)

    @generated
    @given(column)
    def run(texts: list[str | None]) -> None:
        argument = oracle.json_texts(texts)
        columns = link.fetch_columns(query(sql_type), argument)
        table = oracle.arrow_table(columns)
        expected = oracle.expected(sql_type, table["t"].to_pylist())
        assert oracle.raw(table["v"]) == expected
        compare_rows(link, sql_type, argument, columns)

    run()


def compare_rows(link: Connection, sql_type: str, argument: str, columns: Any) -> None:
    refused = None
    try:
        rows = link.fetch(query(sql_type), argument)
    except DecodeError as error:
        refused = str(error)
    if refused is not None:
        # The year is out of Python's range, so the column cannot be read as objects either.
        with pytest.raises(DecodeError) as unreadable:
            columns.to_pydict()
        assert str(unreadable.value) == refused
        return
    from_rows = [row["v"] for row in rows]
    if sql_type == '"char"':
        from_rows = [value and char_text(value) for value in from_rows]
    pairs = zip(from_rows, columns.to_pydict()["v"], strict=True)
    assert all(oracle.same(row, column) for row, column in pairs)


@pytest.mark.parametrize("sql_type", OBJECTS)
def test_a_parameter_comes_back_as_itself(link: Connection, sql_type: str) -> None:
    sql = f"SELECT $1::{sql_type} AS v"

    @generated
    @given(OBJECTS[sql_type])
    def run(value: Any) -> None:
        came_back = link.fetchval(sql, value)
        assert oracle.same(came_back, value), came_back
        (in_column,) = link.fetch_columns(sql, value).to_pydict()["v"]
        if isinstance(value, bytes) and sql_type == '"char"':
            value = char_text(value)
        assert oracle.same(in_column, value), in_column

    run()


@generated
@given(st.lists(strategies.JSON, min_size=1, max_size=5))
def test_jsonb_is_the_servers_own_text(link: Connection, values: list[Any]) -> None:
    for value in values:
        text = strategies.json_text(value)
        (row,) = link.fetch("SELECT $1::jsonb AS v, $1::jsonb::text AS t", text)
        assert row["v"] == row["t"]


@generated
@given(st.lists(strategies.TIMESTAMPTZ, min_size=1, max_size=5))
def test_moments_are_the_same_in_every_zone(link: Connection, moments: list[datetime]) -> None:
    for moment in moments:
        came_back = link.fetchval("SELECT $1::timestamptz", moment)
        assert came_back == moment
        assert came_back.tzinfo is UTC


@generated
@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_numerics_keep_value_and_scale(link: Connection, number: Decimal) -> None:
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    if not -16_383 <= exponent <= 100_000:
        return
    (row,) = link.fetch("SELECT $1::numeric AS v, $1::numeric::text AS t", number)
    assert row["v"] == number
    assert str(row["v"].as_tuple()) == str(Decimal(row["t"]).as_tuple())


@generated
@given(st.integers(-2_440_588, 2_145_042_905))
def test_a_day_is_the_servers_day(link: Connection, days: int) -> None:
    sql = "SELECT '1970-01-01'::date + $1::int4 AS v"
    table = oracle.arrow_table(link.fetch_columns(sql, days))
    assert oracle.raw(table["v"]) == [days]
    if 1 <= days + 719_163 <= date.max.toordinal():
        assert link.fetchval(sql, days) == date.fromordinal(days + 719_163)
