"""The orders of each day as Parquet files: ``python -m examples.nightly_export FOLDER``.

cron, a systemd timer or a Kubernetes CronJob can start it. The server is that of COLONNADE_DSN. The
exit status tells the scheduler what to do: 0 all days are there; 1 some day failed, look at it; 2
wrong usage; 75 nothing was done, try again later; 143 it was stopped, and goes on when run again.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import signal
import sys
import time
from pathlib import Path

from colonnade.sync import InterfaceError, PostgresError
from examples.nightly_export import days

DONE, FAILED, USAGE, TRY_AGAIN = 0, 1, 2, 75
STOPPED = 128 + signal.SIGTERM


def main() -> int:
    """Export what is due, and return the exit status."""
    options = _options()
    dsn = os.environ.get("COLONNADE_DSN")
    if not dsn:
        print("COLONNADE_DSN is not set", file=sys.stderr)
        return USAGE
    # `kill` unwinds the stack as Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(STOPPED))
    try:
        with days.only_run(dsn):
            return _export(dsn, options)
    except days.BusyError as error:
        print(error, file=sys.stderr)
    except (OSError, InterfaceError, PostgresError) as error:
        print(f"the server cannot be reached: {error}", file=sys.stderr)
    return TRY_AGAIN


def _export(dsn: str, options: argparse.Namespace) -> int:
    asked = days.days_between(options.first, options.until)
    status = DONE
    for day in days.due(options.folder, asked, recent=options.recent):
        started = time.monotonic()
        try:
            rows = days.export_day(dsn, options.folder, day)
        except days.DayError as error:
            # The other days do not depend on this one.
            print(f"{day}: {error}", file=sys.stderr, flush=True)
            status = FAILED
        else:
            print(f"{day}: {rows:,} rows, {time.monotonic() - started:.1f} s", flush=True)
    return status


def _options() -> argparse.Namespace:
    today = dt.datetime.now(tz=dt.UTC).date()
    parser = argparse.ArgumentParser(prog="examples.nightly_export", description=__doc__)
    parser.add_argument("folder", type=Path)
    week_ago = today - dt.timedelta(days=7)
    parser.add_argument("--first", type=dt.date.fromisoformat, default=week_ago, metavar="DAY")
    parser.add_argument(
        "--until", type=dt.date.fromisoformat, default=today, metavar="DAY", help="not included"
    )
    parser.add_argument("--recent", type=int, default=1, help="latest days to export again")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
