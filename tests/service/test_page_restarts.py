"""The live page goes on while processes are replaced, and when the service was away."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import TYPE_CHECKING

import pytest

from benches.service.pictures.browser import NAMES, chromium, installed
from benches.service.restarts.requests import steady
from benches.service.restarts.rolling import restart
from examples.service.commands import application, free_port
from tests.service.test_page import CALM

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# The loop of a test only drives the browser.
pytestmark = [pytest.mark.thorough, pytest.mark.asyncio(loop_factories=["asyncio"])]
STATE = "document.getElementById('state').textContent"
SECOND = "Number(document.documentElement.dataset.second)"


@pytest.fixture
def settings(
    service_dsn: str, quick_suppliers: list[str], flechette: Path, tmp_path: Path
) -> Mapping[str, str]:
    if installed() is None:
        pytest.skip(f"none of {', '.join(NAMES)} is installed")
    for name in ("beats", "live"):
        (tmp_path / name).mkdir()
    return {
        **CALM,
        "SERVICE_DSN": service_dsn,
        "SERVICE_SUPPLIERS": ",".join(quick_suppliers),
        "SERVICE_BEAT_FOLDER": str(tmp_path / "beats"),
        "SERVICE_LIVE_FOLDER": str(tmp_path / "live"),
        "SERVICE_FLECHETTE": str(flechette),
    }


@pytest.mark.parametrize("server", ["gunicorn", "granian"])
async def test_figures_go_on_while_processes_are_replaced(
    server: str, settings: Mapping[str, str], tmp_path: Path
) -> None:
    port = free_port()
    address, stop = f"http://127.0.0.1:{port}", asyncio.Event()
    starting = application(server, "starlette", port, 2, settings)
    process = await asyncio.to_thread(starting.__enter__)
    try:
        load = asyncio.create_task(steady(address, 20, stop))
        async with chromium(tmp_path / "profile") as browser, browser.page() as page:
            await page.open(f"{address}/live")
            began = await page.until(f"{STATE} === 'live' && {SECOND}")
            await restart(server, process.pid, tmp_path / "beats", 2)
            now = await page.value(SECOND)
            assert now > began
            # The new processes are seen, and those that have ended still are.
            await page.until("document.querySelectorAll('#processes li').length >= 4")
            await page.until("document.querySelectorAll('[data-state=ended]').length === 2")
            later = f"{SECOND} > {now + 2} && {STATE} === 'live'"
            await page.until(later)
            # No second is missing on the way, whichever process answered.
            known = f"[...Array({now - began}).keys()].every((n) => live.rows({began} + n).length)"
            assert await page.value(known)
            assert page.errors == []
        stop.set()
        outcome = await load
    finally:
        stop.set()
        await asyncio.to_thread(starting.__exit__, None, None, None)
    assert outcome.failed == 0, outcome


async def test_a_service_that_was_away_is_found_again(
    settings: Mapping[str, str], tmp_path: Path
) -> None:
    port = free_port()
    async with chromium(tmp_path / "profile") as browser, browser.page() as page:
        seen = 0
        for _ in range(2):
            starting = application("granian", "starlette", port, 1, settings)
            await asyncio.to_thread(starting.__enter__)
            try:
                if not seen:
                    await page.open(f"http://127.0.0.1:{port}/live")
                seen = await page.until(
                    f"{STATE}.startsWith('live') && {SECOND} > {seen} && {SECOND}"
                )
            finally:
                await asyncio.to_thread(starting.__exit__, None, None, None)
            await page.until(f"{STATE}.startsWith('reconnecting')")
        assert page.errors == []


async def test_a_process_that_hangs_is_named_and_the_others_are_shown(
    settings: Mapping[str, str], tmp_path: Path
) -> None:
    port = free_port()
    starting = application("gunicorn", "starlette", port, 2, settings)
    await asyncio.to_thread(starting.__enter__)
    try:
        async with chromium(tmp_path / "profile") as browser, browser.page() as page:
            await page.open(f"http://127.0.0.1:{port}/live")
            await page.until(f"{STATE}.startsWith('live') && live.processes.length === 2")
            stopped = int(await page.value("live.processes[0].process"))
            os.kill(stopped, signal.SIGSTOP)
            try:
                named = f"process {stopped} does not answer its loop"
                await page.until(f"{STATE} === '{named}' && {SECOND}")
                second = await page.value(SECOND)
                await page.until(f"{SECOND} > {second + 1}")
            finally:
                # gunicorn itself kills it after thirty seconds.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(stopped, signal.SIGCONT)
            await page.until(f"{STATE}.startsWith('live')")
            assert page.errors == []
    finally:
        await asyncio.to_thread(starting.__exit__, None, None, None)
