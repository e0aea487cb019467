"""A headless Chromium, driven over its pipe: no library, no port, a profile of its own."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome")
ANSWER_WITHIN_S = 120
_FLAGS = (
    "--headless",
    # No sandbox within containers.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
# The browser reads commands from descriptor 3 and writes answers to 4. The copies are made first:
# one of the given descriptors may be 3 or 4 itself.
_ON_ITS_PIPES = """
import fcntl, os, sys
reads, writes = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 5) for number in sys.argv[1:3])
os.dup2(reads, 3)
os.dup2(writes, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class BrowserError(Exception):
    """The browser refused a command, or ended."""


def installed() -> str | None:
    """Return the path of the machine's browser."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """Commands to a browser, and its events, by the names of the DevTools protocol."""

    def __init__(self, reader: asyncio.StreamReader, commands: int) -> None:
        self._reader = reader
        self._commands = commands
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._pages: dict[str, Page] = {}
        self._listening = asyncio.ensure_future(self._listen())

    @classmethod
    @contextlib.asynccontextmanager
    async def started(cls, program: str) -> AsyncIterator[Self]:
        """Start a browser for the block."""
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            theirs, commands = os.pipe()
            answers, ours = os.pipe()
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", _ON_ITS_PIPES, str(theirs), str(ours)),
                *(program, *_FLAGS, f"--user-data-dir={profile}", "about:blank"),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                pass_fds=(theirs, ours),
                start_new_session=True,
            )
            os.close(theirs)
            os.close(ours)
            reader = asyncio.StreamReader(limit=2**28)
            transport, _ = await asyncio.get_running_loop().connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(answers, "rb")
            )
            browser = cls(reader, commands)
            try:
                yield browser
            finally:
                browser._listening.cancel()
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
                transport.close()
                os.close(commands)

    async def page(self) -> Page:
        """Open an empty page."""
        target = await self.send("Target.createTarget", {"url": "about:blank"})
        attached = {"targetId": target["targetId"], "flatten": True}
        session = (await self.send("Target.attachToTarget", attached))["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            await page.send(f"{domain}.enable")
        return page

    async def send(
        self, method: str, params: dict[str, Any] | None = None, session: str | None = None
    ) -> dict[str, Any]:
        """Send a command, and return its result."""
        number = next(self._numbers)
        command: dict[str, Any] = {"id": number, "method": method, "params": params or {}}
        if session is not None:
            command["sessionId"] = session
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        return await asyncio.wait_for(answer, ANSWER_WITHIN_S)

    async def _listen(self) -> None:
        try:
            while True:
                message = json.loads((await self._reader.readuntil(b"\0"))[:-1])
                if "id" in message:
                    self._settle(message)
                elif (page := self._pages.get(message.get("sessionId", ""))) is not None:
                    page.happened(message["method"], message["params"])
        except asyncio.IncompleteReadError:
            for answer in self._answers.values():
                answer.set_exception(BrowserError("the browser has ended"))

    def _settle(self, message: dict[str, Any]) -> None:
        answer = self._answers.pop(message["id"])
        if answer.done():
            return
        if "error" in message:
            answer.set_exception(BrowserError(message["error"]["message"]))
        else:
            answer.set_result(message["result"])


class Page:
    """A page of the browser. `on_event` gets each of its events."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self._loaded = asyncio.Event()
        self.on_event: Callable[[str, dict[str, Any]], None] = lambda *_: None

    async def send(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a command to the page, and return its result."""
        return await self._browser.send(method, params, self._session)

    def happened(self, method: str, params: dict[str, Any]) -> None:
        """Take an event from the browser."""
        if method == "Page.loadEventFired":
            self._loaded.set()
        self.on_event(method, params)

    async def open(self, address: str) -> None:
        """Go to an address, and wait until all of the page is loaded."""
        self._loaded.clear()
        await self.send("Page.navigate", {"url": address})
        await asyncio.wait_for(self._loaded.wait(), ANSWER_WITHIN_S)

    async def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, of a promise its result."""
        asked = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        found = await self.send("Runtime.evaluate", asked)
        if "exceptionDetails" in found:
            raise BrowserError(json.dumps(found["exceptionDetails"]))
        return found["result"].get("value")
