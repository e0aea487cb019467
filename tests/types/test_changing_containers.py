"""A container that changes while it is encoded is the caller's error, and nothing is sent."""

from __future__ import annotations

import collections.abc
import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from colonnade import _core
from colonnade.errors import EncodeError
from colonnade.types import Range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from colonnade.sync import Connection


class Number:
    """An integer that runs a function when its value is read."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act

    def __index__(self) -> int:
        self.act()
        return 7

    def __float__(self) -> float:
        self.act()
        return 7.0


@pytest.fixture(autouse=True)
def table(link: Connection) -> Iterator[None]:
    link.execute("CREATE TEMPORARY TABLE changing (a int, b int, c int)")
    yield
    # The connection is usable, and nothing was stored.
    assert link.fetchval("SELECT count(*) FROM changing") == 0
    link.execute("DROP TABLE changing")


CHANGES: dict[str, Callable[[list[Any]], Any]] = {
    "cleared": lambda values: values.clear(),
    "shorter": lambda values: values.pop(),
    "longer": lambda values: values.append(1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_lists(link: Connection, change: str) -> None:
    for type_name, nest in (("int4[]", False), ("float8[]", False), ("int4[]", True)):
        values: list[Any] = []
        values += [Number(functools.partial(CHANGES[change], values)), 2, 3]
        with pytest.raises(EncodeError, match="changed while it was encoded"):
            link.fetchval(f"SELECT $1::{type_name}", [values] if nest else values)


def test_object_arrays_hold_their_length(link: Connection) -> None:
    values = np.empty(3, object)

    def shrink() -> None:
        values.resize(1, refcheck=False)

    values[:] = [Number(shrink), 2, 3]
    with pytest.raises(EncodeError, match="changed while it was encoded"):
        link.fetchval("SELECT $1::int4[]", values)


@pytest.mark.parametrize("change", CHANGES)
def test_rows_of_many(link: Connection, change: str) -> None:
    row: list[Any] = []
    row += [Number(lambda: CHANGES[change](row)), 2, 3]
    with pytest.raises(EncodeError, match="changed while it was encoded"):
        link.copy_records_to_table("changing", records=[row])
    # The driver encodes a copy of the row.
    row[:] = [Number(lambda: CHANGES[change](row)), 2, 3]
    link.executemany("INSERT INTO changing VALUES ($1, $2, $3)", [row])
    assert [tuple(row) for row in link.fetch("DELETE FROM changing RETURNING *")] == [(7, 2, 3)]


def test_records_that_are_mappings(link: Connection) -> None:
    row: dict[str, Any] = {}
    row.update(a=Number(row.clear), b=2, c=3)
    with pytest.raises(EncodeError, match="no value for column"):
        link.copy_records_to_table("changing", records=[row])


def test_columns_of_objects(link: Connection) -> None:
    values: list[Any] = []
    values += [Number(lambda: values.__delitem__(slice(5_000, None))), *range(9_999)]
    with pytest.raises(EncodeError, match="changed while it was encoded"):
        link.copy_columns_to_table("changing", {"a": values})


def test_composites_are_taken_as_they_were(link: Connection) -> None:
    fields: dict[str, Any] = {}
    fields.update(a=Number(fields.clear), b=2, c=3)
    assert tuple(link.fetchval("SELECT $1::pg_temp.changing", fields)) == (7, 2, 3)
    values: list[Any] = []
    values += [Number(values.clear), 2, 3]
    assert tuple(link.fetchval("SELECT $1::pg_temp.changing", values)) == (7, 2, 3)


def test_ranges_and_figures_are_taken_as_they_were(link: Connection) -> None:
    bounds: list[Any] = []
    bounds += [Number(bounds.clear), 9]
    assert link.fetchval("SELECT $1::int4range", bounds) == Range(7, 10)
    ranges: list[Any] = []
    ranges += [(Number(lambda: ranges.append((1, 2))), 9), (20, 21)]
    assert len(link.fetchval("SELECT $1::int4multirange", ranges)) == 2
    points: list[Any] = []
    points += [(Number(lambda: points.append((0, 0))), 0), (1, 1)]
    assert len(link.fetchval("SELECT $1::polygon", points).points) == 2


class Shrinking(collections.abc.Mapping[str, str]):
    """A mapping that loses a key during iteration."""

    def __init__(self) -> None:
        self.values_left = {"a": "1", "b": "2"}

    def __len__(self) -> int:
        return len(self.values_left)

    def __iter__(self) -> Iterator[str]:
        for key in self.values_left:
            self.values_left.pop("b", None)
            yield key

    def __getitem__(self, key: str) -> str:
        return self.values_left[key]


def test_mappings_for_hstore(link: Connection) -> None:
    link.execute("CREATE EXTENSION IF NOT EXISTS hstore")
    with pytest.raises(EncodeError, match="dictionary changed size during iteration") as caught:
        link.fetchval("SELECT $1::hstore", Shrinking())
    # A second attempt would find a mapping that no longer changes.
    assert isinstance(caught.value.__cause__, _core.ChangedError)
    assert link.fetchval("SELECT ($1::hstore)->'a'", {"a": "1"}) == "1"


@pytest.mark.parametrize("act", ["clear", "extend"])
def test_buffers_are_taken_as_they_were(link: Connection, act: str) -> None:
    taken = bytearray(b"x" * 100)
    change = taken.clear if act == "clear" else functools.partial(taken.extend, b"y" * 100)
    # The first argument is encoded before the second one's methods run.
    row = link.fetchrow("SELECT length($1::bytea), $2::int4", taken, Number(change))
    assert row is not None
    assert tuple(row) == (100, 7)


def test_a_buffer_that_is_released(link: Connection) -> None:
    taken = memoryview(bytearray(b"abc"))
    with pytest.raises(EncodeError, match=r"argument \$2 of type bytea"):
        link.fetchval("SELECT $1::int4, $2::bytea", Number(taken.release), taken)
    assert link.fetchval("SELECT 1") == 1


@pytest.mark.parametrize("form", ["text", "binary"])
def test_a_codec_that_changes_what_is_encoded(link: Connection, form: str) -> None:
    changed: list[Any] = []

    def encoder(value: int) -> Any:
        changed.clear()
        return str(value) if form == "text" else value.to_bytes(4, "big")

    def decoder(value: Any) -> int:
        return int(value) if form == "text" else int.from_bytes(value, "big")

    link.set_type_codec(
        "int4",
        schema="pg_catalog",
        encoder=encoder,
        decoder=decoder,
        format="text" if form == "text" else "binary",
    )
    try:
        changed[:] = [1, 2, 3]
        with pytest.raises(EncodeError, match="changed while it was encoded"):
            link.fetchval("SELECT $1::int4[]", changed)
        changed[:] = [1, 2, 3]
        with pytest.raises(EncodeError, match="changed while it was encoded"):
            link.copy_records_to_table("changing", records=[changed])
        # A set of arguments is copied before its first value is encoded.
        changed[:] = [1, 2, 3]
        link.executemany("INSERT INTO changing VALUES ($1, $2, $3)", [changed])
        rows = link.fetch("DELETE FROM changing RETURNING *")
        assert [tuple(row) for row in rows] == [(1, 2, 3)]
    finally:
        link.reset_type_codec("int4", schema="pg_catalog")
