# Generated from tests/async/test_pool_clusters.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""A pool whose address is answered by another cluster: numbers of types mean others there."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

import colonnade
import colonnade.sync
from colonnade import embedded
from tests.support.forwarder import Forwarder

if TYPE_CHECKING:
    from collections.abc import Iterator

ENUM = "CREATE TYPE cluster_t AS ENUM ('x')"
ROW = "CREATE TYPE cluster_t AS (a int, b text)"
# A query of arrays, the rows' value, and the column's.
ARRAYS = {
    ENUM: ("SELECT ARRAY['x'::cluster_t]", ["x"], ["x"]),
    ROW: ("SELECT ARRAY[ROW(1, 'b')::cluster_t]", [(1, "b")], [{"a": 1, "b": "b"}]),
}


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, str]]:
    """The DSNs of two clusters, in which one number is an enum and an array of rows.

    Both are copies of one template, and have the same `system_identifier`.
    """
    with embedded.start() as one, embedded.start() as other:
        for server, script in ((one, ENUM), (other, ROW)):
            with colonnade.sync.connect(server.dsn) as link:
                link.execute(script)
        number = "SELECT '{}'::regtype::oid::int8"
        with colonnade.sync.connect(one.dsn) as link:
            meant = link.fetchval(number.format("cluster_t"))
        with colonnade.sync.connect(other.dsn) as link:
            assert link.fetchval(number.format("cluster_t[]")) == meant
        yield {ENUM: one.dsn, ROW: other.dsn}


@pytest.mark.parametrize("order", [(ENUM, ROW), (ROW, ENUM)], ids=["enum first", "row first"])
def test_another_cluster_answers(servers: dict[str, str], order: tuple[str, str]) -> None:
    url = urlsplit(servers[ENUM])
    with Forwarder() as forwarder:
        forwarder.lead_to(servers[order[0]])
        dsn = f"postgresql://{url.username}@127.0.0.1:{forwarder.port}{url.path}"
        with colonnade.sync.create_pool(dsn, min_size=1, max_size=2) as pool:
            for script in (*order, *order):
                forwarder.lead_to(servers[script])
                pool.expire_connections()
                query, value, column = ARRAYS[script]
                assert pool.fetchval(query) == value
                table = (pool.fetch_columns(query)).to_arrow()
                assert table.column(0).to_pylist() == [column]
                assert pool.fetchval(f"SELECT ({query})") == value


def test_who_the_server_is_costs_no_round_trip(dsn: str) -> None:
    """The types are looked up once for all connections."""
    query = "SELECT 'ok'::cluster_mood"
    with colonnade.sync.connect(dsn) as setup:
        setup.execute("DROP TYPE IF EXISTS cluster_mood")
        setup.execute("CREATE TYPE cluster_mood AS ENUM ('ok')")
        with (
            colonnade.sync.create_pool(dsn, min_size=1, max_size=2) as pool,
            pool.acquire() as one,
            pool.acquire() as other,
        ):
            assert one.fetchval(query) == "ok"
            session = other.conversation.session
            with other.transaction():
                before = session.exchanges
                assert other.fetchval(query) == "ok"
                # One to prepare and one to run: none to look up, and none to ask who it is.
                assert session.exchanges - before == 2
        setup.execute("DROP TYPE cluster_mood")
