"""`infinity`: the treatment of values that Arrow's types cannot represent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from colonnade.errors import DecodeError, SchemaError
from samples import query
from tests.types import oracle

if TYPE_CHECKING:
    from colonnade.sync import Connection
    from colonnade.types import Infinity

# The smallest number of each is NumPy's NaT, so -infinity is the next one.
OUTERMOST = {
    "date": (2**31 - 1, -(2**31) + 1),
    "timestamp": (2**63 - 1, -(2**63) + 1),
    "timestamptz": (2**63 - 1, -(2**63) + 1),
}
FINITE = "2000-01-01"
TEXTS = ["infinity", FINITE, None, "-infinity"]


@pytest.mark.parametrize("sql_type", OUTERMOST)
def test_raise_is_the_default(link: Connection, sql_type: str) -> None:
    options: list[dict[str, Any]] = [{}, {"infinity": "raise"}]
    for option in options:
        for text, told in (("infinity", "infinity"), ("-infinity", "-infinity")):
            with pytest.raises(DecodeError, match=f"the value is {told}") as refused:
                link.fetch_columns(
                    query(sql_type), oracle.json_texts([FINITE, None, text]), **option
                )
            assert (refused.value.column, refused.value.row) == ("v", 2)
            assert refused.value.type_name == sql_type


@pytest.mark.parametrize("sql_type", OUTERMOST)
def test_null(link: Connection, sql_type: str) -> None:
    columns = link.fetch_columns(query(sql_type), oracle.json_texts(TEXTS), infinity="null")
    values = oracle.raw(oracle.arrow_table(columns)["v"])
    (finite,) = oracle.expected(sql_type, [oracle.arrow_table(columns)["t"][1].as_py()])
    assert values == [None, finite, None, None]
    assert np.isnat(columns["v"]).tolist() == [True, False, True, True]


@pytest.mark.parametrize("sql_type", OUTERMOST)
def test_saturate(link: Connection, sql_type: str) -> None:
    columns = link.fetch_columns(query(sql_type), oracle.json_texts(TEXTS), infinity="saturate")
    table = oracle.arrow_table(columns)
    most, least = OUTERMOST[sql_type]
    (finite,) = oracle.expected(sql_type, [table["t"][1].as_py()])
    assert oracle.raw(table["v"]) == [most, finite, None, least]
    assert np.isnat(columns["v"]).tolist() == [False, False, True, False]


# The server refuses infinities in a numeric with a precision.
@pytest.mark.parametrize(
    ("sql_type", "text"),
    [
        ("numeric", "NaN"),
        ("numeric", "Infinity"),
        ("numeric", "-Infinity"),
        ("numeric(10,2)", "NaN"),
        ("numeric(60,2)", "NaN"),
    ],
)
def test_numerics(link: Connection, sql_type: str, text: str) -> None:
    argument = oracle.json_texts(["1.25", text, None])
    refusing: tuple[Infinity, ...] = ("raise", "saturate")
    for infinity in refusing:
        with pytest.raises(DecodeError, match=f"Arrow's decimals have no {text}") as refused:
            link.fetch_columns(query(sql_type), argument, infinity=infinity)
        assert refused.value.row == 1
    columns = link.fetch_columns(query(sql_type), argument, infinity="null")
    assert [str(value) for value in columns.to_pydict()["v"]] == ["1.25", "None", "None"]
    all_of_them: tuple[Infinity, ...] = ("raise", "null", "saturate")
    for infinity in all_of_them:
        as_float = link.fetch_columns(
            query(sql_type), argument, infinity=infinity, schema={"v": "float64"}
        )
        value = as_float.to_pydict()["v"][1]
        assert oracle.same(value, float(text))


@pytest.mark.parametrize("sql_type", ["float4", "float8"])
@pytest.mark.parametrize("infinity", ["raise", "null", "saturate"])
def test_floats_are_themselves(link: Connection, sql_type: str, infinity: Infinity) -> None:
    argument = oracle.json_texts(["NaN", "Infinity", "-Infinity", None])
    columns = link.fetch_columns(query(sql_type), argument, infinity=infinity)
    assert repr(columns.to_pydict()["v"]) == "[nan, inf, -inf, None]"
    # NULL is NaN in NumPy, and the mask distinguishes the two.
    assert np.isnan(columns["v"]).tolist() == [True, False, False, True]
    assert columns.null_mask("v").tolist() == [False, False, False, True]


@pytest.mark.parametrize("infinity", ["raise", "null", "saturate"])
@pytest.mark.parametrize(
    ("sql_type", "text", "reason"),
    [
        ("time", "24:00:00", "no 24:00:00"),
        ("timestamp", "294276-12-31 23:59:59.999999", "do not fit into 64 bits"),
        ("timestamptz", "294276-12-31 23:59:59.999999", "do not fit into 64 bits"),
    ],
)
def test_finite_values_are_none_of_its_business(
    link: Connection, infinity: Infinity, sql_type: str, text: str, reason: str
) -> None:
    with pytest.raises(DecodeError, match=reason):
        link.fetch_columns(query(sql_type), oracle.json_texts([text]), infinity=infinity)


def test_an_unknown_policy(link: Connection) -> None:
    with pytest.raises(SchemaError, match='infinity is "ignore", which is none of "raise"'):
        link.fetch_columns("SELECT 1", infinity="ignore")  # type: ignore[arg-type]


def test_a_stream_has_the_policy_too(link: Connection) -> None:
    argument = oracle.json_texts([FINITE] * 5 + ["infinity"])
    with link.iter_columns(query("date"), argument, batch_rows=2) as stream:
        assert len(next(stream)) == 2
        with pytest.raises(DecodeError) as refused:
            list(stream)
    assert refused.value.row == 5
    with link.iter_columns(query("date"), argument, batch_rows=2, infinity="null") as stream:
        assert [batch.to_pydict()["v"].count(None) for batch in stream] == [0, 0, 1]


@pytest.mark.parametrize(
    ("sql_type", "text", "remedy"),
    [
        ("date", "infinity", 'infinity="null"'),
        ("timestamp", "-infinity", 'infinity="saturate"'),
        ("numeric", "NaN", 'schema={"v": "float64"}'),
        ("numeric", "1e100", 'schema={"v": "utf8"}'),
        ("time", "24:00:00", 'schema={"v": "int64"}'),
    ],
)
def test_the_message_names_the_option(
    link: Connection, sql_type: str, text: str, remedy: str
) -> None:
    with pytest.raises(DecodeError) as refused:
        link.fetch_columns(query(sql_type), oracle.json_texts([text]))
    assert remedy in str(refused.value)
