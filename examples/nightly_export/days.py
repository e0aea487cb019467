"""Days of a table as files: each day is one Parquet file, which is complete or absent.

So the files themselves say what is done. A run that was killed goes on where it was, and a day that
is exported twice has the same file. A day without orders has a file without rows.
"""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

from colonnade import sync

# The day is in the name of the folder, where pyarrow, Polars and DuckDB find it.
QUERY = "SELECT id, country, amount FROM orders WHERE day = $1 ORDER BY id"
# A numeric without a declared scale would get that of its first rows.
TYPES = ("amount=decimal128(18, 2)",)
#: Two runs at once would do the same work.
LOCK = 7_240_613
CONNECT_SECONDS = 10.0
ENDING_SECONDS = 10.0


class BusyError(Exception):
    """Another run is at work."""


class DayError(Exception):
    """A day could not be exported; the text is what the command line said."""


def days_between(first: dt.date, end: dt.date) -> list[dt.date]:
    """The days from the first one on, before the end."""
    return [first + dt.timedelta(days=number) for number in range((end - first).days)]


def due(folder: Path, days: Iterable[dt.date], *, recent: int = 0) -> list[dt.date]:
    """The days without a file, and the latest ones again: rows may have come late."""
    listed = sorted(days)
    again = listed[len(listed) - recent :]
    return [day for day in listed if day in again or not path_of(folder, day).exists()]


def path_of(folder: Path, day: dt.date) -> Path:
    """The file of a day."""
    return folder / f"day={day.isoformat()}" / "orders.parquet"


@contextmanager
def only_run(dsn: str) -> Generator[None]:
    """Be the only run; raise BusyError if there is one, and OSError if there is no server."""
    with sync.connect(dsn, timeout=CONNECT_SECONDS) as connection:
        if not connection.fetchval("SELECT pg_try_advisory_lock($1)", LOCK):
            raise BusyError("another export is at work")
        yield


def export_day(dsn: str, folder: Path, day: dt.date) -> int:
    """Write the file of a day, and return its number of rows; raise DayError if that failed."""
    target = path_of(folder, day)
    target.parent.mkdir(parents=True, exist_ok=True)
    schema = [word for text in TYPES for word in ("--schema", text)]
    options = [*schema, "--fsync", "--quiet", "--output", str(target)]
    command = [sys.executable, "-m", "colonnade.cli", "export", QUERY, str(day), *options]
    # Not as an option: other users can read those in the list of processes.
    environment = {**os.environ, "COLONNADE_DSN": dsn}
    with subprocess.Popen(
        command, env=environment, text=True, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as export:
        try:
            _, said = export.communicate()
        except BaseException:
            # It cancels its query and removes the half file.
            export.terminate()
            export.wait(ENDING_SECONDS)
            raise
    if export.returncode:
        raise DayError(said.strip())
    rows: int = pq.read_metadata(target).num_rows
    return rows
