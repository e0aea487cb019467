"""Leases end by the server's clock alone; a worker's clock may be wrong, and may step."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import colonnade.sync
from colonnade import embedded
from colonnade.embedded._binaries import Binaries
from colonnade.jobs import LeaseLostError, sync as jobs
from tests.jobs.chaos import clocks
from tests.jobs.chaos.plan import LAYOUTS, Layout

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(
        clocks.library() is None,
        reason="libfaketime is not installed (Debian's package is faketime)",
    ),
]

ROOT = Path(__file__).resolve().parents[3]
DAY_S = 86_400.0
LEASE_S = 1.0

# A worker that takes a job and lets its lease end: it tells what its clock shows before and after.
HOLDER = """
import sys, time
import colonnade.sync
from colonnade.jobs import sync as jobs
with colonnade.sync.create_pool(sys.argv[1], min_size=1, max_size=1) as pool:
    queue = jobs.open_queue(pool, "work")
    print(time.time(), flush=True)
    batch = queue.get(lease=float(sys.argv[2]))
    print(len(batch), flush=True)
    sys.stdin.readline()
    print(time.time(), flush=True)
    batch.extend(float(sys.argv[2]))
    print(batch.until.timestamp(), flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> Layout:
    chosen: Layout = request.param
    return chosen


@pytest.mark.parametrize("step", [DAY_S, -DAY_S])
def test_the_clock_of_a_worker_changes_no_lease(
    dsn: str, tmp_path: Path, step: float, layout: Layout
) -> None:
    clock = clocks.Clock(tmp_path)
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=2) as pool:
        queue = jobs.create_queue(pool, "work", {"a": "int8"}, layout=layout)
        try:
            queue.add({"a": [1]})
            with subprocess.Popen(
                [sys.executable, "-c", HOLDER, dsn, str(LEASE_S)],
                cwd=ROOT,
                env={**os.environ, **clock.environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            ) as holder:
                assert holder.stdin is not None
                assert holder.stdout is not None
                before = float(holder.stdout.readline())
                assert abs(before - time.time()) < 60
                assert holder.stdout.readline() == "1\n"
                clock.set(step)
                began = time.monotonic()
                holder.stdin.write("\n")
                holder.stdin.flush()
                assert abs(float(holder.stdout.readline()) - time.time() - step) < 60
                # Extended by a clock that is a day off: it lasts its second, and no day.
                assert abs(float(holder.stdout.readline()) - time.time() - step) < 60
                batch = queue.get(lease=60, timeout=30)
                waited = time.monotonic() - began
                assert len(batch) == 1
                assert LEASE_S <= waited < 20
                batch.ack()
                holder.kill()
        finally:
            pool.execute("DROP SCHEMA jobs CASCADE")


@pytest.fixture
def clock(tmp_path_factory: pytest.TempPathFactory) -> clocks.Clock:
    directory = tmp_path_factory.mktemp("clock")
    # The server's account reads it.
    for path in (directory, *directory.parents[:2]):
        path.chmod(0o755)
    return clocks.Clock(directory)


@pytest.fixture
def stepping(clock: clocks.Clock, tmp_path: Path) -> Iterator[embedded.Server]:
    """A server whose clock is the test's."""
    found = embedded.find_binaries()
    for program in found.directory.iterdir():
        if program.name != "postgres":
            (tmp_path / program.name).symlink_to(program)
    wrapper = tmp_path / "postgres"
    settings = "".join(f"export {name}='{value}'\n" for name, value in clock.environment.items())
    wrapper.write_text(f'#!/bin/sh\n{settings}exec {found.postgres} "$@"\n')
    wrapper.chmod(0o755)
    for path in (tmp_path, *tmp_path.parents[:2]):
        path.chmod(0o755)
    binaries = Binaries(tmp_path, found.version, found.source)
    with embedded.start(binaries=binaries) as server:
        yield server


def test_when_the_servers_clock_steps_nothing_is_lost(
    stepping: embedded.Server, clock: clocks.Clock, layout: Layout
) -> None:
    with colonnade.sync.create_pool(stepping.dsn, min_size=1, max_size=2) as pool:
        queue = jobs.create_queue(pool, "work", {"a": "int8"}, layout=layout)
        queue.add({"a": [1, 2]})
        first = queue.get(lease=600)
        assert not queue.get(timeout=0)
        clock.set(DAY_S)
        # All leases have ended: others get the jobs, and only they can acknowledge them.
        second = queue.get(lease=600, timeout=5)
        assert sorted(second.ids.tolist()) == sorted(first.ids.tolist())
        with pytest.raises(LeaseLostError):
            first.ack()
        clock.set(-DAY_S)
        # The lease lasts longer, and its holder can end it.
        assert not queue.get(timeout=0)
        second.ack(second.ids[:1])
        second.nack(delay=0.0)
        third = queue.get(lease=600, timeout=5)
        assert len(third) == 1
        third.ack()
        assert queue.stats().total == 0
