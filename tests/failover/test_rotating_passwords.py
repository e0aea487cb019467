# async-only: file
"""Passwords that expire, from a function that knows the present one, while a pool works."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import embedded, errors, sync
from colonnade.embedded import Role

if TYPE_CHECKING:
    from collections.abc import Iterator

_SECONDS_MAX = 120.0
_TASKS = 6
_ROTATIONS = 8


@pytest.fixture(scope="module")
def rotating() -> Iterator[embedded.Server]:
    """A server with a role whose password changes."""
    with embedded.start(tcp=True, roles=[Role("changing", "token 0")]) as server:
        yield server


class Tokens:
    """The present password, which `rotate` changes on the server."""

    def __init__(self, admin: Any) -> None:
        self._admin = admin
        self.number = 0
        self.calls = 0

    def __call__(self) -> str:
        """Return the present password."""
        self.calls += 1
        return f"token {self.number}"

    async def asked(self) -> str:
        """Return it as a service of tokens would, a moment later."""
        await asyncio.sleep(0.001)
        return self()

    async def rotate(self) -> None:
        """Make the present password invalid."""
        number = self.number + 1
        await self._admin.execute(f"ALTER ROLE changing PASSWORD 'token {number}'")
        self.number = number


@pytest.mark.parametrize("kind", ["function", "coroutine function"])
async def test_a_pool_under_load_while_the_password_changes(
    rotating: embedded.Server, kind: str
) -> None:
    """Open connections stay; a new one has the present password, or an error that names it."""
    async with asyncio.timeout(_SECONDS_MAX), await colonnade.connect(rotating.dsn) as admin:
        tokens = Tokens(admin)
        await admin.execute("ALTER ROLE changing PASSWORD 'token 0'")
        answers = 0
        refused: list[BaseException] = []
        pids: set[int] = set()
        is_over = False
        # A connection serves few queries, so that new ones are made all the time.
        pool = colonnade.create_pool(
            host="127.0.0.1",
            port=rotating.port,
            database="postgres",
            user="changing",
            password=tokens if kind == "function" else tokens.asked,
            ssl=False,
            min_size=0,
            max_size=4,
            max_queries=3,
        )

        async def work(number: int) -> None:
            nonlocal answers
            while not is_over:
                number += _TASKS
                try:
                    row = await pool.fetchrow("SELECT $1::int, pg_backend_pid()", number)
                except errors.InvalidPasswordError as error:
                    # The password was changed between the call of the function and the answer.
                    refused.append(error)
                else:
                    assert row is not None
                    assert row[0] == number
                    pids.add(row[1])
                    answers += 1

        async with pool, asyncio.TaskGroup() as tasks:
            for number in range(_TASKS):
                tasks.create_task(work(number))
            for _ in range(_ROTATIONS):
                enough = answers + 60
                while answers < enough:  # noqa: ASYNC110 - of many tasks
                    await asyncio.sleep(0.002)
                await tokens.rotate()
            is_over = True
        assert len(pids) > _ROTATIONS * 10
        assert tokens.calls >= len(pids)
        # Each refusal belongs to a change: at most the connections that were being made then.
        assert len(refused) <= _ROTATIONS * 4
        assert all("token" not in str(error) for error in refused)
        print(  # noqa: T201 - the figures of the documentation
            f"{kind}: {answers} answers on {len(pids)} connections, {len(refused)} refused"
        )


async def test_a_function_that_fails(rotating: embedded.Server) -> None:
    """Its error is the caller's, and the pool goes on when it works again."""
    is_down = True

    async def password() -> str:
        await asyncio.sleep(0)
        if is_down:
            raise LookupError("no token today")
        return "token now"

    async with await colonnade.connect(rotating.dsn) as admin:
        await admin.execute("ALTER ROLE changing PASSWORD 'token now'")
    dsn = rotating.dsn_for("changing")
    async with (
        asyncio.timeout(_SECONDS_MAX),
        colonnade.create_pool(dsn, password=password, min_size=0, max_size=2) as pool,
    ):
        for _ in range(3):
            with pytest.raises(LookupError, match="no token today"):
                await pool.fetchval("SELECT 1")
        is_down = False
        assert await asyncio.gather(*(pool.fetchval("SELECT 1") for _ in range(8))) == [1] * 8


async def test_a_slow_function_holds_up_only_those_who_wait_for_it(
    rotating: embedded.Server,
) -> None:
    """The other connections of the pool serve their callers, and a time limit applies."""
    release = asyncio.Event()
    calls = 0

    async def password() -> str:
        nonlocal calls
        calls += 1
        if calls > 1:
            await release.wait()
        return "token slow"

    async with await colonnade.connect(rotating.dsn) as admin:
        await admin.execute("ALTER ROLE changing PASSWORD 'token slow'")
    dsn = rotating.dsn_for("changing")
    async with (
        asyncio.timeout(_SECONDS_MAX),
        colonnade.create_pool(dsn, password=password, min_size=1, max_size=2) as pool,
    ):
        async with pool.acquire() as busy:
            with pytest.raises(TimeoutError):
                await pool.acquire(timeout=0.05)
            assert await busy.fetchval("SELECT 1") == 1
        assert await pool.fetchval("SELECT 2") == 2
        release.set()


def test_threads(rotating: embedded.Server) -> None:
    """The same with a pool for threads and a plain function."""
    with sync.connect(rotating.dsn) as admin:
        admin.execute("ALTER ROLE changing PASSWORD 'token 0'")
        number = 0
        refused: list[BaseException] = []
        done: list[int] = []
        dsn = rotating.dsn_for("changing")

        def work() -> None:
            for turn in range(60):
                try:
                    assert pool.fetchval("SELECT $1::int", turn) == turn
                    done.append(turn)
                except errors.InvalidPasswordError as error:
                    refused.append(error)

        with sync.create_pool(
            dsn, password=lambda: f"token {number}", min_size=0, max_size=3, max_queries=2
        ) as pool:
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                admin.execute(f"ALTER ROLE changing PASSWORD 'token {number + 1}'")
                number += 1
                threads[0].join(0.05)
        assert len(done) + len(refused) == 240
        assert len(done) > len(refused)
