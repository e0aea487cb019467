"""Pauses between the reads of a Unix socket: when, how long, and no leftovers."""

from __future__ import annotations

import asyncio
import os
import random
import resource
import select
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never

import pytest

import colonnade
import colonnade.sync
from colonnade import _core
from colonnade._driver.transport.low_water import LARGE_BYTES, RESUMED_BYTES
from colonnade._driver.transport.read_pauses import (
    GATHERED_BYTES_FEW,
    GATHERED_BYTES_MAX,
    PAUSE_MAX_US,
    PAUSE_MIN_US,
    TOO_FAST_BYTES,
    ReadPauses,
)

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.every_loop,
    pytest.mark.skipif(sys.platform != "linux", reason="the pauses exist only on Linux"),
]

PIECE = 8192
WINDOW = 256 * 1024
ROWS = 200_000
# With full socket buffers, a server cannot send the reason why it ends.
ENDS = (colonnade.errors.AdminShutdownError, colonnade.errors.ConnectionDoesNotExistError)
CLOSED = (colonnade.errors.QueryCanceledError, *ENDS)
LARGE = f"SELECT i, repeat('x', 90) AS t FROM generate_series(1, {ROWS}) i"


# The rule


def is_due_after(pauses: ReadPauses, nbytes: int) -> bool:
    pauses.received(nbytes, WINDOW)
    return pauses.is_due


def flowing() -> ReadPauses:
    """The state within a large result, before the first pause."""
    pauses = ReadPauses()
    assert is_due_after(pauses, LARGE_BYTES) is False
    assert is_due_after(pauses, PIECE)
    return pauses


