"""Counts that the protocol has no place for are the caller's fault; the connection stays usable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from colonnade.sync import Connection

MOST = 65_535


def query(count: int) -> str:
    values = ",".join(f"(${n}::int)" for n in range(1, count + 1))
    return f"SELECT count(*) FROM (VALUES {values}) AS v (n)"


@pytest.fixture(params=[100, 0], ids=["kept", "not kept"])
def connection(dsn: str, request: pytest.FixtureRequest) -> Iterator[Connection]:
    with colonnade.sync.connect(dsn, statement_cache_size=request.param) as opened:
        yield opened


ROADS: dict[str, Callable[[Connection, str, range], Any]] = {
    "fetch": lambda link, sql, args: link.fetch(sql, *args),
    "fetchval": lambda link, sql, args: link.fetchval(sql, *args),
    "execute": lambda link, sql, args: link.execute(sql, *args),
    "columns": lambda link, sql, args: link.fetch_columns(sql, *args),
    "prepare": lambda link, sql, _: link.prepare(sql),
    "executemany": lambda link, sql, args: link.executemany(sql, [args]),
}


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("count", [MOST + 1, MOST + 9])
def test_too_many_parameters(connection: Connection, road: str, count: int) -> None:
    for _ in range(2):
        with pytest.raises(InterfaceError, match=f"{count} parameters.*at most {MOST}"):
            ROADS[road](connection, query(count), range(count))
        assert connection.fetchval("SELECT 1") == 1
    assert connection.fetchval("SELECT count(*) FROM pg_prepared_statements") <= 2


def test_as_many_as_there_can_be(connection: Connection) -> None:
    assert connection.fetchval(query(MOST), *range(MOST)) == MOST


def test_too_few_arguments_for_too_many_parameters(connection: Connection) -> None:
    with pytest.raises(InterfaceError, match=f"at most {MOST}"):
        connection.fetchval(query(MOST + 1))
    assert connection.fetchval("SELECT 1") == 1
