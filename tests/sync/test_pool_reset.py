# Generated from tests/async/test_pool_reset.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""The reset of a released connection, and its cost."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import InterfaceError, InterfaceWarning, errors

if TYPE_CHECKING:
    from tests.support.proxy import Proxy

_RESET = (
    "RESET SESSION AUTHORIZATION;\nRESET ROLE;\nSELECT pg_catalog.pg_advisory_unlock_all();\n"
    "CLOSE ALL;\nUNLISTEN *;\nRESET ALL;\nDISCARD TEMP;"
)
_LOCKS = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711"


def _one(dsn: str, **options: Any) -> colonnade.sync.Pool:
    return colonnade.sync.create_pool(dsn, min_size=1, max_size=1, **options)


def _plain(proxy: Proxy) -> str:
    return f"{proxy.dsn}?sslmode=disable"


def test_locks_cursors_and_settings_are_gone(dsn: str) -> None:
    with _one(dsn) as pool:
        with pool.acquire() as connection:
            assert connection.get_reset_query() == _RESET
            connection.execute("SELECT pg_advisory_lock(4711)")
            connection.execute("DECLARE c CURSOR WITH HOLD FOR SELECT 1; LISTEN x")
            connection.execute("SELECT set_config('colonnade.secret', 'x', false)")
        with pool.acquire() as connection:
            assert connection.fetchval("SELECT count(*) FROM pg_cursors WHERE name = 'c'") == 0
            assert connection.fetchval("SELECT count(*) FROM pg_listening_channels()") == 0
            assert not connection.fetchval("SHOW colonnade.secret")
        assert pool.fetchval(_LOCKS) == 0


def test_a_lock_is_free_although_nobody_comes(
    dsn: str, connection: colonnade.sync.Connection
) -> None:
    with _one(dsn) as pool:
        pool.execute("SELECT pg_advisory_lock(4711)")
        give_up = time.monotonic() + 10
        while connection.fetchval(_LOCKS):
            assert time.monotonic() < give_up


def test_a_release_is_not_a_round_trip(proxy: Proxy) -> None:
    with _one(_plain(proxy)) as pool:
        assert pool.fetchval("SELECT 1") == 1
        connection = pool.acquire()
        connection.fetchval("SELECT 1")
        proxy.hold_after(0)
        pool.release(connection, timeout=5)
        assert pool.get_idle_size() == 1
        proxy.release()
        assert pool.fetchval("SELECT 2") == 2


def test_leftover_listeners_are_told_of(dsn: str) -> None:
    with _one(dsn) as pool:
        connection = pool.acquire()
        connection.add_listener("channel", print)
        connection.add_log_listener(print)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            pool.release(connection)
        texts = [str(one.message) for one in caught if one.category is InterfaceWarning]
        assert len(texts) == 2
        assert "is being released to the pool but has 1 active notification listener" in texts[0]
        assert "is being released to the pool but has 1 active log listener" in texts[1]


def test_an_open_stream_is_ended(dsn: str) -> None:
    with _one(dsn) as pool:
        with pool.acquire() as connection:
            stream = connection.iter_columns("SELECT generate_series(1, 1000000)", batch_rows=10)
            next(stream)
        with pool.acquire() as connection:
            assert connection.fetchval("SELECT 1") == 1
            with pytest.raises(InterfaceError, match="stream"):
                next(stream)


def test_a_stream_that_is_begun_after_the_release_is_refused(dsn: str) -> None:
    with _one(dsn) as pool:
        with pool.acquire() as connection:
            stream = connection.iter_columns("SELECT 1")
        with pool.acquire() as connection:
            with pytest.raises(InterfaceError, match="released back to the pool"):
                next(stream)
            assert connection.fetchval("SELECT 1") == 1


def test_a_changed_setting_is_back_before_the_next_one_looks(dsn: str) -> None:
    with _one(dsn) as pool:
        with pool.acquire() as connection:
            usual = connection.get_settings()["TimeZone"]
            connection.execute("SET TimeZone TO 'Asia/Tokyo'; SET client_encoding TO latin1")
        with pool.acquire() as connection:
            assert connection.get_settings()["TimeZone"] == usual
            assert connection.fetchval("SELECT 'ä'") == "ä"


class _NoReset(colonnade.sync.Connection):
    def get_reset_query(self) -> str:
        return ""


class _WrongReset(colonnade.sync.Connection):
    def get_reset_query(self) -> str:
        return "SELEKT"


class _MoreReset(colonnade.sync.Connection):
    def get_reset_query(self) -> str:
        return super().get_reset_query() + "SELECT set_config('colonnade.was_reset', 'yes', false)"


def test_an_empty_reset_query_resets_nothing(proxy: Proxy) -> None:
    with _one(_plain(proxy), connection_class=_NoReset) as pool:
        pool.execute("SET search_path TO nowhere")
        assert pool.fetchval("SHOW search_path") == "nowhere"
        # The pool's question about the cluster, and the SET.
        assert proxy.first.tags.count("Q") == 2


def test_what_a_user_resets_with_is_waited_for(dsn: str) -> None:
    with _one(dsn, connection_class=_MoreReset) as pool:
        pool.fetchval("SELECT 1")
        assert pool.fetchval("SHOW colonnade.was_reset") == "yes"
    with _one(dsn, connection_class=_WrongReset) as pool:
        with pytest.raises(errors.PostgresSyntaxError):
            pool.fetchval("SELECT 1")
        assert pool.get_size() == 0 or pool.get_stats().closed == {"reset": 1}


def test_a_connection_resets_itself(connection: colonnade.sync.Connection) -> None:
    connection.execute("SELECT pg_advisory_lock(4711); SET search_path TO nowhere")
    connection.reset()
    assert connection.fetchval(_LOCKS) == 0
    assert connection.fetchval("SHOW search_path") != "nowhere"


def test_arguments_that_do_not_fit_behind_a_reset(dsn: str) -> None:
    with _one(dsn) as pool:
        pid = pool.fetchval("SELECT pg_backend_pid() FROM (SELECT $1::int) AS x", 1)
        for _ in range(20):
            with pytest.raises(errors.DataError):
                pool.fetchval("SELECT pg_backend_pid() FROM (SELECT $1::int) AS x", "one")
        assert pool.fetchval("SELECT pg_backend_pid()") == pid


def test_the_answer_to_a_reset_is_in_no_query_s_timing(dsn: str) -> None:
    query = "SELECT 'x' AS one"
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool:
        sizes = []
        for _ in range(4):
            with pool.acquire() as connection:
                connection.fetch(query)
                timing = connection.last_timing
                assert timing is not None
                sizes.append(timing.bytes)
                connection.execute("SET application_name = 'touched'")
        # The first call also describes the statement.
        assert sizes[1] == sizes[2] == sizes[3]
    with colonnade.sync.connect(dsn) as alone:
        alone.fetch(query)
        alone.fetch(query)
        timing = alone.last_timing
        assert timing is not None
        assert timing.bytes == sizes[3]
