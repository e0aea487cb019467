# Generated from tests/async/test_not_now.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""A server that accepts no connections because it starts up, recovers or shuts down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade import embedded
from colonnade.errors import CannotConnectNowError
from tests.support.servers import shut_down, start_again, starting_up

if TYPE_CHECKING:
    from collections.abc import Iterator

_SECONDS_MAX = 30.0
# The wording differs between versions of the server.
_STARTING = "starting up|not (yet )?accepting connections"


@pytest.fixture(scope="module")
def coming() -> Iterator[embedded.Server]:
    """A server that these tests stop and start."""
    with embedded.start(tcp=True) as server:
        yield server


def is_refused(dsn: str, words: str) -> None:
    """Check that every way to connect fails with the reason."""
    for mode in ("disable", "prefer", "allow"):
        with pytest.raises(CannotConnectNowError, match=words) as caught:
            colonnade.sync.connect(f"{dsn}?sslmode={mode}", timeout=_SECONDS_MAX)
        assert caught.value.sqlstate == "57P03"
    with pytest.raises(CannotConnectNowError, match=words):
        with colonnade.sync.create_pool(dsn, min_size=1, max_size=2):
            pass


def is_passed_over(first: embedded.Server, second: str) -> None:
    """Check that the next host of the list is tried."""
    port = second.rpartition(":")[2]
    hosts = f"127.0.0.1:{first.port},127.0.0.1:{port}"
    with colonnade.sync.connect(f"postgresql://postgres@{hosts}") as connection:
        assert connection.fetchval("SHOW port") == port.partition("/")[0]


def test_while_it_starts_up(coming: embedded.Server, dsn: str) -> None:
    with colonnade.sync.create_pool(coming.dsn, min_size=1, max_size=2) as pool:
        assert pool.fetchval("SELECT 1") == 1
        with starting_up(coming):
            is_refused(coming.dsn, _STARTING)
            is_passed_over(coming, dsn)
            with pytest.raises(CannotConnectNowError):
                pool.fetchval("SELECT 2", timeout=_SECONDS_MAX)
        assert pool.fetchval("SELECT 3", timeout=_SECONDS_MAX) == 3
        assert pool.fetchval("SELECT pg_is_in_recovery()") is False


def test_while_it_recovers_from_a_crash(coming: embedded.Server) -> None:
    with colonnade.sync.create_pool(coming.dsn, min_size=0, max_size=2) as pool:
        pool.execute("SET synchronous_commit = on; CREATE TABLE IF NOT EXISTS kept ()")
        with starting_up(coming, "immediate"):
            is_refused(coming.dsn, _STARTING)
        assert pool.fetch("SELECT * FROM kept", timeout=_SECONDS_MAX) == []


def test_while_it_waits_for_its_last_client(coming: embedded.Server, dsn: str) -> None:
    with colonnade.sync.connect(coming.dsn) as last:
        shut_down(coming, "smart")
        is_refused(coming.dsn, "shutting down")
        is_passed_over(coming, dsn)
        assert last.fetchval("SELECT 1") == 1
    start_again(coming)
    with colonnade.sync.connect(coming.dsn, timeout=_SECONDS_MAX) as connection:
        assert connection.fetchval("SELECT 1") == 1
