"""A background thread returns the memory of dropped results to the system."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.columns.conftest import Fetch

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="large blocks are separate pages on Linux only"
)

ROWS = 750_000
QUERY = f"SELECT i::int8 AS id, i::float8 AS x FROM generate_series(1, {ROWS}) AS i"
RESULT_BYTES = 16 * ROWS


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def is_giving_back() -> bool:
    """Whether this process's thread that returns memory is running."""
    names = (task / "comm" for task in Path("/proc/self/task").iterdir())
    return any(_text_or_none(name) == "colonnade-free\n" for name in names)


def _text_or_none(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii")
    except FileNotFoundError:  # The thread ended after it was listed.
        return None


def wait_for(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.01)


def settled_bytes() -> int:
    """The resident memory after all dropped memory has been returned."""
    gc.collect()
    wait_for(lambda: not is_giving_back())
    return resident_bytes()


def test_a_dropped_result_goes_back(fetch: Fetch) -> None:
    fetch("SELECT 1")
    before = settled_bytes()
    columns = fetch(QUERY)
    assert resident_bytes() - before > 0.9 * RESULT_BYTES
    del columns
    wait_for(lambda: resident_bytes() - before < 0.2 * RESULT_BYTES)
    wait_for(lambda: not is_giving_back())


def test_many_that_are_dropped_while_others_come(fetch: Fetch) -> None:
    fetch("SELECT 1")
    before = settled_bytes()
    for _ in range(5):
        fetch(QUERY)
    wait_for(lambda: resident_bytes() - before < 0.2 * RESULT_BYTES)
    wait_for(lambda: not is_giving_back())


def test_a_view_outlives_its_columns(fetch: Fetch) -> None:
    fetch("SELECT 1 AS id")["id"]  # NumPy's import is counted before.
    before = settled_bytes()
    columns = fetch(QUERY)
    view = columns["id"]
    del columns
    wait_for(lambda: resident_bytes() - before < 0.7 * RESULT_BYTES)
    assert view.sum() == ROWS * (ROWS + 1) // 2
    del view
    wait_for(lambda: resident_bytes() - before < 0.2 * RESULT_BYTES)


_FORKED = """
import os, sys, threading, warnings
import colonnade.sync
# Not as `tests.columns`: a library of the tests installs a package of that name.
sys.path.insert(0, sys.argv[2])
from test_given_back import QUERY, RESULT_BYTES, resident_bytes, wait_for

dsn = sys.argv[1]
# Python 3.12 and newer warn while the thread is running.
warnings.filterwarnings("ignore", ".*multi-threaded, use of fork", DeprecationWarning)

def drop_one():
    with colonnade.sync.connect(dsn) as connection:
        columns = connection.fetch_columns(QUERY)
        held = resident_bytes()
        del columns
        return held

for _ in range(3):
    drop_one()
    # The thread is running now, or has just ended.
    child = os.fork()
    if not child:
        # Memory that the parent dropped may already have been returned, in the child too.
        held = drop_one()
        wait_for(lambda: held - resident_bytes() > 0.8 * RESULT_BYTES)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def test_a_child_gives_back_what_it_drops(dsn: str) -> None:
    """A child forked while its parent's thread is running does not have that thread."""
    done = subprocess.run(
        [sys.executable, "-c", _FORKED, dsn, str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
