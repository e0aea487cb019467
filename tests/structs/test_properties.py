"""Random structs with random values: through Python, Arrow, the server and its functions."""

from __future__ import annotations

import math
from types import GenericAlias
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from colonnade import sync
from colonnade.structs import Struct, struct

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=12)
SIZES = (8, 16, 32, 64)
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "float64": st.floats(),
    "float32": st.floats(width=32),
    "float16": st.floats(width=16),
    "str": TEXT,
    "bytes": st.binary(max_size=12),
    "ascii[5]": st.text(st.characters(min_codepoint=1, max_codepoint=127), max_size=5),
    "S5": st.binary(max_size=5).filter(lambda data: not data.endswith(b"\0")),
    "U5": TEXT.map(lambda text: text[:5]),
    "complex128": st.complex_numbers(allow_nan=False),
    "datetime64[us]": st.datetimes().map(lambda at: np.datetime64(at, "us")),
    "timedelta64[s]": st.integers(-(10**9), 10**9).map(lambda n: np.timedelta64(n, "s")),
    **{f"int{size}": st.integers(-(2 ** (size - 1)), 2 ** (size - 1) - 1) for size in SIZES},
    **{f"uint{size}": st.integers(0, 2**size - 1) for size in SIZES},
}


@st.composite
def structs(draw: st.DrawFn) -> tuple[Any, list[dict[str, Any]]]:
    annotations: dict[str, Any] = {}
    values: dict[str, st.SearchStrategy[Any]] = {}
    names = draw(
        st.lists(st.text("abcdefé_", min_size=1, max_size=6), min_size=1, max_size=6, unique=True)
    )
    for name in names:
        kind = draw(st.sampled_from(sorted(KINDS)))
        form = draw(st.sampled_from(["plain", "optional", "list", "list of optional"]))
        plain: Any = {"str": str, "bytes": bytes}.get(kind, kind)
        field = f"f_{name}"

        annotations[field] = {
            "plain": plain,
            "optional": f"{kind} | None" if plain is kind else plain | None,
            "list": GenericAlias(list, (plain,)),
            "list of optional": GenericAlias(
                list, (f"{kind} | None" if plain is kind else plain | None,)
            ),
        }[form]
        value = KINDS[kind]
        values[field] = {
            "plain": value,
            "optional": st.none() | value,
            "list": st.lists(value, max_size=5),
            "list of optional": st.lists(st.none() | value, max_size=5),
        }[form]
    made: Any = struct(type("Made", (Struct,), {"__annotations__": annotations}))
    return made, draw(st.lists(st.fixed_dictionaries(values), min_size=1, max_size=4))


def same(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return bool(one == other)


@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(structs())
def test_values_come_back(made: tuple[Any, list[dict[str, Any]]]) -> None:
    kind, rows = made
    for row in rows:
        found = kind.from_bytes(bytes(kind(**row))).to_dict()
        assert all(same(found[name], value) for name, value in row.items()), (found, row)


@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(structs())
def test_columns_and_structs_are_the_same(made: tuple[Any, list[dict[str, Any]]]) -> None:
    kind, rows = made
    instances = [kind(**row) for row in rows]
    columns = kind.unpack([*instances, None])
    packed = kind.pack(kind.unpack(instances))["data"]
    assert [bytes(each) for each in packed] == [bytes(each) for each in instances]
    assert columns.num_rows == len(rows) + 1


@pytest.fixture(scope="module")
def connection(dsn: str) -> Iterator[sync.Connection]:
    with sync.connect(dsn) as connection:
        yield connection


@settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
@given(made=structs())
def test_functions_give_the_same_values(
    connection: sync.Connection, made: tuple[Any, list[dict[str, Any]]]
) -> None:
    kind, rows = made
    sql = kind.create_sql(schema="pg_temp", prefix="p_")
    names = [name for name in rows[0] if f'"p_{name}"' in sql]
    if not names:
        return
    connection.execute(sql)
    calls = ", ".join(f'pg_temp."p_{name}"(data)' for name in names)
    for row in rows:
        (found,) = connection.fetch(
            f"SELECT {calls} FROM (SELECT $1::bytea AS data) AS t", kind(**row)
        )
        for name, value in zip(names, found, strict=True):
            wanted = row[name]
            if isinstance(wanted, np.datetime64 | np.timedelta64):
                wanted = wanted.astype(f"{wanted.dtype.name.split('[')[0]}[us]").item()
            assert same(wanted, value), (name, wanted, value)
    connection.execute("DROP SCHEMA IF EXISTS nothing")
    for name in names:
        connection.execute(f'DROP FUNCTION pg_temp."p_{name}"(bytea)')
