"""The proxy's faults, tested with libpq as the client."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.support.fault_proxy import FaultProxy
from tests.support.faults import BREAKING, NEUTRAL, Chunks, Fault, Kind, Message, Way, corrupted

if TYPE_CHECKING:
    from collections.abc import Iterator

OPTIONS = "?sslmode=disable&gssencmode=disable"
READY = b"Z\0\0\0\5I"


@pytest.fixture
def proxy(dsn: str) -> Iterator[FaultProxy]:
    with FaultProxy(dsn) as proxy:
        yield proxy


@pytest.mark.parametrize("chunks", Chunks)
def test_what_is_said_arrives_and_is_written_down(proxy: FaultProxy, chunks: Chunks) -> None:
    with (
        proxy.door(chunks) as door,
        psycopg.connect(door.dsn + OPTIONS, autocommit=True) as connection,
    ):
        door.arm()
        assert connection.execute("SELECT 1").fetchone() == (1,)
        assert door.said == {Way.CLIENT: ["Q"], Way.SERVER: ["T", "D", "C", "Z"]}


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind in BREAKING])
def test_a_connection_ends_at_its_message(proxy: FaultProxy, kind: Kind) -> None:
    # psycopg's own block would commit, as libpq may not have noticed the lost connection yet.
    with (
        proxy.door() as door,
        closing(psycopg.connect(door.dsn + OPTIONS, autocommit=True)) as connection,
    ):
        door.arm(Fault(kind, Way.SERVER, 5))
        assert connection.execute("SELECT 1").fetchone() == (1,)
        assert not door.has_struck
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 2")
        assert door.has_struck


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind in NEUTRAL])
def test_what_comes_late_comes(proxy: FaultProxy, kind: Kind) -> None:
    with proxy.door() as door, psycopg.connect(door.dsn + OPTIONS) as connection:
        door.arm(Fault(kind, Way.SERVER, 0))
        assert connection.execute("SELECT 1").fetchone() == (1,)
        assert door.has_struck


def test_a_row_comes_twice(proxy: FaultProxy) -> None:
    with proxy.door() as door, psycopg.connect(door.dsn + OPTIONS, autocommit=True) as connection:
        door.arm(Fault(Kind.DUPLICATE, Way.SERVER, 1))
        assert connection.execute("SELECT 1").fetchall() == [(1,), (1,)]


def test_what_becomes_of_the_bytes() -> None:
    ready = Message(READY)
    made = {kind: corrupted(ready, Fault(kind, Way.SERVER, 0)) for kind in Kind}
    assert made[Kind.DROP] == b""
    assert made[Kind.TRUNCATE] == READY[:-1]
    assert made[Kind.DUPLICATE] == READY * 2
    assert made[Kind.LENGTH_MORE] == b"Z\0\0\0\6I"
    assert made[Kind.LENGTH_ZERO] == b"Z\0\0\0\0I"
    assert made[Kind.TAG_OTHER] == b"C\0\0\0\5I"
    assert made[Kind.BODY_LAST] == b"Z\0\0\0\5\xb6"
    unchanged = {kind for kind, data in made.items() if data is None}
    late = {Kind.DUPLICATE_LATE, Kind.SILENCE, Kind.STALL}
    assert unchanged == NEUTRAL | BREAKING | late
    record = Message(b"\x17\3\3\0\2ab", is_record=True)
    assert record.with_length(1) == b"\x17\3\3\0\3ab"
