"""A program that runs `colonnade import` in its own process for each line it is given.

A line is a JSON array of words. The answer is a line as well: the exit status, what was written to
standard error, and the traceback of an exception that has left the command. Where the process dies
instead, whoever waits for the answer knows of which file.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import sys
import traceback

from colonnade.cli.app import run

# A length that lies is to be refused, and not to take the machine's memory.
MEMORY_BYTES_MOST = 8 << 30


def main() -> None:
    """Answer until there is nothing more to do."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MOST, MEMORY_BYTES_MOST))
    for line in sys.stdin:
        sys.argv = ["colonnade", *json.loads(line)]
        told = io.StringIO()
        escaped = None
        status = -1
        with contextlib.redirect_stderr(told):
            try:
                status = run()
            except BaseException:  # noqa: BLE001 - whatever leaves the command is told
                escaped = traceback.format_exc()
        sys.stdout.write(json.dumps([status, told.getvalue(), escaped]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
