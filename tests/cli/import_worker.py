"""A program that runs `colonnade import` in its own process for each line it is given.

A line is a JSON array of words. The answer is a line as well: the exit status, the text of
standard error, and the traceback of an exception that left the command. If the process dies
instead, the caller knows which file was the cause.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import sys
import traceback

from colonnade.cli.app import run

# A false length must be refused, and must not exhaust the machine's memory.
MEMORY_BYTES_MOST = 8 << 30


def main() -> None:
    """Answer until the input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MOST, MEMORY_BYTES_MOST))
    for line in sys.stdin:
        sys.argv = ["colonnade", *json.loads(line)]
        told = io.StringIO()
        escaped = None
        status = -1
        with contextlib.redirect_stderr(told):
            try:
                status = run()
            except BaseException:  # noqa: BLE001 - every exception is reported
                escaped = traceback.format_exc()
        sys.stdout.write(json.dumps([status, told.getvalue(), escaped]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
