"""Looks at every page of the built site in a headless Chromium.

Each page is opened at the width of a phone and of a desk, in the light and in the dark scheme. A
complaint is: the page scrolls sideways, text leaves its box, a picture is missing, a script fails,
an address is not found, something is fetched from another host.

    python -m tools.pages.look_at_site [build/site] [--shots DIR] [--only tutorial.html ...]
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import functools
import http.server
import itertools
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tools.pages.browser import Browser, Page, installed

ROOT = Path(__file__).resolve().parents[2]
WIDTHS = {"phone": 390, "desk": 1440}
HEIGHT = 900
#: How often, and with which pauses, the page is asked whether the search has found anything.
LOOKS, LOOK_S = 1200, 0.05
#: The scheme that the system asks for, and its name on the site.
SCHEMES = {"light": "default", "dark": "slate"}
_CHECK = (Path(__file__).parent / "look_at_site.js").read_text("utf-8")


class Complaint(NamedTuple):
    """A fault of a page, and the view that shows it."""

    page: str
    view: str
    words: str


def main() -> int:
    """Look at all pages, and print the complaints; return 1 if there are any."""
    parser = argparse.ArgumentParser(prog="tools.pages.look_at_site", description=__doc__)
    parser.add_argument("site", type=Path, nargs="?", default=ROOT / "build" / "site")
    parser.add_argument("--shots", type=Path, help="write pictures of the pages to this folder")
    parser.add_argument("--only", nargs="+", help="look at these pages only")
    asked = parser.parse_args()
    program = installed()
    if program is None:
        print("No Chromium is installed: nobody has looked at the site")
        return 0
    pages = asked.only or pages_of(asked.site)
    if asked.shots is not None:
        asked.shots.mkdir(parents=True, exist_ok=True)
    complaints = asyncio.run(look(program, asked.site, pages, asked.shots))
    for complaint in complaints:
        print(f"{complaint.page} ({complaint.view}): {complaint.words}")
    print(f"{len(pages)} pages in {len(WIDTHS) * len(SCHEMES)} views: {len(complaints)} complaints")
    return bool(complaints)


def pages_of(site: Path) -> list[str]:
    """Return the paths of all pages of a site."""
    return sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))


async def look(
    program: str, site: Path, pages: Sequence[str], shots: Path | None = None
) -> list[Complaint]:
    """Look at pages of a site in all views, with a browser for each processor."""
    unseen = iter(pages)
    with _served(site) as address:

        async def looked_on() -> list[list[Complaint]]:
            # A page in the background does not animate, so each page has a browser to itself.
            async with Browser.started(program) as browser:
                page = await browser.page()
                return [await _visited(page, address, path, shots) for path in unseen]

        async def searched() -> list[list[Complaint]]:
            async with Browser.started(program) as browser:
                return [await _searched(await browser.page(), address)]

        lanes = [looked_on() for _ in range(os.cpu_count() or 1)]
        found = await asyncio.gather(*lanes, searched())
    return [complaint for lane in found for complaints in lane for complaint in complaints]


@contextlib.contextmanager
def _served(site: Path) -> Iterator[str]:
    """Serve a folder to this machine, for the block."""
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Say nothing."""


class _Watch:
    """Collects what a page's events say is wrong."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.words: list[str] = []

    def __call__(self, method: str, params: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            thrown = details.get("exception", {}).get("description", details["text"])
            self.words.append(f"a script failed: {thrown}")
        elif method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith((self._address, "data:", "blob:", "about:")):
                self.words.append(f"fetched from another host: {url}")
        elif method == "Network.responseReceived" and params["response"]["status"] >= 400:
            self.words.append(f"not found: {params['response']['url']}")


async def _visited(page: Page, address: str, path: str, shots: Path | None) -> list[Complaint]:
    """Open a page once, and look at it in all views."""
    page.on_event = watch = _Watch(address)
    await page.open(f"{address}/{path}")
    found = []
    for width, scheme in itertools.product(WIDTHS, SCHEMES):
        await _turn_to(page, WIDTHS[width], scheme)
        seen = await page.value(_CHECK)
        if seen["scheme"] != SCHEMES[scheme]:
            seen["complaints"].append(f"the scheme is {seen['scheme']}")
        found += [Complaint(path, f"{width}, {scheme}", words) for words in seen["complaints"]]
        if shots is not None:
            target = shots / f"{path.replace('/', '-')}.{width}.{scheme}.png"
            shot = await page.send("Page.captureScreenshot", {"format": "png"})
            await asyncio.to_thread(target.write_bytes, base64.b64decode(shot["data"]))
    return found + [Complaint(path, "all views", words) for words in watch.words]


async def _turn_to(page: Page, width: int, scheme: str) -> None:
    size = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    await page.send("Emulation.setDeviceMetricsOverride", size)
    wanted = {"name": "prefers-color-scheme", "value": scheme}
    await page.send("Emulation.setEmulatedMedia", {"features": [wanted]})


async def _searched(page: Page, address: str) -> list[Complaint]:
    """Type a word into the search, as a reader does, and wait for a page that has it."""
    await page.open(f"{address}/index.html")
    await page.value("document.querySelector('input.md-search__input').focus()")
    await page.send("Input.insertText", {"text": "fetch_columns"})
    for _ in range(LOOKS):
        if await page.value("document.querySelectorAll('.md-search-result__item').length"):
            return []
        await asyncio.sleep(LOOK_S)
    return [Complaint("index.html", "search", "nothing is found for fetch_columns")]


if __name__ == "__main__":
    sys.exit(main())
