"""The values of `Pool.gather`: queries, expected times, the order, the results."""

from __future__ import annotations

import datetime as dt
import pickle
import zoneinfo
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from colonnade import Gathered, InterfaceError, Query, QueryCosts, Range
from colonnade._driver.gather.plan import BUNDLE_QUERIES_MAX, SHORT_S, Job, Plan
from colonnade.errors import DeadlineError


def _jobs(*expected: float | None, shared: bool = False) -> list[Job]:
    queries = [Query.value("SELECT 1", cost=cost, shared=shared) for cost in expected]
    return [Job(str(number), query, QueryCosts()) for number, query in enumerate(queries)]


def _taken(plan: Plan) -> list[list[str]]:
    bundles = []
    while bundle := plan.take():
        bundles.append([job.name for job in bundle])
    return bundles


def test_the_longest_comes_first_and_the_unknown_before() -> None:
    jobs = _jobs(1, None, 3, 2, None)
    assert _taken(Plan(jobs, 2, "longest-first")) == [["1"], ["4"], ["2"], ["3"], ["0"]]
    assert _taken(Plan(jobs, 2, "given")) == [["0"], ["1"], ["2"], ["3"], ["4"]]


def test_the_unknown_stay_in_the_given_order() -> None:
    assert _taken(Plan(_jobs(*[None] * 5), 2, "longest-first")) == [[n] for n in "01234"]


def test_short_queries_share_flights_evenly() -> None:
    bundles = _taken(Plan(_jobs(*[SHORT_S] * 10), 4, "longest-first"))
    assert [len(bundle) for bundle in bundles] == [3, 2, 2, 1, 1, 1]
    bundles = _taken(Plan(_jobs(*[0.0] * 100), 1, "longest-first"))
    assert max(map(len, bundles)) == BUNDLE_QUERIES_MAX
    assert [name for bundle in bundles for name in bundle] == [str(n) for n in range(100)]


def test_long_and_shared_queries_fly_alone() -> None:
    assert _taken(Plan(_jobs(*[SHORT_S * 1.1] * 3), 1, "given")) == [["0"], ["1"], ["2"]]
    assert _taken(Plan(_jobs(0, 0, shared=True), 1, "given")) == [["0"], ["1"]]
    assert _taken(Plan(_jobs(0, 0, 1, 0), 1, "given")) == [["0", "1"], ["2"], ["3"]]


def test_expected_times_are_learned() -> None:
    costs = QueryCosts()
    for count in range(4):
        costs.note("a", float(count))
        assert costs.expected("a") is None
    costs.note("a", 4.0)
    assert costs.expected("a") == pytest.approx(2.0)
    for _ in range(50):
        costs.note("a", 10.0)
    assert costs.expected("a") == pytest.approx(10.0, rel=0.01)
    assert costs.expected("b") is None


def test_expected_times_are_bounded() -> None:
    costs = QueryCosts(statements_max=3, samples_min=1)
    for name in "abc":
        costs.note(name, 1.0)
    costs.note("a", 1.0)
    costs.note("d" * 10_000, 1.0)
    assert len(costs) == 3
    assert costs.expected("b") is None
    assert costs.expected("a") == costs.expected("d" * 10_000) == 1.0
    assert costs.expected("d" * 9_999) is None
    assert repr(costs) == "<QueryCosts of 3 statements>"


