"""A fork after the import is like any other process; a connection belongs to its opener only."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.processes.program import said
from tests.support.tls_shim import TlsVariant

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.tls_shim import TlsShim

pytestmark = [
    pytest.mark.every_loop,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot fork here"),
]

LOOPS = ("asyncio", "uvloop")

# Before there is a connection

BEFORE_CONNECTING = """
def blocking():
    with colonnade.sync.connect(DSN) as connection:
        return connection.fetchval("SELECT 40 + 2")

async def ask():
    async with colonnade.create_pool(DSN, min_size=1, max_size=2) as pool:
        return await pool.fetchval("SELECT 40 + 2")

def not_blocking():
    return run(ask())

print(in_child(blocking), in_child(not_blocking), blocking(), not_blocking())
"""

BY_MULTIPROCESSING = """
import multiprocessing
from tests.processes.workers import ask

if __name__ == "__main__":
    for method in ("fork", "forkserver", "spawn"):
        context = multiprocessing.get_context(method)
        with context.Pool(2) as workers:
            print(method, *workers.map(ask, [DSN] * 4))
"""

# As in web servers: the application is created, then the workers are forked.
BEFORE_ITS_POOL_IS_OPEN = """
pool = colonnade.create_pool(DSN, min_size=1, max_size=2)

async def serve():
    async with pool:
        return await pool.fetchval("SELECT 40 + 2")

print(in_child(lambda: run(serve())), in_child(lambda: run(serve())))
"""


@pytest.mark.parametrize("loop", LOOPS)
def test_a_child_forked_after_the_import_connects(dsn: str, loop: str) -> None:
    assert said(BEFORE_CONNECTING, dsn, loop) == ["42 42 42 42"]


def test_workers_of_every_kind_connect(dsn: str) -> None:
    expected = [f"{method} 42 42 42 42" for method in ("fork", "forkserver", "spawn")]
    assert said(BY_MULTIPROCESSING, dsn) == expected


def test_a_pool_may_be_opened_in_each_worker(dsn: str) -> None:
    assert said(BEFORE_ITS_POOL_IS_OPEN, dsn) == ["42 42"]


# With an open connection

BLOCKING = """
connection = colonnade.sync.connect(DSN)
server = connection.get_server_pid()

def closed():
    state = connection.is_closed(), "of the parent process" in repr(connection)
    connection.terminate()
    connection.close()
    return state

print(refused(in_child(lambda: connection.fetchval("SELECT 1"))))
print(refused(in_child(lambda: connection.transaction())))
print(refused(in_child(lambda: connection.cursor("SELECT 1"))))
print(refused(in_child(lambda: connection.fetch_columns("SELECT 1"))))
print(in_child(closed))
print(in_child(lambda: globals().pop("connection") and None))
print(connection.fetchval("SELECT pg_backend_pid()") == server)
connection.close()
"""

NOT_BLOCKING = """
def in_task(work):
    return in_child(work, ends=lambda: os._exit(0))

async def main():
    connection = await colonnade.connect(DSN)
    server = connection.get_server_pid()

    def ask():
        async def fetch():
            return await connection.fetchval("SELECT 1")
        asyncio.set_event_loop(None)
        try:
            fetch().send(None)
        finally:
            assert connection.is_closed()
            connection.terminate()

    print(refused(in_task(ask)))
    print(refused(in_task(lambda: connection.transaction())))
    print(in_task(lambda: None))
    # The parent's loop still watches its sockets, even for results of several reads.
    print(len((await connection.fetch_columns("SELECT generate_series(1, 300000)"))[0]))
    print(await connection.fetchval("SELECT pg_backend_pid()") == server)
    await connection.close()

run(main())
"""

WITHIN_BLOCKS = """
with colonnade.sync.connect(DSN) as connection:
    connection.execute("CREATE TEMP TABLE kept (n int)")
    with connection.transaction():
        connection.execute("INSERT INTO kept VALUES (1)")
        statement = connection.prepare("SELECT count(*) FROM kept")
        print(in_child(lambda: "leaves all blocks"))
        print("parent process" in in_child(lambda: statement.fetchval()))
    stream = connection.iter_columns("SELECT generate_series(1, 100000)", batch_rows=10)
    first = next(stream)
    print(in_child(lambda: stream.close()), refused(in_child(lambda: next(stream))))
    print(1 + sum(1 for _ in stream), connection.fetchval("SELECT count(*) FROM kept"))
