"""The parts of the load test: a wrong figure would be believed."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest

from benches.service.load.http_client import BrokenAnswerError, Client
from benches.service.load.memory_picture import draw as draw_memory
from benches.service.load.open_loop import Outcome, percentile, sent
from benches.service.load.picture import Bar, draw
from benches.service.load.processes import Meter, children_with, resident_bytes, with_children
from benches.service.load.rate_search import RateSearch
from benches.service.load.watch import metric

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

PLAIN = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nhel\r\n2;ext=1\r\nlo\r\n0\r\nx: y\r\n\r\n"
)
REFUSED = b"HTTP/1.1 503 Busy\r\nX-Shed: pool\r\nContent-Length: 0\r\n\r\n"


def answering(*pieces: bytes) -> Serve:
    """Answers each request with the same bytes, in pieces that arrive apart."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)

    return serve


@contextlib.asynccontextmanager
async def listening(serve: Serve) -> AsyncGenerator[int]:
    """A server on the port; its connections end with the block."""
    tasks: set[asyncio.Task[None] | None] = set()

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.current_task())
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            await serve(reader, writer)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    server = await asyncio.start_server(served, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
    for task in tasks:
        if task is not None:
            await task


@pytest.mark.parametrize("answer", [PLAIN, CHUNKED], ids=["length", "chunks"])
async def test_an_answer_is_read_whole_however_it_is_split(answer: bytes) -> None:
    for pieces in ([answer], [answer[i : i + 1] for i in range(len(answer))]):
        async with listening(answering(*pieces)) as port, Client(port, keep_bodies=True) as client:
            for _ in range(3):
                reply = await client.get("/")
                assert (reply.status, reply.body, reply.size) == (200, b"hello", 5)


async def test_an_answer_that_breaks_off_is_an_error() -> None:
    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(CHUNKED[:-8])
        writer.close()

    async with listening(cut) as port, Client(port) as client:
        with pytest.raises(BrokenAnswerError):
            await client.get("/")


async def test_a_kept_connection_that_was_closed_is_replaced() -> None:
    served = 0

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal served
        await reader.readuntil(b"\r\n\r\n")
        served += 1
        writer.write(PLAIN)
        writer.close()

    async with listening(once) as port, Client(port) as client:
        for _ in range(5):
            assert (await client.get("/")).status == 200
    assert served == 5


async def test_times_count_from_the_moment_at_which_a_request_was_due() -> None:
    gate, first = asyncio.Event(), True

    async def stalling(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal first
        while await reader.readuntil(b"\r\n\r\n"):
            if first:
                first = False
                asyncio.get_running_loop().call_later(0.5, gate.set)
            await gate.wait()
            writer.write(PLAIN)

    async with listening(stalling) as port, Client(port) as client:
        outcome = await sent(client, itertools.repeat("/"), 100, 0.5)
    assert outcome.statuses == {"200": 50}
    # A closed loop would have seen one slow answer; the fifty callers waited half a second to none.
    assert max(outcome.good) >= 0.45
    assert percentile(outcome.good, 50) > 0.15
    assert outcome.size == 250


async def test_refusals_and_errors_are_no_good_answers() -> None:
    async with listening(answering(REFUSED)) as port, Client(port) as client:
        outcome = await sent(client, itertools.repeat("/"), 1_000, 0.02)
    assert outcome.statuses == {"503 pool": 20}
    assert len(outcome.refused) == 20
    assert outcome.share_within(10) == 0
    assert outcome.percentile(99) == float("inf")
    async with Client(port) as client:
        outcome = await sent(client, itertools.repeat("/"), 1_000, 0.005)
    assert outcome.statuses == {"ConnectionRefusedError": 5}


def test_late_answers_and_errors_lower_the_share() -> None:
    outcome = Outcome(10, 1)
    for seconds in (0.1, 0.2, 0.9):
        outcome.note("200", seconds)
    outcome.note("503 loop", 0.001)
    assert outcome.share_within(0.5) == 0.5
    assert outcome.errors() == {"503 loop": 1}


@pytest.mark.parametrize("truth", [3.0, 50.0, 777.0])
def test_a_search_ends_near_the_highest_rate(truth: float) -> None:
    search, tried = RateSearch(10, most=100_000), 0
    while (rate := search.next) is not None:
        search.took(passed=rate <= truth)
        tried += 1
    assert search.best <= truth < search.worst
    assert search.worst / search.best <= 1.12
    assert tried < 30


def test_one_failure_by_chance_does_not_end_a_search() -> None:
    search = RateSearch(10, most=100)
    outcomes = iter([True, False, True, True, True])
    while search.next is not None:
        search.took(passed=next(outcomes))
    assert search.best == 80


async def test_processors_and_memory_are_counted_by_role() -> None:
    program = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    process = await asyncio.create_subprocess_exec("sleep", "60")
    assert process.pid in with_children(os.getpid())
    assert children_with("sleep") == [process.pid]
    assert resident_bytes([process.pid]) > 0
    meter = Meter({"busy": [os.getpid()], "still": [process.pid]})
    exec(program, {})  # noqa: S102  what a processor is used for
    usage = meter.read()
    process.kill()
    await process.wait()
    assert usage.by_role["busy"] >= 0.25
    assert usage.busiest["busy"] <= usage.by_role["busy"]
    assert usage.by_role["still"] == 0
    assert 0 <= usage.others <= 1
    assert resident_bytes([process.pid]) == 0


def test_pictures_name_what_they_show(tmp_path: Path) -> None:
    path = tmp_path / "load.svg"
    draw([("Searches <all>", [Bar("Colonnade", 1234.0, "p99 3 ms"), Bar("b", 0, "")])], path)
    shown = path.read_text("utf-8")
    assert "Searches &lt;all&gt;" in shown
    assert "1,234/s, p99 3 ms" in shown
    draw_memory([(0.0, 100.0), (1.0, 101.0)], "flat", tmp_path / "memory.svg")
    assert "polyline" in (tmp_path / "memory.svg").read_text("utf-8")


def test_a_metric_is_read_from_what_prometheus_reads() -> None:
    shown = 'a_count{x="1"} 2.0\na_count{x="2"} 3.0\nb 1e3\n'
    assert metric(shown, "a_count") == 5
    assert metric(shown, "b") == 1000
    with pytest.raises(ValueError, match="no metric c"):
        metric(shown, "c")
