"""Named parameters become numbers, and nothing else in a query changes."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from colonnade import InterfaceError, Named, named

# Text without parameters, which must stay unchanged.
VERBATIM = [
    "x::int",
    "x[1:n]",
    "x[f(y):n]",
    "x[y[1]:n]",
    'x["q":n]',
    "f(a := 1)",
    "':a'",
    "'it''s :a'",
    "E'\\':a'",
    "E'b' -- '\n '\\':a'",
    "$€$ :a $€$",
    '":a"',
    '"a"":b"',
    "$$ :a $$",
    "$tag$ :a $$ $tag$",
    "/* :a /* :b */ :c */",
    "-- :a\n",
    "a ? b",
    ": a",
    ":1",
    "%(a)s",
]


@pytest.mark.parametrize("text", VERBATIM)
def test_what_is_no_name_stays(text: str) -> None:
    made = Named(f"SELECT {text}")
    assert made.sql == f"SELECT {text}"
    assert made.names == ()


@given(st.lists(st.sampled_from([*VERBATIM, ":a", ":b", ":été", ":_x1"]), max_size=12))
def test_names_among_everything_else(parts: list[str]) -> None:
    numbers: dict[str, str] = {}
    expected = [
        numbers.setdefault(part, f"${len(numbers) + 1}") if part not in VERBATIM else part
        for part in parts
    ]
    made = Named(" , ".join(parts))
    assert made.sql == " , ".join(expected)
    assert [f":{name}" for name in made.names] == list(numbers)


def test_a_name_in_several_places_is_one_parameter() -> None:
    assert named("SELECT :b::int, :a, :b", a=1, b=2) == ("SELECT $1::int, $2, $1", 2, 1)
    assert named("x[:lo: :hi]", {"lo": 1, "hi": 2}) == ("x[$1: $2]", 1, 2)
    assert named(":query || :values", {"query": 1}, values=2) == ("$1 || $2", 1, 2)


def test_what_is_missing_or_too_much() -> None:
    with pytest.raises(InterfaceError, match="no value for :b; its parameters are :a, :b"):
        named("SELECT :a, :b", a=1)
    with pytest.raises(InterfaceError, match="does not use the value of 'c'"):
        named("SELECT :a, :b", a=1, b=2, c=3)
    with pytest.raises(InterfaceError, match="does not use the value of 'c'"):
        named("SELECT 1", c=3)
    with pytest.raises(InterfaceError, match=r"has both \$1 and :a"):
        named("SELECT :a, $1", a=1)
    with pytest.raises(InterfaceError, match=r"has \$1, and parameters with names look like :name"):
        Named("SELECT $1")


def test_many_rows() -> None:
    insert = Named("INSERT INTO t VALUES (:a, :b)")
    assert list(insert.rows([{"a": 1, "b": 2}, {"b": 4, "a": 3}])) == [(1, 2), (3, 4)]
    assert repr(insert) == "<Named 'INSERT INTO t VALUES (:a, :b)'>"
