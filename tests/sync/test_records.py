# Generated from tests/async/test_records.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Records: access by index, slice and name; equal to tuples; no work for the garbage collector."""

from __future__ import annotations

import copy
import gc
import operator
import pickle
import sys
import weakref
from typing import Any

import pytest

import colonnade
from colonnade import _core
from colonnade.errors import InterfaceError

QUERY = "SELECT 1 AS a, 'two' AS b, NULL::int AS c"


def test_values_by_index_slice_and_name(connection: colonnade.sync.Connection) -> None:
    row: Any = connection.fetchrow(QUERY)
    assert isinstance(row, colonnade.Record)
    assert (row[0], row[1], row[2], row[-1], row[-3]) == (1, "two", None, None, 1)
    assert (row["a"], row["b"], row["c"]) == (1, "two", None)
    assert row[1:] == ("two", None)
    assert row[::-2] == (None, 1)
    assert len(row) == 3


@pytest.mark.parametrize("index", [3, -4, 1 << 70])
def test_an_index_out_of_range(connection: colonnade.sync.Connection, index: int) -> None:
    row: Any = connection.fetchrow(QUERY)
    with pytest.raises(IndexError):
        row[index]


@pytest.mark.parametrize("key", ["d", 1.0, b"a", None, (1,), (1, 2)], ids=repr)
def test_what_is_no_key(connection: colonnade.sync.Connection, key: object) -> None:
    row: Any = connection.fetchrow(QUERY)
    with pytest.raises(KeyError) as caught:
        row[key]
    assert caught.value.args == (key,)
    assert key not in row
    assert row.get(key, 7) == 7


def test_what_cannot_be_hashed_is_no_key(connection: colonnade.sync.Connection) -> None:
    row: Any = connection.fetchrow(QUERY)
    assert ["a"] not in row
    assert row.get(["a"]) is None
    with pytest.raises(KeyError):
        row[["a"]]


def test_indices_of_other_types(connection: colonnade.sync.Connection) -> None:
    class Two:
        def __index__(self) -> int:
            return 2

    row: Any = connection.fetchrow("SELECT 1 AS a, 2 AS b, 3 AS c")
    assert row[Two()] == 3
    assert row[True] == 2


def test_a_record_does_not_change(connection: colonnade.sync.Connection) -> None:
    row: Any = connection.fetchrow(QUERY)
    with pytest.raises(TypeError, match="does not support item assignment"):
        row[0] = 1
    with pytest.raises(TypeError, match="item deletion"):
        del row["a"]
    with pytest.raises(AttributeError):
        row.a = 1
    with pytest.raises(AttributeError):
        _ = row.a
    with pytest.raises(TypeError):
        weakref.ref(row)


def test_as_a_mapping(connection: colonnade.sync.Connection) -> None:
    row: Any = connection.fetchrow(QUERY)
    assert list(row.keys()) == ["a", "b", "c"]
    assert list(row.values()) == [1, "two", None]
    assert list(row.items()) == [("a", 1), ("b", "two"), ("c", None)]
    assert dict(row) == dict(row.items()) == {"a": 1, "b": "two", "c": None}
    assert row.get("b") == "two"
    assert row.get("c", 5) is None
    assert row.get("d") is None
    assert row.get("d", 5) == 5
    assert "a" in row
    assert "d" not in row
    assert 1 not in row
    assert dict(**row) == {"a": 1, "b": "two", "c": None}
    with pytest.raises(TypeError, match=r"Record.get\(\) expected 1 or 2 arguments, got 0"):
        row.get()
    with pytest.raises(TypeError, match="takes no keyword arguments"):
        row.get("d", default=5)


def test_iterators(connection: colonnade.sync.Connection) -> None:
    row: Any = connection.fetchrow(QUERY)
    iterators = [iter(row), row.keys(), row.values(), row.items()]
    assert [operator.length_hint(iterator) for iterator in iterators] == [3, 3, 3, 3]
    for iterator in iterators:
        assert iter(iterator) is iterator
        next(iterator)
        assert operator.length_hint(iterator) == 2
        assert len(list(iterator)) == 2
        assert operator.length_hint(iterator) == 0
        assert next(iterator, "end") == "end"
    with pytest.raises(TypeError, match="cannot create"):
        type(iterators[0])()


def test_as_a_sequence(connection: colonnade.sync.Connection) -> None:
    row: Any = connection.fetchrow(QUERY)
    assert list(row) == [1, "two", None]
    first, *others = row
    assert (first, others) == (1, ["two", None])
    assert tuple(row) == (1, "two", None)
    assert list(reversed(row)) == [None, "two", 1]
    with pytest.raises(TypeError):
        operator.add(row, (1,))


