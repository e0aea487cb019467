"""Objects that lie about their class: the driver's errors name the real class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Never

import pytest

import colonnade
from colonnade import sync
from colonnade._words.shown import class_name, shown
from colonnade.errors import EncodeError
from tests.security import unprintable
from tests.security.unprintable import OPTIONS, TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class AskedError(Exception):
    """An attribute of a class was read."""


class Metaclass(type):
    """The metaclass of classes that refuse every attribute, even their name."""

    def __getattribute__(cls, name: str) -> Never:
        raise AskedError(name)


class Silent(metaclass=Metaclass):
    """Refuses every attribute of its class."""


class Interrupted:
    """Ctrl-C strikes while its class is read."""

    @property
    def __class__(self) -> Any:
        raise KeyboardInterrupt

    @__class__.setter
    def __class__(self, value: object) -> None:
        raise AttributeError


class InterruptedAttributes:
    """Ctrl-C strikes while an attribute is read."""

    def __getattr__(self, name: str) -> Never:
        raise KeyboardInterrupt


# Python's abstract classes and protocols read the class, and its exception propagates unchanged.
ASKED_BY_PYTHON = {"source", "bytes", "sink", "con", "user", "records", "index", "sets"}


@pytest.fixture
def link(dsn: str) -> Iterator[sync.Connection]:
    with sync.connect(dsn) as connection:
        connection.execute("CREATE TEMPORARY TABLE unprintable (a int4 PRIMARY KEY, b int4[])")
        connection.execute("CREATE TYPE pg_temp.unprintable_pair AS (a int4, b text)")
        yield connection


def test_the_real_name_is_shown() -> None:
    silent = Silent()
    assert shown(silent) == f"an object of {__name__}.Silent"
    assert shown(Silent) == f"the class {__name__}.Silent"
    assert class_name(silent) == "Silent"


@pytest.mark.parametrize("kind", TYPES)
def test_a_parameter(kind: str, link: sync.Connection) -> None:
    name = f"pg_temp.{kind}" if kind.startswith("unprintable") else kind
    for given in (Silent(), [Silent()], (Silent(), None)):
        with pytest.raises(EncodeError, match=r"Silent|of length"):
            link.fetchval(f"SELECT $1::{name}", given)
    with pytest.raises(EncodeError, match=r"from .*Silent to int4"):
        link.copy_records_to_table("unprintable", records=[(Silent(), None)])
    records: Any = [Silent()]
    with pytest.raises(EncodeError, match=r"not .*Silent"):
        link.copy_records_to_table("unprintable", records=records)


def failure_of(call: Callable[[], object]) -> BaseException | None:
    try:
        call()
    except BaseException as error:  # noqa: BLE001 - every exception is checked below
        return error
    return None


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option(option: str, link: sync.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unprintable, "thing", Silent())
    monkeypatch.setattr(unprintable, "text", Silent())
    failure = failure_of(lambda: OPTIONS[option](link))
    if not isinstance(failure, AskedError):
        known = TypeError, ValueError, colonnade.InterfaceError, colonnade.PostgresError
        assert failure is None or isinstance(failure, known)
    else:
        assert option in ASKED_BY_PYTHON
    assert link.fetchval("SELECT 1") == 1


ROADS: dict[str, Callable[[sync.Connection, Any], object]] = {
    "a parameter": lambda c, it: c.fetchval("SELECT $1::int4", it),
    "an array": lambda c, it: c.fetchval("SELECT $1::int4[]", it),
    "a range": lambda c, it: c.fetchval("SELECT $1::int4range", it),
    "a text": lambda c, it: c.fetchval("SELECT $1::text", it),
    "a composite": lambda c, it: c.fetchval("SELECT $1::pg_temp.unprintable_pair", it),
    "a set of arguments": lambda c, it: c.executemany("SELECT $1::int4", [it]),
    "a record": lambda c, it: c.copy_records_to_table("unprintable", records=[it]),
    "a value": lambda c, it: c.copy_records_to_table("unprintable", records=[(it, None)]),
    "a source": lambda c, it: c.copy_columns_to_table("unprintable", it),
    "a column": lambda c, it: c.copy_columns_to_table("unprintable", {"a": it}),
    "an object": lambda c, it: c.copy_columns_to_table("unprintable", {"a": [it]}),
    "a new column": lambda c, it: c.copy_columns_to_table("made", {"a": [it]}, create=True),
}


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("kind", [Interrupted, InterruptedAttributes])
# Python reports a swallowed interrupt as unraisable.
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_comes_through(road: str, kind: type, link: sync.Connection) -> None:
    value = kind()
    failure = failure_of(lambda: ROADS[road](link, value))
    # Both outcomes are right: the class was read or it was not.
    assert isinstance(failure, KeyboardInterrupt) or (
        isinstance(failure, EncodeError) and kind.__name__ in str(failure)
    )
    assert link.fetchval("SELECT 1") == 1
