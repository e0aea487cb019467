"""NumPy's datetimes and durations without a unit: the same error in every way, and NaT is NULL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from colonnade.errors import EncodeError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade.sync import Connection

TABLE = "without_unit"
# From 2.5 on, NumPy itself refuses to create one without a unit.
NAT = np.array([np.iinfo("i8").min], "i8")
KINDS = {"date": "M8", "timestamp": "M8", "timestamptz": "M8", "interval": "m8", "time": "m8"}
ROADS: dict[str, Callable[[Connection, str, Any], object]] = {
    "a parameter": lambda c, kind, array: c.fetchval(f"SELECT $1::{kind}", array[0]),
    "an array": lambda c, kind, array: c.fetchval(f"SELECT $1::{kind}[]", array),
    "many": lambda c, kind, array: c.executemany(f"SELECT $1::{kind}", [(array[0],)]),
    "a column": lambda c, _, array: c.copy_columns_to_table(TABLE, {"a": array}),
    "a list": lambda c, _, array: c.copy_columns_to_table(TABLE, {"a": [array[0]]}),
    "a record": lambda c, _, array: c.copy_records_to_table(TABLE, records=[(array[0],)]),
}


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_unit_is_guessed(kind: str, road: str, link: Connection) -> None:
    link.execute(f"CREATE TEMPORARY TABLE {TABLE} (a {kind})")
    try:
        with pytest.raises(EncodeError, match="it has no unit of time: give it one"):
            ROADS[road](link, kind, np.array([0], "i8").view(KINDS[kind]))
        assert link.fetchval(f"SELECT count(*) FROM {TABLE}") == 0
        link.copy_columns_to_table(TABLE, {"a": NAT.view(KINDS[kind])})
        assert link.fetchval(f"SELECT count(*) FROM {TABLE} WHERE a IS NULL") == 1
    finally:
        link.execute(f"DROP TABLE {TABLE}")


@pytest.mark.parametrize("kind", ["M8", "m8"])
def test_no_table_is_made_of_it(kind: str, link: Connection) -> None:
    source = {"a": np.array([0], "i8").view(kind)}
    with pytest.raises(SchemaError, match="64 has no unit of time"):
        link.copy_columns_to_table(TABLE, source, create=True)