@pytest.mark.parametrize(
    ("options", "error"),
    [({"statements_max": 0}, ValueError), ({"samples_min": 1.5}, TypeError)],
)
def test_bounds_are_checked(options: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=next(iter(options))):
        QueryCosts(**options)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((1,), {}, TypeError, "sql must be a str, not int"),
        (("x",), {"cost": "1"}, TypeError, "cost must be a number, not str"),
        (("x",), {"cost": -1}, ValueError, "cost must be from 0 to 10\\^9 seconds, not -1"),
        (
            ("x",),
            {"cost": float("nan")},
            ValueError,
            "cost must be from 0 to 10\\^9 seconds, not nan",
        ),
        (("x",), {"shared": "yes"}, TypeError, "shared must be True or False, not str"),
    ],
)
def test_queries_are_checked(
    arguments: Any, options: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Query.value(*arguments, **options)


def test_a_query_has_one_of_four_forms() -> None:
    with pytest.raises(ValueError, match='kind must be "columns", "rows", "row" or "value"'):
        Query("SELECT 1", kind="dict")  # type: ignore[arg-type]


def test_the_repr_of_a_query_shows_no_argument() -> None:
    assert repr(Query.columns("SELECT 1")) == "<Query.columns 'SELECT 1'>"
    query = Query.row("SELECT $1, $2", "secret", 1)
    assert repr(query) == "<Query.row 'SELECT $1, $2' with 2 arguments>"


def test_keys_tell_values_apart() -> None:
    same = Query.value("x", 1, shared=True).key("a")
    assert same == Query.value("x", 1, shared=True).key("b")
    assert same != Query.value("x", True, shared=True).key("a")
    assert same != Query.value("x", 1.0, shared=True).key("a")
    assert same != Query.rows("x", 1, shared=True).key("a")
    plain = Query.columns("x", 1, shared=True).key("a")
    assert plain != Query.columns("x", 1, schema={"a": "int8"}, shared=True).key("a")
    with pytest.raises(InterfaceError, match="'ids' is shared"):
        Query.value("x", np.arange(3), shared=True).key("ids")


def test_results_are_a_mapping_with_errors() -> None:
    error = DeadlineError("b", "running", 0.5)
    gathered = Gathered(("a", "b"), {"a": [1, 2]}, {"b": error})
    assert list(gathered) == ["a", "b"]
    assert len(gathered) == 2
    assert "b" in gathered
    assert "c" not in gathered
    assert gathered["a"] == [1, 2]
    with pytest.raises(DeadlineError):
        gathered["b"]
    with pytest.raises(KeyError, match=r"no query has the name .*c.*; there are: a, b"):
        gathered["c"]
    with pytest.raises(TypeError):
        gathered.errors["a"] = error  # type: ignore[index]
    assert repr(gathered) == (
        "<Gathered: 1 of 2 queries>\n"
        "  a  2 rows\n"
        "  b  DeadlineError: the query 'b' was still running after 0.5 s"
    )
    assert repr(Gathered((), {}, {})) == "<Gathered: 0 queries>"


def test_hostile_names_are_shown_harmlessly() -> None:
    names = ("a\x1b[2J\nb", "\u202egnp", "x" * 10_000, "über")
    failed: dict[str, Exception] = {names[1]: ValueError("a\x1b[2J")}
    text = repr(Gathered(names, dict.fromkeys(names, 1), failed))
    assert all(line.isprintable() for line in text.split("\n"))
    assert len(text.split("\n")) == 5
    assert len(text) < 1000
    assert "\n  über " in text
    assert r"ValueError: 'a\x1b[2J'" in text


def test_a_deadline_error_can_be_pickled() -> None:
    data = pickle.dumps(DeadlineError("a", "arriving", 2.0))
    error = pickle.loads(data)  # noqa: S301 - its own bytes
    assert (error.name, error.phase, error.seconds) == ("a", "arriving", 2.0)
    assert str(error).startswith("the query 'a' had begun to answer")


_PARIS = zoneinfo.ZoneInfo("Europe/Paris")
_AUTUMN = dt.datetime(2024, 10, 27, 2, 30, tzinfo=_PARIS)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.0, -0.0),
        (Decimal("1.0"), Decimal("1.00")),
        (1, True),
        ((1,), (True,)),
        ((1,), (Decimal("1.00"),)),
        (
            dt.time(12, tzinfo=dt.UTC),
            dt.time(13, tzinfo=dt.timezone(dt.timedelta(hours=1))),
        ),
        (_AUTUMN, _AUTUMN.replace(fold=1)),
        (Range(1, 2), Range(Decimal("1.0"), 2)),
    ],
)
def test_equal_arguments_that_are_sent_differently_are_not_shared(one: Any, other: Any) -> None:
    assert one == other
    assert Query.value("SELECT $1", one).key("a") != Query.value("SELECT $1", other).key("b")


@pytest.mark.parametrize(
    "value",
    [None, True, 1, 0.5, float("nan"), "x", b"x", Decimal("1.0"), _AUTUMN, ((1, None), 2.5)],
)
def test_the_same_argument_is_shared(value: Any) -> None:
    again = pickle.loads(pickle.dumps(value))  # noqa: S301 - an equal object, not the same one
    keys = [Query.value("SELECT $1", each, shared=True).key("a") for each in (value, again)]
    assert len(set(keys)) == 1


def test_of_an_unknown_class_only_the_object_itself_is_the_same() -> None:
    one, other = Range(1, 2), Range(1, 2)
    assert Query.value("SELECT $1", one).key("a") == Query.value("SELECT $1", one).key("b")
    assert Query.value("SELECT $1", one).key("a") != Query.value("SELECT $1", other).key("b")