def test_comparisons(connection: colonnade.sync.Connection) -> None:
    one, two = connection.fetch("VALUES (1, 'a'), (1, 'b')")
    assert one == (1, "a")
    pair: object = (1, "a")
    assert pair == one
    assert one != two
    assert one != [1, "a"]
    assert one < two
    assert two > one
    assert one <= (1, "a")
    assert two >= (1,)
    assert sorted([two, one]) == [one, two]
    with pytest.raises(TypeError):
        _ = one < 1
    assert hash(one) == hash((1, "a"))
    by_row: dict[Any, str] = {one: "x"}
    assert by_row[1, "a"] == "x"
    assert one != (1,)
    assert one > (1,)
    assert one < (1, "a", None)
    assert not one < one  # noqa: PLR0124 - a comparison with itself is the point
    with pytest.raises(TypeError, match="unhashable"):
        hash(connection.fetchrow("SELECT ARRAY[1]"))
    with pytest.raises(TypeError, match="'<' not supported between instances of 'str' and 'int'"):
        _ = one < (1, 2)


def test_repr(connection: colonnade.sync.Connection) -> None:
    row: Any = connection.fetchrow(QUERY)
    assert repr(row) == "<Record a=1 b='two' c=None>"
    assert repr(connection.fetchrow("SELECT")) == "<Record>"


def test_of_equal_names_the_last_is_found(connection: colonnade.sync.Connection) -> None:
    row: Any = connection.fetchrow("SELECT 1 AS a, 2 AS a, 3")
    assert row["a"] == 2
    assert row["?column?"] == 3
    assert row[:2] == (1, 2)
    assert list(row.keys()) == ["a", "a", "?column?"]


def test_names_of_any_text(connection: colonnade.sync.Connection) -> None:
    row: Any = connection.fetchrow('SELECT 1 AS "größe 大", 2 AS "%"')
    assert row["größe 大"] == 1
    assert row["%"] == 2


def test_records_are_not_seen_by_the_garbage_collector(
    connection: colonnade.sync.Connection,
) -> None:
    rows = connection.fetch("SELECT i, i::text, i * 1.5 FROM generate_series(1, 1000) i")
    assert len(rows) == 1000
    assert not any(gc.is_tracked(row) for row in rows)


def test_records_are_not_counted_as_new_objects(connection: colonnade.sync.Connection) -> None:
    """Counted, they would trigger collections over all objects during a large fetch.

    Decimals are counted from Python 3.13 on.
    """
    sql = "SELECT i, i::text, i * 1.5::float8 FROM generate_series(1, 5000) i"
    connection.fetch(sql)
    gc.collect()
    gc.disable()
    try:
        rows = connection.fetch(sql)
        assert len(rows) == 5000
        assert gc.get_count()[0] < 2000
    finally:
        gc.enable()


def test_a_pass_over_records_of_every_kind(connection: colonnade.sync.Connection) -> None:
    """Some records have the collector's header and some have none; a collection handles both."""
    sql = "SELECT i, i::text FROM generate_series(1, 100) i"
    arrays = "SELECT i, ARRAY[i] FROM generate_series(1, 100) i"
    classes = (colonnade.Record, Named, Slim)
    held = [connection.fetch(sql, record_class=of) for of in classes]
    held += [connection.fetch(arrays, record_class=of) for of in classes]
    gc.collect()
    gc.freeze()
    gc.unfreeze()
    gc.collect()
    for rows in held:
        assert [row[0] for row in rows] == list(range(1, 101))
        assert {gc.is_tracked(row) for row in rows} == {gc.is_tracked(rows[0])}
        assert not gc.is_finalized(rows[0])
        assert sys.getsizeof(rows[0]) >= sys.getsizeof(())
        for row in rows:
            gc.get_referents(row)
    assert [gc.is_tracked(rows[0]) for rows in held] == [False, True, False, True, True, True]


def test_a_record_keeps_its_class(connection: colonnade.sync.Connection) -> None:
    """Records of different classes have different memory layouts."""
    plain: Any = connection.fetchrow(QUERY)
    slim: Any = connection.fetchrow(QUERY, record_class=Slim)
    for row, other in ((plain, Slim), (slim, colonnade.Record)):
        with pytest.raises(TypeError, match="__class__ assignment only supported for"):
            row.__class__ = other


def test_records_that_can_be_part_of_a_cycle_are_seen(
    connection: colonnade.sync.Connection,
) -> None:
    row: Any = connection.fetchrow("SELECT ARRAY[1] AS list, 'x' AS text")
    assert gc.is_tracked(row)
    assert row["list"] in gc.get_referents(row)
    row["list"].append(row)
    assert repr(row) == "<Record list=[1, <Record list=[...] text='x'>] text='x'>"
    row["list"].clear()


