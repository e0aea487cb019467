"""Generated values of every type, alone and within others; `test_every_type.py` has the edges."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from colonnade import _core
from samples import SAMPLES, Sample, base_type
from tests.types import literals
from tests.types.test_every_type import (
    OUTPUT_ONLY,
    PSEUDO_TYPES,
    TEXT_ONLY,
    TEXT_PARAMETERS,
    UNORDERED,
    VECTORS,
    array_reader,
    check,
    of_parts,
    reader,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from colonnade.sync import Connection

few = settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
NAMES = itertools.count(1)
#: Texts that have a row, a column and a parameter.
MADE = {sample.sql_type: sample.texts for sample in SAMPLES if sample.texts is not None}
# Names in the catalogs, and other types with a fixed vocabulary: only the fixed samples.
NOT_GENERATED = {name for name in TEXT_ONLY if name.startswith("reg")} | {
    *("aclitem", "jsonpath", "xml"),
}


@pytest.fixture
def made(link: Connection) -> Iterator[str]:
    link.execute("BEGIN")
    yield f"generated_{next(NAMES)}"
    link.execute("ROLLBACK")


def test_every_type_is_generated() -> None:
    known = {line.name for line in _core.TYPES} | VECTORS
    generated = {base_type(name).strip('"') for name in MADE}
    assert known - OUTPUT_ONLY - NOT_GENERATED - generated == set()


def checks(link: Connection, sql_type: str, made: str) -> Iterator[Callable[[Sample], None]]:
    """The checks of generated values, each a function of a sample."""
    base = base_type(sql_type)
    back = "" if base in TEXT_PARAMETERS - TEXT_ONLY else made
    yield lambda sample: check(link, sample, "v", reader(sample), sql_type)
    if base not in VECTORS:
        lists = f"ARRAY[v, NULL, v]::{base}[]"
        yield lambda sample: check(link, sample, lists, array_reader(sample), f"{base}[]")
    if base in PSEUDO_TYPES:
        return
    link.execute(f"CREATE TYPE {made} AS (a {sql_type}, b int4)")

    def pair(sample: Sample) -> None:
        read = of_parts(sample, literals.composite([("a", reader(sample)), ("b", int)]))
        check(link, sample, f"ROW(v, 7)::{made}", read, back)

    yield pair
    if base in UNORDERED:
        return
    link.execute(f"CREATE TYPE {made}_range AS RANGE (subtype = {base})")

    def bounds(sample: Sample) -> None:
        read = of_parts(sample, literals.range_of(reader(sample)))
        check(link, sample, f"{made}_range(v, v, '[]')", read, back and f"{back}_range")

    yield bounds


@pytest.mark.parametrize("sql_type", MADE)
def test_generated_values(link: Connection, sql_type: str, made: str) -> None:
    asked = list(checks(link, sql_type, made))

    @few
    @given(st.lists(MADE[sql_type], min_size=1, max_size=6))
    def run(texts: list[str]) -> None:
        sample = Sample(sql_type, "", tuple(texts))
        for ask in asked:
            ask(sample)

    run()