def count_until_due(pauses: ReadPauses) -> int:
    """The number of pieces read before a pause is due."""
    for count in range(LARGE_BYTES // PIECE + 1):
        if is_due_after(pauses, PIECE):
            return count
    raise AssertionError


def test_small_results_are_read_as_they_come() -> None:
    pauses = ReadPauses()
    assert count_until_due(pauses) == LARGE_BYTES // PIECE - 1
    pauses.rest()
    assert not pauses.is_due
    assert count_until_due(pauses) == LARGE_BYTES // PIECE - 1


def test_what_has_not_been_emptied_is_read_on() -> None:
    pauses = flowing()
    before = pauses.pause_us
    assert not is_due_after(pauses, WINDOW)
    assert is_due_after(pauses, PIECE)
    assert pauses.pause_us == before


def test_a_pause_becomes_as_long_as_it_gathers_enough() -> None:
    pauses = flowing()
    lengths = [pauses.pause_us]
    for gathered in (GATHERED_BYTES_FEW - 1, GATHERED_BYTES_FEW, GATHERED_BYTES_MAX - 1):
        assert is_due_after(pauses, gathered)
        lengths.append(pauses.pause_us)
    assert lengths[0] < lengths[1] == lengths[2] == lengths[3]
    for _ in range(20):
        assert is_due_after(pauses, GATHERED_BYTES_FEW - 1)
    assert pauses.pause_us == PAUSE_MAX_US
    assert is_due_after(pauses, GATHERED_BYTES_MAX)
    assert pauses.pause_us == PAUSE_MAX_US // 2


def test_a_server_that_fills_the_shortest_pause_is_read_without() -> None:
    pauses = flowing()
    lengths = [pauses.pause_us]
    while is_due_after(pauses, GATHERED_BYTES_MAX):
        lengths.append(pauses.pause_us)
    assert min(lengths) >= PAUSE_MIN_US
    assert len(lengths) < 5
    assert count_until_due(pauses) == TOO_FAST_BYTES // PIECE - 1
    assert PAUSE_MIN_US <= pauses.pause_us < PAUSE_MAX_US


def test_a_server_that_is_slow_is_read_without() -> None:
    pauses = flowing()
    assert not is_due_after(pauses, PIECE)
    assert count_until_due(pauses) == RESUMED_BYTES // PIECE - 1


def test_only_unix_sockets_have_pauses() -> None:
    assert ReadPauses.of(None) is None
    with socket.socket(socket.AF_INET) as tcp, socket.socket(socket.AF_UNIX) as unix:
        assert ReadPauses.of(tcp) is None
        assert ReadPauses.of(unix) is not None


# The timer


def test_the_timer_is_readable_when_its_time_is_over() -> None:
    timer = _core.PauseTimer()
    for microseconds in (1, 200, 20_000):
        begun = time.monotonic()
        timer.start(microseconds)
        assert select.select([timer], [], [], 10)[0] == [timer]
        assert time.monotonic() - begun >= microseconds / 1_000_000
        timer.acknowledge()
        assert select.select([timer], [], [], 0)[0] == []
        timer.acknowledge()


@pytest.mark.parametrize(
    ("microseconds", "error"), [(-1, OverflowError), (1_000_000, OSError), (2**32, OverflowError)]
)
def test_times_that_the_timer_does_not_take(microseconds: int, error: type[Exception]) -> None:
    with pytest.raises(error):
        _core.PauseTimer().start(microseconds)


def test_a_timer_ends_with_its_object() -> None:
    timer = _core.PauseTimer()
    number = timer.fileno()
    assert not os.get_inheritable(number)
    del timer
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


# On a loop


def open_timers() -> int:
    """The number of this process's open timers."""
    return sum("timerfd" in str(link.resolve()) for link in Path("/proc/self/fd").iterdir())


def loops() -> list[Callable[[], Any]]:
    import uvloop

    return [asyncio.new_event_loop, uvloop.new_event_loop]


@pytest.fixture(params=loops(), ids=["asyncio", "uvloop"])
def runner(request: pytest.FixtureRequest) -> asyncio.Runner:
    return asyncio.Runner(loop_factory=request.param)


def test_a_large_result_leaves_no_timer(runner: asyncio.Runner, socket_dsn: str) -> None:
    async def run() -> None:
        async with await colonnade.connect(socket_dsn) as connection:
            fetching = asyncio.ensure_future(connection.fetch_columns(LARGE))
            while not open_timers():
                assert not fetching.done()
                await asyncio.sleep(0)
            assert (await fetching)["i"].sum() == ROWS * (ROWS + 1) // 2
            assert not open_timers()

    with runner:
        runner.run(run())


def test_no_descriptor_is_left_for_a_timer(runner: asyncio.Runner, socket_dsn: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    async def run() -> None:
        async with await colonnade.connect(socket_dsn) as connection:
            await connection.fetch_columns(LARGE)
            free = os.dup(0)
            os.close(free)
            resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
            try:
                with pytest.raises(OSError, match="Too many open files"):
                    _core.PauseTimer()
                columns = await connection.fetch_columns(LARGE)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            assert columns["i"].sum() == ROWS * (ROWS + 1) // 2

    with runner:
        runner.run(run())


class SocketsOnly(asyncio.SelectorEventLoop):
    """A loop that can watch only the sockets of its transports."""

    def add_reader(self, *_given: object) -> Never:
        raise NotImplementedError


def test_a_loop_that_watches_no_timers(socket_dsn: str) -> None:
    async def run() -> None:
        async with await colonnade.connect(socket_dsn) as connection:
            columns = await connection.fetch_columns(LARGE)
            assert columns["i"].sum() == ROWS * (ROWS + 1) // 2

    with asyncio.Runner(loop_factory=SocketsOnly) as runner:
        runner.run(run())
    assert not open_timers()


def test_a_blocking_reader_pauses(socket_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    def seen(seconds: float, sleep: Callable[[float], None] = time.sleep) -> None:
        pauses.append(seconds)
        sleep(seconds)

    monkeypatch.setattr(time, "sleep", seen)
    with colonnade.sync.connect(socket_dsn) as connection:
        connection.fetch_columns("SELECT generate_series(1, 1000) AS i")
        assert pauses == []
        assert connection.fetch_columns(LARGE)["i"].sum() == ROWS * (ROWS + 1) // 2
    assert pauses
    assert all(PAUSE_MIN_US <= pause * 1_000_000 <= PAUSE_MAX_US for pause in pauses)


def test_cancelled_and_closed_at_any_time(runner: asyncio.Runner, socket_dsn: str) -> None:
    chance = random.Random(7)

    async def run() -> None:
        connection = await colonnade.connect(socket_dsn)
        for turn in range(30):
            fetching = asyncio.ensure_future(connection.fetch_columns(LARGE))
            await asyncio.sleep(chance.uniform(0, 0.06))
            if turn % 3:
                fetching.cancel()
                await asyncio.wait([fetching])
                assert await connection.fetchval("SELECT 1") == 1
            else:
                connection.terminate()
                await asyncio.wait([fetching])
                # The result may already have been complete.
                error = fetching.exception()
                assert error is None or isinstance(error, CLOSED), error
                connection = await colonnade.connect(socket_dsn)
        await connection.close()
        assert not open_timers()

    with runner:
        runner.run(run())


def test_a_server_that_ends_in_the_middle(runner: asyncio.Runner, socket_dsn: str) -> None:
    endless = "SELECT generate_series(1, 100000000), repeat('x', 90)"

    async def run() -> None:
        async with await colonnade.connect(socket_dsn) as other:
            connection = await colonnade.connect(socket_dsn)
            pid = connection.get_server_pid()
            fetching = asyncio.ensure_future(connection.execute(endless))
            while not open_timers():
                assert not fetching.done()
                await asyncio.sleep(0)
            assert await other.fetchval("SELECT pg_terminate_backend($1)", pid)
            async with asyncio.timeout(20):
                with pytest.raises(ENDS):
                    await fetching
            assert connection.is_closed()
            assert not open_timers()

    with runner:
        runner.run(run())
