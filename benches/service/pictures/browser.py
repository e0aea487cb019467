"""Chromium without a window, driven by its DevTools protocol: pages as a test or a picture needs.

async with chromium(folder) as browser, browser.page() as page:
    await page.resize(390, 844, scheme="dark")
    await page.open("http://127.0.0.1:8000/live")
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import os
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

NAMES = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    # No sandbox within containers, no traffic but the page's own.
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-port=0"),
)
_START_SECONDS_MAX = 60.0
_CALL_SECONDS_MAX = 60.0


def installed() -> str | None:
    """The path of a browser, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """A tab; collects the errors of its scripts."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._calls: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._loaded = asyncio.Event()
        self.errors: list[str] = []
        """Exceptions that no script has caught, `console.error`, and breaches of the policy."""

    async def listen(self) -> None:
        """Receive until the tab is closed."""
        async for message in self._socket:
            found = message.json()
            if "id" in found:
                call = self._calls.pop(found["id"])
                if not call.done():
                    call.set_result(found)
            else:
                self._note(found["method"], found["params"])

    def _note(self, method: str, event: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded.set()
        elif method == "Runtime.exceptionThrown":
            details = event["exceptionDetails"]
            thrown = details.get("exception", {}).get("description", "")
            self.errors.append(f"{details['text']} {thrown}")
        elif method == "Runtime.consoleAPICalled" and event["type"] == "error":
            self.errors.append(f"console.error: {event['args']}")
        elif method == "Log.entryAdded" and event["entry"]["source"] in {"security", "javascript"}:
            self.errors.append(event["entry"]["text"])

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol; raises RuntimeError if it fails."""
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._calls[number] = answer
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        found = await asyncio.wait_for(answer, _CALL_SECONDS_MAX)
        if "error" in found:
            raise RuntimeError(f"{method}: {found['error']}")
        result: dict[str, Any] = found["result"]
        return result

    async def resize(self, width: int, height: int, *, scheme: str, scale: float = 1.0) -> None:
        """Set the size of the window, and whether the user prefers `light` or `dark`."""
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=False,
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        await self.call("Emulation.setEmulatedMedia", features=features)

    async def open(self, address: str) -> None:
        """Go to a page, and wait until it is loaded."""
        self._loaded.clear()
        await self.call("Page.navigate", url=address)
        await asyncio.wait_for(self._loaded.wait(), _CALL_SECONDS_MAX)

    async def value(self, expression: str) -> Any:
        """The value of an expression of JavaScript; RuntimeError if it throws."""
        found = await self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    async def until(self, expression: str, seconds: float = 60.0) -> Any:
        """Wait until an expression is true, and return it; TimeoutError if it never is."""
        async with asyncio.timeout(seconds):
            while True:
                found = await self.value(expression)
                if found:
                    return found
                await asyncio.sleep(0.05)

    async def picture(self) -> bytes:
        """The whole page as a PNG."""
        found = await self.call("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(found["data"])


class Browser:
    """A running browser."""

    def __init__(self, client: aiohttp.ClientSession) -> None:
        self._client = client

    @contextlib.asynccontextmanager
    async def page(self) -> AsyncGenerator[Page]:
        """Open a tab, and close it at the end."""
        async with self._client.put("/json/new?about:blank") as response:
            found = await response.json()
        async with self._client.ws_connect(found["webSocketDebuggerUrl"], max_msg_size=0) as socket:
            page = Page(socket)
            listening = asyncio.create_task(page.listen(), name="browser")
            try:
                for domain in ("Page", "Runtime", "Log"):
                    await page.call(f"{domain}.enable")
                yield page
            finally:
                listening.cancel()


@contextlib.asynccontextmanager
async def chromium(folder: Path) -> AsyncGenerator[Browser]:
    """Run a browser whose profile is in a folder of its own.

    Raises RuntimeError if none is installed, or it does not start.
    """
    path = installed()
    if path is None:
        raise RuntimeError(f"none of {', '.join(NAMES)} is installed")
    process = await asyncio.create_subprocess_exec(
        path,
        *_OPTIONS,
        f"--user-data-dir={folder}",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        port = await _port(folder / "DevToolsActivePort", process)
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client:
            yield Browser(client)
    finally:
        # Its children, too.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _port(file: Path, process: asyncio.subprocess.Process) -> int:
    async with asyncio.timeout(_START_SECONDS_MAX):
        while process.returncode is None:
            port = _port_in(file)
            if port:
                return port
            await asyncio.sleep(0.05)
    raise RuntimeError(f"the browser has ended: status {process.returncode}")


def _port_in(file: Path) -> int:
    """The port, or 0 while the browser has not written it."""
    lines = file.read_text().splitlines() if file.exists() else []
    return int(lines[0]) if len(lines) > 1 else 0
