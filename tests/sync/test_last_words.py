# Generated from tests/async/test_last_words.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""The server's reason for ending an idle connection, over a Unix socket and over TCP."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

import colonnade
from colonnade import dbapi, embedded

if TYPE_CHECKING:
    from collections.abc import Iterator

REASON = "terminating connection due to administrator command"
ENDS = "SELECT pg_terminate_backend($1, 5000)"


@pytest.fixture(scope="module", params=["socket", "tcp"])
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    with embedded.start(tcp=request.param == "tcp") as server:
        yield server.dsn if request.param == "tcp" else server.socket_dsn


@pytest.mark.parametrize("call", ["fetch", "execute", "fetch_columns", "copy_from_query"])
def test_the_next_call_tells_it(place: str, call: str) -> None:
    connection = colonnade.sync.connect(place)
    with colonnade.sync.connect(place) as other:
        # Nothing is read between the server's end and the next call.
        assert other.fetchval(ENDS, connection.get_server_pid())
    words = {"output": _nowhere} if call == "copy_from_query" else {}
    with pytest.raises((colonnade.PostgresError, colonnade.InterfaceError)) as caught:
        getattr(connection, call)("SELECT 1", **words)
    told = [str(caught.value), str(caught.value.__cause__)]
    assert any(REASON in text for text in told), told
    assert connection.is_closed()


def _nowhere(_: bytes) -> None:
    """Take nothing: the copy fails before."""


def test_dbapi_has_the_servers_sqlstate(place: str) -> None:
    theirs, ours = psycopg.connect(place), dbapi.connect(place)
    pids = [theirs.info.backend_pid, ours.execute("SELECT pg_backend_pid()").fetchone()[0]]
    theirs.rollback()
    ours.rollback()
    with dbapi.connect(place, autocommit=True) as other:
        for pid in pids:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    with pytest.raises(psycopg.OperationalError) as expected:
        theirs.execute("SELECT 1")
    with pytest.raises(dbapi.OperationalError) as caught:
        ours.execute("SELECT 1")
    assert caught.value.sqlstate == expected.value.sqlstate == "57P01"
    assert REASON in str(caught.value)