def test_a_cycle_through_a_record_is_found() -> None:
    row = _core.restore_record(colonnade.Record, ("list", "text"), ([Watched()], "x"))
    row["list"].append(row)
    watch = weakref.ref(row["list"][0])
    del row
    gc.collect()
    assert watch() is None


class Watched:
    """An object with weak references, to see when it is freed."""


class Named(colonnade.Record):
    """Values as attributes."""

    extra: int

    def __getattr__(self, name: str) -> object:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Slim(colonnade.Record):
    """A class without a `__dict__`."""

    __slots__ = ()


def test_a_class_of_ones_own(connection: colonnade.sync.Connection) -> None:
    row: Any = connection.fetchrow(QUERY, record_class=Named)
    assert type(row) is Named
    assert (row.a, row.b, row.c) == (1, "two", None)
    assert not hasattr(row, "d")
    assert repr(row) == "<Named a=1 b='two' c=None>"
    assert row == (1, "two", None) == connection.fetchrow(QUERY)
    row.extra = 5
    assert row.extra == 5
    assert gc.is_tracked(row)
    rows = connection.fetch("SELECT generate_series(1, 1000) AS a", record_class=Slim)
    assert {type(row) for row in rows} == {Slim}
    assert sum(row["a"] for row in rows) == 500_500
    assert not any(gc.is_tracked(row) for row in rows)
    assert type(connection.fetchrow(QUERY)) is colonnade.Record
    assert type(connection.fetchrow(QUERY, record_class=None)) is colonnade.Record


class OwnInit(colonnade.Record):
    """Not made as records are."""

    def __init__(self) -> None:
        """Never called."""


class OwnNew(colonnade.Record):
    """Not made as records are."""

    def __new__(cls) -> OwnNew:  # noqa: PYI034 - the point is that it is there
        """Never called."""
        raise AssertionError


class Heir(OwnNew):
    """A class that inherits a redefined construction."""


@pytest.mark.parametrize("record_class", [OwnInit, OwnNew, Heir])
def test_a_class_that_makes_its_instances_otherwise(
    connection: colonnade.sync.Connection, record_class: type[colonnade.Record]
) -> None:
    with pytest.raises(InterfaceError, match="must not redefine __new__ or __init__"):
        connection.fetch(QUERY, record_class=record_class)
    assert connection.fetchval("SELECT 1") == 1


@pytest.mark.parametrize("record_class", [list, 3, "Record"])
def test_a_class_that_is_no_record(
    connection: colonnade.sync.Connection, record_class: Any
) -> None:
    told = "record_class is expected to be a subclass of colonnade.Record, or tuple, got "
    with pytest.raises(InterfaceError, match=told):
        connection.fetchrow(QUERY, record_class=record_class)
    with pytest.raises(InterfaceError, match=told):
        _core.check_record_class(record_class)


def test_records_come_from_a_server() -> None:
    for record_class in (colonnade.Record, Named, Slim):
        with pytest.raises(TypeError, match=r"cannot create '.*' instances"):
            record_class()
    with pytest.raises(TypeError):
        object.__new__(colonnade.Record)
    with pytest.raises(TypeError, match="immutable"):
        colonnade.Record.get = None  # type: ignore[method-assign, assignment]
    assert colonnade.Record.__module__ == "colonnade"


@pytest.mark.parametrize("record_class", [colonnade.Record, Named, Slim])
def test_copies(
    connection: colonnade.sync.Connection, record_class: type[colonnade.Record]
) -> None:
    row: Any = connection.fetchrow("SELECT 1 AS a, ARRAY[2] AS b", record_class=record_class)
    by_pickle = [
        pickle.loads(pickle.dumps(row, protocol))  # noqa: S301 - its own
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    ]
    for other in [copy.copy(row), copy.deepcopy(row), *by_pickle]:
        assert type(other) is record_class
        assert other == row
        assert list(other.keys()) == ["a", "b"]
    assert copy.copy(row)["b"] is row["b"]
    assert copy.deepcopy(row)["b"] is not row["b"]


def test_a_copy_has_what_was_added(connection: colonnade.sync.Connection) -> None:
    row: Any = connection.fetchrow(QUERY, record_class=Named)
    row.extra = 5
    assert copy.copy(row).extra == 5
    copied = copy.deepcopy(connection.fetchrow(QUERY))
    assert not gc.is_tracked(copied)


