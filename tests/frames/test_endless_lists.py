"""Nested lists as the values of a table's column."""

from __future__ import annotations

import decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from colonnade import write_table
from colonnade.errors import EncodeError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.sync import Connection


@pytest.fixture
def table(link: Connection) -> Iterator[str]:
    name = "endless_lists"
    link.execute(f"DROP TABLE IF EXISTS {name}")
    yield name
    link.execute(f"DROP TABLE IF EXISTS {name}")


def endless(kind: str) -> Any:
    """Lists that contain themselves, and very deeply nested lists."""
    if kind == "an array":
        array = np.empty(1, object)
        array[0] = array
        return array
    if kind == "a scalar":
        scalar = np.empty((), object)
        scalar[()] = scalar
        return scalar
    value: Any = []
    if kind == "a deep one":
        for _ in range(100_000):
            value = [value]
    elif kind == "a pair":
        value.append(([value],))
    else:
        value.append(value)
    return value


@pytest.mark.parametrize("kind", ["itself", "a pair", "a deep one", "an array", "a scalar"])
def test_lists_without_an_end(kind: str, link: Connection, table: str) -> None:
    value = endless(kind)
    objects = np.empty(3, object)
    objects[2] = value
    sources = {"a": [None, None, value]}, {"a": objects}, pd.DataFrame({"a": objects})
    for source in sources:
        with pytest.raises(SchemaError, match='"a" cannot be made: row 2 has lists in more than'):
            write_table(source, table, link)
        with pytest.raises(SchemaError, match='"a" cannot be made: row 2 has lists in more than'):
            link.copy_columns_to_table(table, source, create=True)
    link.execute(f"CREATE TABLE {table} (a int[])")
    with pytest.raises(EncodeError, match=r"6 dimensions at most|without dimensions"):
        write_table(sources[0], table, link, if_exists="append")
    with pytest.raises(EncodeError, match=r"a list of length 1|an object of|a numpy\.ndarray"):
        link.fetchval("SELECT $1::int[]", value)


def test_arrays_of_objects_are_seen_into(link: Connection, table: str) -> None:
    mixed = np.array([1, decimal.Decimal("1.5"), None], object)
    assert write_table({"a": [[1], mixed]}, table, link) == 2
    kind = link.fetchval(f"SELECT pg_typeof(a)::text FROM {table} LIMIT 1")
    assert kind == "numeric[]"