"""


def test_a_blocking_connection_stays_the_parents(dsn: str) -> None:
    lines = ["True", "True", "True", "True", "(True, True)", "None", "True"]
    assert said(BLOCKING, dsn) == lines


@pytest.mark.parametrize("loop", LOOPS)
def test_a_connection_of_a_loop_stays_the_parents(dsn: str, loop: str) -> None:
    assert said(NOT_BLOCKING, dsn, loop) == ["True", "True", "None", "300000", "True"]


def test_connections_under_tls_stay_the_parents(tls_shim: Callable[[TlsVariant], TlsShim]) -> None:
    dsn = f"{tls_shim(TlsVariant.GOOD).dsn}?sslmode=require"
    assert said(BLOCKING, dsn)[-1] == "True"
    assert said(NOT_BLOCKING, dsn)[-2:] == ["300000", "True"]


def test_leaving_blocks_in_a_child_ends_nothing(dsn: str) -> None:
    lines = ["leaves all blocks", "True", "None True", "10000 1"]
    assert said(WITHIN_BLOCKS, dsn) == lines


# With a pool

POOL_OF_THREADS = """
pool = colonnade.sync.create_pool(DSN, min_size=2, max_size=2)
stop = threading.Event()

def work():
    while not stop.is_set():
        with pool.acquire() as connection:
            connection.fetchval("SELECT sum(n) FROM generate_series(1, 1000) AS n")

# More tasks than connections, so that some wait while others hold a connection.
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()

def replaced():
    with colonnade.sync.create_pool(DSN, min_size=1, max_size=1) as own:
        pool.close()
        pool.terminate()
        return own.fetchval("SELECT 42"), pool.is_closing(), pool

warnings.simplefilter("ignore")  # that the process has threads, when it forks
for _ in range(5):
    assert refused(in_child(lambda: pool.fetchval("SELECT 1")))
    assert refused(in_child(lambda: pool.acquire()))
with pool.acquire() as connection:
    print(refused(in_child(lambda: connection.fetchval("SELECT 1"))))
    print(in_child(replaced))
stop.set()
for thread in threads:
    thread.join()
print(pool.get_size(), pool.get_stats().opened)
pool.close()
"""

POOL_OF_TASKS = """
def in_task(work):
    return in_child(work, ends=lambda: os._exit(0))

async def main():
    async with colonnade.create_pool(DSN, min_size=2, max_size=2) as pool:
        def ask(coroutine):
            try:
                coroutine.send(None)
            finally:
                coroutine.close()

        async with pool.acquire() as connection:
            print(refused(in_task(lambda: ask(pool.fetchval("SELECT 1")))))
            print(refused(in_task(lambda: ask(connection.fetchval("SELECT 1")))))
            print(in_task(lambda: (pool.terminate(), pool.is_closing(), pool)[1:]))
        print(await pool.fetchval("SELECT 42"), pool.get_size(), pool.get_stats().opened)

run(main())
"""


def test_a_pool_of_threads_stays_the_parents(dsn: str) -> None:
    lines = ["True", "(42, True, <Pool of the parent process>)", "2 2"]
    assert said(POOL_OF_THREADS, dsn) == lines


@pytest.mark.parametrize("loop", LOOPS)
def test_a_pool_of_tasks_stays_the_parents(dsn: str, loop: str) -> None:
    lines = ["True", "True", "(True, <Pool of the parent process>)", "42 2 2"]
    assert said(POOL_OF_TASKS, dsn, loop) == lines


# Through other interfaces

DBAPI = """
import colonnade.dbapi

connection = colonnade.dbapi.connect(DSN)
cursor = connection.cursor()
cursor.execute("SELECT 41")
print("parent process" in in_child(lambda: cursor.execute("SELECT 1")))
print(in_child(lambda: connection.close()))
cursor.execute("SELECT 42")
print(cursor.fetchall())
connection.close()
"""

SQLALCHEMY = """
import sqlalchemy

engine = sqlalchemy.create_engine(DSN.replace("postgresql:", "postgresql+colonnade:"), pool_size=1)

def ask():
    with engine.connect() as connection:
        return connection.scalar(sqlalchemy.text("SELECT pg_backend_pid()"))

def ask_anew():
    engine.dispose(close=False)
    try:
        return ask()
    finally:
        engine.dispose()

server = ask()
print(in_child(ask_anew) not in {str(server), ""}, ask() == server)
with engine.connect() as connection:
    print(connection.scalar(sqlalchemy.text("SELECT 1")), in_child(ask_anew).isdigit())
    print(connection.scalar(sqlalchemy.text("SELECT pg_backend_pid()")) == server)
engine.dispose()
"""

EMBEDDED = """
from colonnade import embedded

with embedded.start() as server:
    print(in_child(lambda: server.is_running), in_child(lambda: server.stop()), server.is_running)
    with colonnade.sync.connect(server.dsn) as connection:
        print(connection.fetchval("SELECT 42"))
"""


def test_dbapi(dsn: str) -> None:
    assert said(DBAPI, dsn) == ["True", "None", "[(42,)]"]


def test_sqlalchemy_after_dispose(dsn: str) -> None:
    assert said(SQLALCHEMY, dsn) == ["True True", "1 True", "True"]


def test_a_server_of_its_own(dsn: str) -> None:
    assert said(EMBEDDED, dsn) == ["False None True", "42"]