@pytest.mark.parametrize(
    "parts",
    [
        (colonnade.Record, ("a",), ()),
        (colonnade.Record, (), (1,)),
        (colonnade.Record, (1,), (1,)),
        (tuple, ("a",), (1,)),
        (OwnNew, ("a",), (1,)),
        (colonnade.Record, ["a"], (1,)),
    ],
)
def test_what_is_no_record_is_not_restored(parts: Any) -> None:
    with pytest.raises((InterfaceError, TypeError)):
        _core.restore_record(*parts)


def test_what_a_record_holds_is_let_go(connection: colonnade.sync.Connection) -> None:
    value = object()
    before = sys.getrefcount(value)
    for record_class in (colonnade.Record, Named, Slim):
        row = _core.restore_record(record_class, ("a", "b"), (value, 1))
        assert sys.getrefcount(value) == before + 1
        used = [
            row["a"],
            row[0],
            row[:],
            list(row),
            list(row.items()),
            row.get("a"),
            copy.copy(row),
        ]
        used += [hash(row), repr(row), row == (value, 1), row < (value, 2), next(row.values())]
        del used
        assert sys.getrefcount(value) == before + 1
        del row
        assert sys.getrefcount(value) == before
    classes = sys.getrefcount(colonnade.Record)
    names = sys.getrefcount(Slim)
    for _ in range(3):
        connection.fetch("SELECT generate_series(1, 100) AS a", record_class=Slim)
        connection.fetch("SELECT generate_series(1, 100) AS a")
    connection.execute("SELECT 1")
    assert abs(sys.getrefcount(colonnade.Record) - classes) < 10
    assert abs(sys.getrefcount(Slim) - names) < 10


def test_a_record_is_one_block(connection: colonnade.sync.Connection) -> None:
    three = sys.getsizeof(connection.fetchrow(QUERY))
    five = sys.getsizeof(connection.fetchrow("SELECT 1, 2, 3, 4, 5"))
    pointer = sys.getsizeof((1, 2)) - sys.getsizeof((1,))
    assert five - three == 2 * pointer
    assert three <= sys.getsizeof((1, 2, 3)) + 2 * pointer


def test_fetch_fetchrow_fetchval(connection: colonnade.sync.Connection) -> None:
    query = "SELECT i, -i AS minus FROM generate_series(1, 3) i"
    assert connection.fetch(query) == [(1, -1), (2, -2), (3, -3)]
    assert connection.fetchrow(query) == (1, -1)
    assert connection.fetchval(query) == 1
    assert connection.fetchval(query, column=1) == -1
    assert connection.fetchval(query, column="minus") == -1
    with pytest.raises(IndexError):
        connection.fetchval(query, column=2)
    with pytest.raises(KeyError):
        connection.fetchval(query, column="plus")
    assert connection.fetchval("SELECT 1") == 1


def test_without_rows(connection: colonnade.sync.Connection) -> None:
    nothing = "SELECT 1 WHERE false"
    assert connection.fetch(nothing) == []
    assert connection.fetchrow(nothing) is None
    assert connection.fetchval(nothing) is None
    assert connection.fetch("CREATE TEMPORARY TABLE nothing ()") == []
    assert connection.fetch("") == []


def test_a_row_of_no_columns(connection: colonnade.sync.Connection) -> None:
    assert connection.fetch("SELECT FROM generate_series(1, 3)") == [(), (), ()]
    row: Any = connection.fetchrow("SELECT")
    assert len(row) == 0
    assert list(row.items()) == []


def test_many_columns(connection: colonnade.sync.Connection) -> None:
    count = 1600
    columns = ", ".join(f"{i} AS c{i}" for i in range(count))
    row: Any = connection.fetchrow(f"SELECT {columns}")
    assert row == tuple(range(count))
    assert row[f"c{count - 1}"] == count - 1


def test_a_command_with_rows_runs_to_its_end(connection: colonnade.sync.Connection) -> None:
    connection.execute("CREATE TEMPORARY TABLE numbers (i int)")
    insert = "INSERT INTO numbers SELECT generate_series(1, 3) RETURNING i"
    assert connection.fetchrow(insert) == (1,)
    assert connection.fetchval("SELECT count(*) FROM numbers") == 3


def test_a_large_value(connection: colonnade.sync.Connection) -> None:
    assert connection.fetchval("SELECT repeat('ä', 3000000)") == "ä" * 3_000_000


def test_a_closed_connection_says_so(connection: colonnade.sync.Connection) -> None:
    connection.close()
    for call in (connection.fetch, connection.fetchrow, connection.fetchval, connection.execute):
        with pytest.raises(InterfaceError, match="connection is closed"):
            call("SELECT 1")
    assert connection.is_closed()
    assert repr(connection).endswith("closed>")
