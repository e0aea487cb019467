"""Server-Timing in a browser's own performance timeline."""

from __future__ import annotations

import asyncio
import html
import json
import re
import shutil
import signal
from pathlib import Path

import pytest

import colonnade
from colonnade import observe
from tests.observe.timed_app import TimedApp, serving

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


async def test_a_browser_lists_the_metrics(dsn: str, tmp_path: Path) -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed")
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        app = observe.ServerTiming(TimedApp(pool), expose=True)
        async with serving("uvicorn", app) as port:
            process = await asyncio.create_subprocess_exec(
                browser,
                # No sandbox within containers, and no profile but its own.
                *("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"),
                *("--dump-dom", f"http://127.0.0.1:{port}/page"),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                page, _ = await asyncio.wait_for(process.communicate(), 120)
            finally:
                if process.returncode is None:
                    process.send_signal(signal.SIGKILL)
                    await process.wait()
    found = re.search(r'<pre id="seen">(.*?)</pre>', page.decode(), re.DOTALL)
    assert found is not None, page
    seen = {metric["name"]: metric for metric in json.loads(html.unescape(found[1]))}
    assert seen["db"]["description"] == "1 query"
    assert seen["db"]["duration"] > 0
    assert seen["q1"]["description"] == "SELECT pg_class"
    assert seen["total"]["duration"] > seen["db"]["duration"]
