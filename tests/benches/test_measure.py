"""The instruments detect what they measure."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time

import pytest

from benches.measure.measurement import Measurement
from benches.measure.memory import PeakMemory
from benches.measure.peer import describe
from benches.measure.runner import run_peer
from benches.measure.ticker import Ticker

pytestmark = pytest.mark.thorough

MEBIBYTE = 1024 * 1024
ASYNC_NAMES = ("asyncpg-rows", "psycopg-rows", "adbc-arrow", "colonnade-columns", "colonnade-rows")
ROWS_SQL = "SELECT i, i::text AS t FROM generate_series(1, 1000) AS s(i)"


async def test_the_ticker_sees_a_hold_that_sleeps() -> None:
    async with Ticker() as ticker:
        time.sleep(0.08)  # noqa: ASYNC251 - the hold under test
    assert ticker.gap_s > 0.06
    assert ticker.burst_s < ticker.gap_s


async def test_the_ticker_sees_a_hold_that_works() -> None:
    async with Ticker() as ticker:
        end = time.thread_time() + 0.05
        while time.thread_time() < end:
            pass
    assert ticker.burst_s >= 0.05
    assert ticker.gap_s >= 0.04


async def test_the_ticker_sees_little_of_a_loop_that_is_free() -> None:
    async with Ticker() as ticker:
        await asyncio.sleep(0.05)
    assert ticker.burst_s < 0.04


def test_a_peak_is_remembered_after_it_is_gone() -> None:
    # Use a fresh process: in this one, memory of earlier tests may be returned meanwhile.
    program = (
        "from benches.measure.memory import PeakMemory\n"
        "memory = PeakMemory()\n"
        "block = bytearray(64 * 1024 * 1024)\n"
        "block[::4096] = b'x' * len(block[::4096])\n"
        "del block\n"
        "print(memory.growth_bytes())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert 60 * MEBIBYTE < int(done.stdout) < 80 * MEBIBYTE


def test_an_earlier_peak_does_not_count() -> None:
    block = bytearray(b"x" * 64 * MEBIBYTE)
    del block
    assert PeakMemory().growth_bytes() < 8 * MEBIBYTE


@pytest.mark.parametrize(
    "name", [*ASYNC_NAMES, "colonnade-columns-uvloop", "colonnade-columns-sync"]
)
def test_a_peer_in_a_process_of_its_own(name: str, dsn: str) -> None:
    peer = describe(f"benches.peers.{name.replace('-', '_')}")
    assert peer.unavailable is None
    outcome = run_peer(peer, dsn=dsn, sql=ROWS_SQL, hold=True, timeout_s=60)
    assert isinstance(outcome, Measurement), outcome
    assert outcome.rows == 1000
    assert 0 < outcome.wall_s < 60
    assert 0 < outcome.cpu_s < 60
    assert outcome.peak_memory_bytes is not None
    assert outcome.peak_memory_bytes < 200 * MEBIBYTE
    assert (outcome.result_bytes is None) == (peer.kind == "rows")
    blocking = name == "colonnade-columns-sync"
    assert (outcome.loop_gap_s is None) == blocking
    assert (outcome.idle_gap_s is None) == blocking


def test_a_password_is_in_no_argument_list_and_an_error_is_an_answer() -> None:
    job = {
        "module": "benches.peers.asyncpg_rows",
        "dsn": "postgresql://nobody:secret@127.0.0.1:1/none",
        "sql": "SELECT 1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "benches.measure.child"],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert "ConnectionRefusedError" in json.loads(done.stdout)["error"]
    assert "secret" not in done.stdout + done.stderr


def test_the_measuring_program_loads_nothing_of_others() -> None:
    code = """
import sys
import benches.measure.child
heavy = {"click", "rich", "matplotlib", "numpy", "pandas", "pyarrow", "asyncpg", "colonnade"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
