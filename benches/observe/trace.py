"""The cost of `observe.trace()` per switch, and how much of a request's time it names.

    python -m benches.observe.trace

The cost is the processor time of the loop's thread beyond that of an untraced loop on the same
work, the two in turns; the median of the rounds is printed. The request is one of a plain ASGI
program under uvicorn, which runs ten queries on a pool, computes, and answers.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import statistics
import threading
import time
import urllib.request
from typing import TYPE_CHECKING, Any

import colonnade
from colonnade import embedded, observe

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

SWITCHES = 50_000
TASKS = 4
QUERIES = 10
REQUESTS = 50


async def give_turns() -> None:
    """Switch by giving turns."""
    for _ in range(SWITCHES):
        await asyncio.sleep(0)


async def wait_for_futures() -> None:
    """Switch by waiting for futures that the loop resolves."""
    loop = asyncio.get_running_loop()
    for _ in range(SWITCHES):
        future: asyncio.Future[None] = loop.create_future()
        loop.call_soon(future.set_result, None)
        await future


async def sleep_shortly() -> None:
    """Switch by sleeping for the shortest time."""
    for _ in range(SWITCHES // 10):
        await asyncio.sleep(1e-9)


async def microseconds_per_switch(work: Callable[[], Awaitable[None]], switches: int) -> float:
    """How long the loop's thread works for a switch."""
    start = time.thread_time()
    await asyncio.gather(*(work() for _ in range(TASKS)))
    return (time.thread_time() - start) / (switches * TASKS) * 1e6


async def measure_switches(loop_name: str, rounds: int) -> None:
    """Print the cost of a switch with and without a trace."""
    works = {give_turns: SWITCHES, wait_for_futures: SWITCHES, sleep_shortly: SWITCHES // 10}
    for work, switches in works.items():
        plain: list[float] = []
        traced: list[float] = []
        for _ in range(rounds):
            plain.append(await microseconds_per_switch(work, switches))
            async with observe.trace(limit=10_000_000) as timeline:
                traced.append(await microseconds_per_switch(work, switches))
            assert not timeline.dropped
        added = statistics.median(
            watched - alone for watched, alone in zip(traced, plain, strict=True)
        )
        print(
            f"{loop_name:8} {work.__name__:17} untraced {statistics.median(plain):.2f} us,"
            f" traced {statistics.median(traced):.2f} us, added {added:.2f} us a switch"
        )


def compute() -> int:
    """Compute for about two milliseconds."""
    return sum(number * number for number in range(30_000))


class Program:
    """The ASGI program: ten queries, a computation, an answer."""

    def __init__(self, pool: colonnade.Pool) -> None:
        self._pool = pool

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        del receive
        if scope["type"] != "http":
            return
        numbers = [await self._one(number) for number in range(QUERIES)]
        body = json.dumps({"numbers": numbers, "computed": compute()}).encode()
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _one(self, number: int) -> int:
        async with self._pool.acquire() as connection:
            columns = await connection.fetch_columns(
                "SELECT g AS n FROM generate_series(1, $1::int) AS g", 1000 + number
            )
            return columns.num_rows


@contextlib.asynccontextmanager
async def serving(program: Program) -> AsyncIterator[int]:
    """Serve a program with uvicorn; gives the port."""
    import uvicorn

    server = uvicorn.Server(
        uvicorn.Config(program, port=0, log_level="warning", lifespan="off", timeout_keep_alive=1)
    )
    server.capture_signals = no_signals  # type: ignore[method-assign] # the loop is ours
    running = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn tells it by no event
        await asyncio.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await running


@contextlib.contextmanager
def no_signals() -> Iterator[None]:
    """Leave the signals alone."""
    yield


def ask(port: int, count: int) -> None:
    """Send requests, one after the other."""
    for _ in range(count):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
            answer.read()


async def measure_requests(loop_name: str, dsn: str) -> None:
    """Print the share of the requests' time that has a name."""
    pool = await colonnade.create_pool(dsn, min_size=2, max_size=2)
    async with pool, serving(Program(pool)) as port:
        await asyncio.to_thread(ask, port, 3)
        async with observe.trace() as timeline:
            clients = [threading.Thread(target=ask, args=(port, REQUESTS)) for _ in range(4)]
            for client in clients:
                client.start()
            for client in clients:
                await asyncio.to_thread(client.join)
    requests = [task for task in timeline.summary().tasks if "run_asgi" in task.coroutine]
    duration = sum(task.duration for task in requests)
    seconds: dict[str, float] = {}
    for task in requests:
        for kind, spent in task.seconds.items():
            seconds[kind] = seconds.get(kind, 0.0) + spent
    named = 100 * (1 - seconds.get("unknown", 0.0) / duration)
    worst = 100 * min(task.named for task in requests)
    parts = ", ".join(f"{kind} {100 * spent / duration:.1f} %" for kind, spent in seconds.items())
    print(
        f"{loop_name:8} {len(requests)} requests of {duration / len(requests) * 1e3:.2f} ms:"
        f" {named:.2f} % named (worst request {worst:.2f} %): {parts}"
    )


def main() -> None:
    """Measure on both loops."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    loops: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
    with contextlib.suppress(ImportError):
        import uvloop

        loops["uvloop"] = uvloop.new_event_loop
    with embedded.start(tcp=True) as server:
        for name, factory in loops.items():
            with asyncio.Runner(loop_factory=factory) as runner:
                runner.run(measure_switches(name, rounds))
                runner.run(measure_requests(name, server.dsn))


if __name__ == "__main__":
    main()
