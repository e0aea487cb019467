"""Groups and aggregates of every type are those of PostgreSQL's GROUP BY."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from colonnade.errors import AmbiguousFunctionError, UndefinedFunctionError
from tests.columns.every_type import EVERY
from tests.groups.tables import fetch, fill, moderate_texts_of, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.columns import Columns
    from colonnade.sync import Connection

every_type = pytest.mark.parametrize("sql_type", EVERY)

# Types that are sorted by their bytes.
TEXTUAL = {"text", "varchar", "bpchar", "name", "text[]"}

# Types whose order the server alone knows; sorting by them is refused.
UNSORTED = {
    *("aclitem", "cid", "cidr", "inet", "jsonb", "money", "timetz", "tsquery", "tsvector", "xid"),
    *("regclass", "regcollation", "regconfig", "regdictionary", "regnamespace", "regoper"),
    *("regoperator", "regproc", "regprocedure", "regrole", "regtype", "char", "oidvector"),
    *("int2vector", "every_deep"),
}


def is_unsorted(sql_type: str) -> bool:
    base = sql_type.partition("[")[0].strip('"')
    return base in UNSORTED or "range" in base or sql_type in {"every_mood[]", "every_deep[]"}


def groupable(link: Connection) -> bool:
    """Whether the server can group by k."""
    try:
        link.execute("select k from t group by k")
    except UndefinedFunctionError:
        return False
    return True


@every_type
def test_groups_and_their_sizes(link: Connection, sql_type: str) -> None:
    fill(link, sql_type)
    cols = table(link)
    if not groupable(link):
        with pytest.raises(TypeError, match='"k" cannot be a key'):
            cols.group_by("k")
        return
    want = link.fetch("select min(n), count(*) from t group by k order by 1")
    groups = cols.group_by("k")
    found = groups.aggregate(first=("n", "first"), rows="size")
    assert list(zip(found["first"], found["rows"], strict=True)) == [tuple(row) for row in want]
    some = "where k is distinct from null"
    want = link.fetch(f"select min(n), count(*) from t {some} group by k order by 1")
    found = cols.group_by("k", nulls="drop").aggregate(first=("n", "first"), rows="size")
    assert list(zip(found["first"], found["rows"], strict=True)) == [tuple(row) for row in want]


@every_type
def test_groups_of_two_keys(link: Connection, sql_type: str) -> None:
    fill(link, sql_type, seed=1)
    if not groupable(link):
        return
    cols = table(link)
    query = "select min(n), count(*) from t {} group by g, k order by 1"
    both = "where k is distinct from null and g is not null"
    for nulls, where in (("group", ""), ("drop", both)):
        want = [tuple(row) for row in link.fetch(query.format(where))]
        for names in (("g", "k"), ("k", "g")):
            groups = cols.group_by(*names, nulls=nulls)  # type: ignore[arg-type]
            found = groups.aggregate(first=("n", "first"), rows="size")
            assert list(zip(found["first"], found["rows"], strict=True)) == want


@every_type
def test_sorted_groups(link: Connection, sql_type: str) -> None:
    fill(link, sql_type, seed=2)
    if not groupable(link):
        return
    cols = table(link)
    if is_unsorted(sql_type):
        with pytest.raises(TypeError, match="use sort=False"):
            cols.group_by("k", sort=True)
        return
    found = cols.group_by("k", sort=True).min("n")["n"].tolist()
    collate = ' collate "C"' if sql_type in TEXTUAL else ""
    query = f"select min(n) from t group by k order by k{collate} nulls last"
    assert found == [row[0] for row in link.fetch(query)]
    found = cols.group_by("g", "k", sort=True).min("n")["n"].tolist()
    query = f"select min(n) from t group by g, k order by g nulls last, k{collate} nulls last"
    assert found == [row[0] for row in link.fetch(query)]


def canonical(value: Any) -> Any:
    """One object for values that are equal in PostgreSQL."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value
    if isinstance(value, pa.MonthDayNano):
        return (value.months * 30 + value.days) * 86_400 * 10**9 + value.nanoseconds
    if isinstance(value, dict):
        return tuple(map(canonical, value.values()))
    return list(map(canonical, value)) if isinstance(value, list) else value


def same(left: list[Any] | None, right: list[Any] | None) -> bool:
    return canonical(left) == canonical(right)  # type: ignore[no-any-return]


def values_of(cols: Columns, name: str) -> list[Any]:
    """Arrow's objects, and numbers for dates: they have no limits of Python's classes."""
    column = cols.to_arrow()[name]
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        column = column.cast(pa.int32() if pa.types.is_date(column.type) else pa.int64())
    values: list[Any] = column.to_pylist()
    return values


def by_server(link: Connection, expression: str) -> list[Any] | None:
    """The aggregate of v in each group of g, None if the server has none."""
    query = f"select g, {expression} as v from t group by g order by min(n)"
    try:
        return values_of(fetch(link, query), "v")
    except (AmbiguousFunctionError, UndefinedFunctionError):
        return None


