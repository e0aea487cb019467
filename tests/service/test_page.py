"""The live page in a real browser: its elements at three sizes, light and dark, and bad states."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from typing import TYPE_CHECKING, Any

import aiohttp
import numpy as np
import pytest

from benches.service.pictures.browser import NAMES, Page, chromium, installed
from colonnade import embedded, serve
from examples.service.data import prepared
from examples.service.page.tables import TABLES
from tests.service.serving import FLIGHTS, Service, serving

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator
    from pathlib import Path

    import colonnade

# The loop of a test only drives the browser.
pytestmark = pytest.mark.asyncio(loop_factories=["asyncio"])
SIZES = {"phone": (390, 844), "tablet": (820, 1180), "desk": (1440, 900)}
CANVASES = ("times", "requests", "loops", "pools", "lanes")
# Other tests may hold the processors: a queue that this makes is no reason to refuse here.
CALM = {"SERVICE_LOOP_AIM": "60", "SERVICE_POOL_AIM": "60", "SERVICE_DEADLINE": "20"}
LABELS = "[...document.querySelectorAll('canvas')].map(({ ariaLabel }) => ariaLabel ?? '')"
# How many colours each canvas has, and how far the page is wider than its window.
LOOK = """
(() => {
  const colors = {};
  for (const canvas of document.querySelectorAll("canvas")) {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    colors[canvas.id] = new Set(new Uint32Array(data.buffer)).size;
  }
  const root = document.documentElement;
  return {
    colors, overflow: root.scrollWidth - root.clientWidth,
    labels: LABELS,
    paper: getComputedStyle(document.body).backgroundColor,
    figures: [...document.querySelectorAll("#figures output")].map(({ value }) => value),
    processes: [...document.querySelectorAll("#processes li")].map((one) => one.textContent),
    state: document.getElementById("state").textContent,
  };
})()
""".replace("LABELS", LABELS)


@pytest.fixture(scope="module", params=[("granian", "starlette"), ("gunicorn", "quart")])
def service(
    request: pytest.FixtureRequest,
    service_dsn: str,
    quick_suppliers: list[str],
    flechette: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Service]:
    server, framework = request.param
    folder = tmp_path_factory.mktemp("live")
    settings = {**CALM, "SERVICE_LIVE_FOLDER": str(folder), "SERVICE_FLECHETTE": str(flechette)}
    beats = tmp_path_factory.mktemp("beats")
    with serving(server, framework, service_dsn, quick_suppliers, beats, **settings) as running:
        yield running


@pytest.fixture
async def page(tmp_path: Path) -> AsyncGenerator[Page]:
    if installed() is None:
        pytest.skip(f"none of {', '.join(NAMES)} is installed")
    profile = tmp_path / "profile"
    async with chromium(profile) as browser, browser.page() as opened:
        yield opened


async def ask(service: Service, *paths: str) -> None:
    async with aiohttp.ClientSession(service.address) as client:
        for path in paths:
            async with client.get(path) as response:
                await response.read()


async def read(service: Service, name: str) -> colonnade.Columns:
    return await serve.read(f"{service.address}/live/tables/{name}")


async def test_its_files_and_tables(service: Service) -> None:
    async with aiohttp.ClientSession(service.address) as client:
        for path in ("/", "/live"):
            async with client.get(path) as response:
                policy, html = response.headers["Content-Security-Policy"], await response.text()
        import_map = re.search('<script type="importmap">(.*?)</script>', html)
        assert import_map is not None
        digest = hashlib.sha256(import_map[1].encode()).digest()
        assert base64.b64encode(digest).decode() in policy
        for path in re.findall(r'(?:href|src)="(/live/[^"]+)"', html):
            async with client.get(path) as response:
                assert response.status == 200, path
        async with client.get("/live/tables/seconds?since=-1") as response:
            assert response.status == 400
    for name in TABLES:
        table = await read(service, name)
        assert "process" in table.names or name == "latencies"
    assert np.all((await read(service, "seconds"))["size_max"] == 4)


async def test_health_and_the_page_itself_are_not_counted(service: Service) -> None:
    await read(service, "processes")
    before = (await read(service, "seconds"))["answered"].sum()
    await ask(service, "/livez", "/search?month=5", "/live", "/analytics", "/export?months=1-1")
    async with asyncio.timeout(60):
        while (await read(service, "seconds"))["answered"].sum() < before + 3:
            pass
    assert (await read(service, "seconds"))["answered"].sum() == before + 3
    assert (await read(service, "latencies"))["answers"].sum() >= 3


async def test_its_elements_at_three_sizes_in_both_schemes(service: Service, page: Page) -> None:
    asking = asyncio.create_task(_steady(service))
    try:
        for size, (width, height) in SIZES.items():
            for scheme in ("light", "dark"):
                await page.resize(width, height, scheme=scheme)
                await page.open(f"{service.address}/live")
                await page.until("document.getElementById('state').textContent === 'live'")
                await page.until("document.getElementById('p99').value !== '\\u2013'")
                await page.until(f"({LABELS}).every((label) => label.includes('answered'))")
                found = await page.value(LOOK)
                where = (size, scheme, found)
                assert found["overflow"] == 0, where
                assert set(found["colors"]) == set(CANVASES)
                # Letters have many shades; a canvas that was not drawn on has one.
                assert min(found["colors"].values()) > 20, where
                assert all("answered" in label for label in found["labels"]), where
                assert "\u2013" not in found["figures"], where
                assert any("answers this page" in text for text in found["processes"]), where
                shade = int(re.findall(r"\d+", found["paper"])[0])
                assert (shade > 128) == (scheme == "light"), where
    finally:
        asking.cancel()
    assert page.errors == []


async def test_a_moment_is_told_by_pointer_and_keys(service: Service, page: Page) -> None:
    await ask(service, "/search?month=4")
    await page.resize(*SIZES["desk"], scheme="light")
    await page.open(f"{service.address}/live")
    await page.until("document.documentElement.dataset.second > 0")
    told = "document.getElementById('moment').textContent"
    assert await page.value(told) == ""
    await page.value("document.getElementById('strips').focus()")
    for key in ("ArrowLeft", "ArrowLeft"):
        await page.call("Input.dispatchKeyEvent", type="keyDown", key=key)
    assert "answered, p50" in await page.until(told)
    await page.call("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    assert await page.value(told) == ""
    box = "(({left, top, width}) => [left + width * 0.9, top + 50])"
    x, y = await page.value(f"{box}(document.getElementById('times').getBoundingClientRect())")
    await page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    assert await page.until(told)
    assert page.errors == []


async def test_a_database_that_is_away_is_told(
    quick_suppliers: list[str], flechette: Path, page: Page, tmp_path: Path
) -> None:
    settings = {**CALM, "SERVICE_FLECHETTE": str(flechette)}
    with embedded.start(tcp=True) as server:
        await prepared(server.dsn, FLIGHTS)
        running = serving("granian", "starlette", server.dsn, quick_suppliers, tmp_path, **settings)
        service = running.__enter__()
    try:
        # The server has stopped.
        asking = asyncio.create_task(_steady(service))
        await page.open(f"{service.address}/live")
        await page.until(
            "document.getElementById('state').textContent.includes('database is away')"
        )
        asking.cancel()
    finally:
        running.__exit__(None, None, None)
    assert page.errors == []


async def test_a_missing_module_is_told(
    service_dsn: str, quick_suppliers: list[str], page: Page, tmp_path: Path
) -> None:
    settings = {"SERVICE_FLECHETTE": str(tmp_path / "missing.mjs")}
    with serving(
        "granian", "starlette", service_dsn, quick_suppliers, tmp_path, **settings
    ) as service:
        await page.open(f"{service.address}/live")
        await page.until("document.getElementById('state').textContent.includes('npm install')")
    assert page.errors == []


async def _steady(service: Service) -> Any:
    """Ask until it is cancelled, whatever is answered."""
    paths = ("/search", "/analytics", "/search?month=7", "/export?months=2-2")
    async with aiohttp.ClientSession(service.address) as client:
        for number in range(100_000):
            async with client.get(f"{paths[number % 4]}") as response:
                await response.read()
            await asyncio.sleep(0.05)
