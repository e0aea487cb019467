"""A worker's process: `python -m tests.jobs.chaos.worker ASSIGNMENT`."""

from __future__ import annotations

import asyncio
import faulthandler
import os
import signal
import sys
import threading
import time

from tests.jobs.chaos import tasks, threads
from tests.jobs.chaos.plan import Assignment, Kind
from tests.jobs.chaos.scribe import Scribe


def _sleep(seconds: float) -> None:
    threading.Event().wait(seconds)


def _end_with_the_conductor() -> None:
    # Not by sys.stdin, whose lock an interpreter that ends would miss.
    os.read(0, 1)
    os._exit(1)


def main(text: str) -> None:
    threading.Thread(target=_end_with_the_conductor, daemon=True).start()
    assignment = Assignment.from_json(text)
    if "FAKETIME_TIMESTAMP_FILE" in os.environ:
        # libfaketime breaks clock_nanosleep once its clock has stepped back.
        time.sleep = _sleep  # type: ignore[assignment]
    # The conductor asks a process that does not end what it waits for.
    faulthandler.register(signal.SIGUSR1)
    scribe = Scribe(assignment)
    try:
        if assignment.kind in {Kind.VERBS.name, Kind.CONSUMER.name}:
            asyncio.run(tasks.Worker(assignment, scribe).run())
        else:
            threads.Worker(assignment, scribe).run()
    except BaseException as error:
        scribe.wrong(f"the worker ended by {error!r}")
        raise
    scribe.stopped()


if __name__ == "__main__":
    main(sys.argv[1])