@every_type
@pytest.mark.parametrize("kind", ["min", "max"])
def test_extremes(link: Connection, sql_type: str, kind: str) -> None:
    fill(link, sql_type, seed=3)
    groups = table(link).group_by("g")
    collate = ' collate "C"' if sql_type in TEXTUAL else ""
    want = by_server(link, f"{kind}(v{collate})")
    if is_unsorted(sql_type) or not groupable(link):
        with pytest.raises(TypeError, match=rf'no {kind} of "v": its type is .*, which has count'):
            getattr(groups, kind)("v")
        return
    found = values_of(getattr(groups, kind)("v"), "v")
    if want is not None:
        assert same(found, want)


@every_type
def test_number_of_values(link: Connection, sql_type: str) -> None:
    fill(link, sql_type, seed=4)
    groups = table(link).group_by("g")
    assert groups.count("v")["v"].tolist() == by_server(link, "count(v)")
    distinct = by_server(link, "count(distinct v)")
    if distinct is None and groupable(link):
        # xid and cid have no order, which count(distinct) needs.
        assert sql_type in {"xid", "cid"}
    elif distinct is None:
        with pytest.raises(TypeError, match='no nunique of "v"'):
            groups.nunique("v")
    else:
        assert groups.nunique("v")["v"].tolist() == distinct


@every_type
def test_first_and_last(link: Connection, sql_type: str) -> None:
    fill(link, sql_type, seed=5)
    cols = table(link)
    where = " filter (where v is distinct from null)"
    places = link.fetch(
        f"select min(n){where}, max(n){where}, min(n) from t group by g order by min(n)"
    )
    values = values_of(cols, "v")
    for kind, row in (("first", 0), ("last", 1)):
        found = values_of(getattr(cols.group_by("g"), kind)("v"), "v")
        want = [None if place[row] is None else values[place[row]] for place in places]
        assert same(found, want)


@pytest.mark.parametrize("sql_type", ["int2", "int4", "numeric(15,2)", "numeric(60,2)", "numeric"])
def test_exact_sums(link: Connection, sql_type: str) -> None:
    fill(link, sql_type, seed=6)
    assert values_of(table(link).group_by("g").sum("v"), "v") == by_server(link, "sum(v)")


def test_sums_of_intervals(link: Connection) -> None:
    fill(link, "interval", seed=6, pool=["1 month", "-40 days 25:00", "00:00:00.000001"])
    assert values_of(table(link).group_by("g").sum("v"), "v") == by_server(link, "sum(v)")


@pytest.mark.parametrize("sql_type", ["int2", "int4", "float4", "float8"])
def test_means(link: Connection, sql_type: str) -> None:
    fill(link, sql_type, seed=7, pool=moderate_texts_of(sql_type))
    found = values_of(table(link).group_by("g").mean("v"), "v")
    want = by_server(link, "avg(v::float8)")
    assert want is not None
    for mean, right in zip(found, want, strict=True):
        assert mean == pytest.approx(right, nan_ok=True)


@pytest.mark.parametrize("sql_type", ["numeric(15,2)", "numeric(60,2)"])
def test_means_of_decimals(link: Connection, sql_type: str) -> None:
    fill(link, sql_type, seed=7)
    found = values_of(table(link).group_by("g").mean("v"), "v")
    sums, counts = by_server(link, "sum(v)"), by_server(link, "count(v)")
    assert sums is not None
    assert counts is not None
    with localcontext() as context:
        context.prec = 90
        for mean, total, count in zip(found, sums, counts, strict=True):
            assert mean == (total / count).quantize(Decimal("1e-8"), ROUND_HALF_UP)


@pytest.mark.parametrize("sql_type", ["float4", "float8"])
def test_sums_of_floats(link: Connection, sql_type: str) -> None:
    fill(link, sql_type, seed=8)
    found = values_of(table(link).group_by("g").sum("v"), "v")
    rows = link.fetch("select g, v::float8 as v, n from t order by n")
    for key, total in zip(dict.fromkeys(row["g"] for row in rows), found, strict=True):
        values = [row["v"] for row in rows if row["g"] == key and row["v"] is not None]
        assert same([total], [sum(values)] if values else [None])


def _types_with(cols: Columns) -> Iterator[str]:
    return (field.type_name for field in cols.fields)


@every_type
def test_results_have_the_types_of_postgresql(link: Connection, sql_type: str) -> None:
    fill(link, sql_type, seed=9)
    cols = table(link)
    groups = cols.group_by("g")
    found = groups.aggregate(
        rows="size", values=("v", "count"), first=("v", "first"), last=("v", "last")
    )
    own = cols.fields[3].type_name
    assert list(_types_with(found)) == ["int4", "int8", "int8", own, own]
    assert found.fields[3].arrow_type == cols.fields[3].arrow_type
    sums = {"int2": "int8", "int4": "int8", "int8": "int8", "float4": "float8", "float8": "float8"}
    if sql_type in ("int2", "int4", "float4", "float8"):
        assert groups.sum("v").fields[1].type_name == sums[sql_type]
