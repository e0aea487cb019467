"""Draws the pictures of a page: ``python -m benches.service.pictures docs/service/service``.

Two timelines of a search by `observe.trace()`, and the live page under load in a browser.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp

from benches.service.pictures.browser import chromium
from benches.service.restarts.requests import steady
from colonnade import embedded, observe
from examples.service.commands import application, free_port
from examples.service.data import prepared
from examples.service.handlers.search import search
from examples.service.page.routes import FLECHETTE
from examples.service.runtime import running
from examples.service.settings import Settings
from examples.service.shell import Shell
from examples.service.suppliers.processes import suppliers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from examples.service.account import Message, Receive, Send

#: As many lanes as a picture has room for.
SHOWN_SUPPLIERS = 8
DEADLINE = 0.12


async def _no_app(scope: Message, receive: Receive, send: Send) -> None:
    del scope, receive, send


async def draw_search(dsn: str, addresses: Sequence[str], path: Path) -> None:
    """Trace searches of a process that has its connections, and draw the shortest one.

    In the others, the process may have waited for a processor.
    """
    settings = Settings(dsn=dsn, suppliers=tuple(addresses), deadline=DEADLINE)
    async with running(settings, Shell(_no_app)) as runtime:
        timelines = []
        for day in range(1, 29):
            async with observe.trace() as timeline:
                await asyncio.create_task(search(runtime, {"day": str(day)}), name="request")
            timelines.append(timeline)
    shortest = min(timelines, key=lambda timeline: timeline.duration)
    shortest.to_svg(path)
    print(shortest.summary())


async def draw_page(settings: Mapping[str, str], path: Path) -> None:
    """Ask a service for more and more, and take a picture of its page."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with (
        application("granian", "starlette", port, 2, settings),
        tempfile.TemporaryDirectory() as profile,
    ):
        async with chromium(Path(profile)) as browser, browser.page() as page:
            await page.resize(1440, 900, scheme="light")
            await page.open(f"{address}/live")
            for seconds, rate in ((60, 40), (22, 400), (22, 60)):
                await _ask(address, seconds, rate)
            await page.until("document.getElementById('state').dataset.kind !== 'wait'")
            await asyncio.to_thread(path.write_bytes, await page.picture())


async def _ask(address: str, seconds: float, rate: float) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, stop.set)
    async with asyncio.TaskGroup() as group:
        group.create_task(steady(address, rate, stop))
        group.create_task(_vary(address, stop))


async def _vary(address: str, stop: asyncio.Event) -> None:
    """Searches that no cache knows, and exports."""
    async with aiohttp.ClientSession(address) as client, asyncio.TaskGroup() as group:
        number = 0
        while not stop.is_set():
            number += 1
            group.create_task(_read(client, f"/search?max_price={number % 900 + 100}&month=3"))
            if number % 8 == 0:
                group.create_task(_read(client, "/export?months=4-5"))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), 0.15)


async def _read(client: aiohttp.ClientSession, path: str) -> None:
    async with client.get(path) as response:
        await response.read()


def main() -> None:
    """Start what is needed, draw, and stop it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--flechette", type=Path, default=FLECHETTE)
    parser.add_argument("--only", choices=("search", "page"))
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        dsn = stack.enter_context(embedded.start(tcp=True)).dsn
        asyncio.run(prepared(dsn))
        if options.only != "page":
            shown = stack.enter_context(suppliers(SHOWN_SUPPLIERS, processes=1, mood="quick"))
            asyncio.run(draw_search(dsn, shown, options.folder / "search.svg"))
            lost = stack.enter_context(suppliers(1, processes=1, mood="hanging"))
            asyncio.run(draw_search(dsn, [*shown[1:], *lost], options.folder / "deadline.svg"))
        if options.only != "search":
            settings = {
                "SERVICE_DSN": dsn,
                "SERVICE_SUPPLIERS": ",".join(stack.enter_context(suppliers())),
                "SERVICE_LIVE_FOLDER": stack.enter_context(tempfile.TemporaryDirectory()),
                "SERVICE_FLECHETTE": str(options.flechette),
                "SERVICE_LOG_LEVEL": "error",
            }
            asyncio.run(draw_page(settings, options.folder / "page.png"))


if __name__ == "__main__":
    main()
