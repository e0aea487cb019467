# Generated from tests/async/test_traced.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""The private names that asyncpg's tracing tools replace and read exist and are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import colonnade
from colonnade._driver._sync import connect_address

if TYPE_CHECKING:
    import pytest


class Traced(colonnade.sync.Connection):
    """Records the calls."""

    seen: list[tuple[str, str, Any]]

    def _execute(self, query: str, args: Any, *rest: Any, **options: Any) -> Any:
        self.__dict__.setdefault("seen", []).append(("_execute", query, args))
        return super()._execute(query, args, *rest, **options)

    def _executemany(self, query: str, args: Any, *rest: Any) -> None:
        self.__dict__.setdefault("seen", []).append(("_executemany", query, args))
        super()._executemany(query, args, *rest)


def test_every_query_in_rows_passes_by(dsn: str) -> None:
    with colonnade.sync.connect(dsn, connection_class=Traced) as connection:
        assert isinstance(connection, Traced)
        connection.execute("CREATE TEMP TABLE traced (n int)")
        assert connection.execute("INSERT INTO traced VALUES ($1)", 1) == "INSERT 0 1"
        connection.executemany("INSERT INTO traced VALUES ($1)", [(2,), (3,)])
        assert connection.fetch("SELECT n FROM traced WHERE n > $1", 1) == [(2,), (3,)]
        assert connection.fetchrow("SELECT 1 AS n") == (1,)
        assert connection.fetchval("SELECT 2 AS n") == 2
        assert connection.seen == [
            ("_execute", "INSERT INTO traced VALUES ($1)", (1,)),
            ("_executemany", "INSERT INTO traced VALUES ($1)", [(2,), (3,)]),
            ("_execute", "SELECT n FROM traced WHERE n > $1", (1,)),
            ("_execute", "SELECT 1 AS n", ()),
            ("_execute", "SELECT 2 AS n", ()),
        ]


def test_each_attempt_to_connect_passes_by(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = connect_address._connect_addr
    seen: list[Any] = []

    def traced(*args: Any, **options: Any) -> Any:
        seen.append((*options["addr"], options["params"].user, options["params"].database))
        return real(*args, **options)

    monkeypatch.setattr(connect_address, "_connect_addr", traced)
    with colonnade.sync.connect(dsn) as connection:
        params = connection._params
        place: Any = connection._addr
        assert seen == [(*place, params.user, params.database)]


def test_where_a_query_goes(connection: colonnade.sync.Connection) -> None:
    place: Any = connection._addr
    host, port = place
    assert isinstance(host, str)
    assert isinstance(port, int)
    assert connection._params.user
    assert connection._params.database == connection.fetchval("SELECT current_database()")
