"""The serverless function in AWS's runtime client: warm, thawed, with a connection that died."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from colonnade import sync
from tests.examples.lambda_runtime import Runtime
from tests.support import pooler
from tests.support.proxy import Proxy

pytest.importorskip("awslambdaric", reason="AWS's runtime client is in the group examples")

PORTUGAL = {"queryStringParameters": {"country": "PT"}}
SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'function'"


@pytest.fixture
def orders(dsn: str) -> Iterator[sync.Connection]:
    with sync.connect(dsn) as connection:
        connection.execute(
            "CREATE TABLE orders AS SELECT date '2030-01-01' + (i % 3) AS day,"
            " (ARRAY['PT', 'DE'])[i % 2 + 1] AS country, i * 0.5 AS amount"
            " FROM generate_series(1, 12) AS i"
        )
        yield connection
        connection.execute("DROP TABLE orders")


def named(dsn: str) -> str:
    return f"{dsn}{'&' if '?' in dsn else '?'}application_name=function"


def days(answer: Any) -> list[str]:
    assert answer["statusCode"] == 200, answer
    body = json.loads(answer["body"])
    assert body["orders"] == [2, 2, 2]
    assert body["amount"] == ["9.0", "7.0", "5.0"]
    found: list[str] = body["day"]
    return found


# A freeze after which the function tries its connection first.
LONG = 1.1
EXPECTED = ["2030-01-01", "2030-01-02", "2030-01-03"]


def test_calls_share_a_connection(dsn: str, orders: sync.Connection) -> None:
    with Runtime(DATABASE_URL=named(dsn)) as runtime:
        for _ in range(3):
            assert days(runtime.call(PORTUGAL)) == EXPECTED
            runtime.freeze()
        assert orders.fetchval(SESSIONS) == 1
        assert runtime.call({})["statusCode"] == 400


def test_a_session_that_ended_in_the_freeze_is_replaced(dsn: str, orders: sync.Connection) -> None:
    with Runtime(DATABASE_URL=named(dsn)) as runtime:
        assert days(runtime.call(PORTUGAL)) == EXPECTED
        runtime.freeze(LONG)
        orders.execute(SESSIONS.replace("count(*)", "pg_terminate_backend(pid, 10000)"))
        assert orders.fetchval(SESSIONS) == 0
        assert days(runtime.call(PORTUGAL)) == EXPECTED
        assert orders.fetchval(SESSIONS) == 1


@pytest.mark.usefixtures("orders")
def test_a_connection_that_was_forgotten_silently_is_replaced(dsn: str) -> None:
    variables = {"DATABASE_IDLE_SECONDS": "1"}
    with Proxy(dsn) as gateway, Runtime(DATABASE_URL=named(gateway.dsn), **variables) as runtime:
        assert days(runtime.call(PORTUGAL)) == EXPECTED
        runtime.freeze(LONG)
        gateway.hold_after(0)
        assert days(runtime.call(PORTUGAL)) == EXPECTED
        assert len(gateway.connections) == 2
        # Nobody asked the old connection.
        assert not gateway.held.is_set()


def test_a_slow_query_ends_with_the_call(dsn: str, orders: sync.Connection) -> None:
    with Runtime(DATABASE_URL=named(dsn)) as runtime:
        assert days(runtime.call(PORTUGAL)) == EXPECTED
        with orders.transaction():
            orders.execute("LOCK TABLE orders")
            answer = runtime.call(PORTUGAL, seconds=2)
            assert answer["statusCode"] == 504
            # The query was cancelled at the server, too.
            waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
            give_up = time.monotonic() + 30
            while orders.fetchval(waiting):
                assert time.monotonic() < give_up
        assert days(runtime.call(PORTUGAL)) == EXPECTED


def test_no_server_is_said_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with Runtime(DATABASE_URL=f"postgresql://nobody@127.0.0.1:{port}/nothing") as runtime:
        answer = runtime.call(PORTUGAL)
        assert (answer["statusCode"], answer["headers"]["Retry-After"]) == (503, "1")


@pytest.mark.skipif(pooler.program() is None, reason="PgBouncer is not installed")
def test_behind_a_pooler_in_transaction_mode(dsn: str, orders: sync.Connection) -> None:
    with (
        pooler.Pooler(dsn, "transaction", servers=1) as between,
        Runtime(DATABASE_URL=between.dsn, DATABASE_POOLER="1") as first,
        Runtime(DATABASE_URL=between.dsn, DATABASE_POOLER="1") as second,
    ):
        for runtime in (first, second, first, second):
            assert days(runtime.call(PORTUGAL)) == EXPECTED
            runtime.freeze()
    assert orders.fetchval("SELECT count(*) FROM orders") == 12
