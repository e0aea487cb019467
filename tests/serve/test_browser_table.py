"""The example of a table in a browser, in headless Chromium."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

import colonnade
from examples.browser_table import app as example
from tests.serve.serving import serving

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# The browser shows the page until its load event, which the picture delays.
WATCHER = """
<img src="/held" alt="" width="0" height="0">
<script>
  const status = document.getElementById("status");
  new MutationObserver(() => requestAnimationFrame(() => {
    const canvas = document.querySelector("canvas");
    const pixels = canvas?.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const end = globalThis.readings?.rows - 1;
    const last = globalThis.readings?.columns.map(({ name, values }) => [name, values.at(end)]);
    const seen = {
      text: status.textContent, fault: status.className, rows: globalThis.readings?.rows,
      time: globalThis.readings?.time, last: last && Object.fromEntries(last),
      colors: pixels && new Set(new Uint32Array(pixels.buffer)).size,
    };
    fetch("/seen?" + new URLSearchParams({ json: JSON.stringify(seen) }));
  })).observe(status, { childList: true });
</script>
"""


class WatchedApp:
    """The example, with a script in its page that reports what there is to see."""

    def __init__(self, pool: colonnade.Pool, flechette: Path) -> None:
        self._app = example.App(pool, flechette)
        self._reported = asyncio.Event()
        self.seen: dict[str, Any] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def send_with_watcher(message: Any) -> None:
            if message.get("body", b"").endswith(b"</html>\n"):
                message["body"] += WATCHER.encode()
            await send(message)

        if scope["path"] == "/seen":
            self.seen = json.loads(parse_qs(scope["query_string"].decode())["json"][0])
            self._reported.set()
        if scope["path"] == "/held":
            await asyncio.wait_for(self._reported.wait(), 60)
        await self._app(scope, receive, send_with_watcher)


async def look(app: WatchedApp, folder: Path, *options: str) -> dict[str, Any]:
    """Open the page; the value is what its script reports."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed")
    async with serving(app) as address:
        process = await asyncio.create_subprocess_exec(
            browser,
            # No sandbox within containers, and no profile but its own.
            *("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}"),
            *("--hide-scrollbars", *options, f"--screenshot={folder / 'page.png'}"),
            address,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            await asyncio.wait_for(process.wait(), 120)
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGKILL)
                await process.wait()
    return app.seen


async def test_half_a_million_rows(dsn: str, node_project: Path, tmp_path: Path) -> None:
    flechette = node_project / "node_modules/@uwdata/flechette/dist/flechette.mjs"
    async with colonnade.create_pool(dsn, min_size=1, max_size=2) as pool:
        await pool.execute(example.READINGS)
        try:
            seen = await look(WatchedApp(pool, flechette), tmp_path, "--window-size=1200,700")
        finally:
            await pool.execute("DROP TABLE readings")
    assert seen["fault"] == "", seen
    assert seen["rows"] == 500_000
    assert seen["text"].startswith("500,000 rows, 10 columns in typed arrays after")
    assert seen["time"] > 0
    assert seen["last"]["id"] == 500_000
    assert seen["last"]["station"] == "Arkona"
    assert seen["last"]["direction"] == 500_000 * 11 % 360
    assert seen["last"]["is_valid"] is False
    # Letters have many shades; a canvas that was not drawn on has one.
    assert seen["colors"] > 20


async def test_a_table_that_fails_is_told(dsn: str, node_project: Path, tmp_path: Path) -> None:
    flechette = node_project / "node_modules/@uwdata/flechette/dist/flechette.mjs"
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        seen = await look(WatchedApp(pool, flechette), tmp_path)
    assert seen["fault"] == "fault"
    assert "HTTP status" in seen["text"]
