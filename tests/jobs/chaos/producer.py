"""A process that adds chunks of jobs: `python -m tests.jobs.chaos.producer DSN CHUNK JOBS`.

It reads the numbers of chunks, and answers each one with a line. A chunk and its line in the table
`added` are one transaction, so a chunk whose answer was lost is asked for again, and is refused if
it is there.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

import colonnade.sync
from colonnade.errors import (
    InterfaceError,
    InternalClientError,
    PostgresError,
    UniqueViolationError,
)
from colonnade.jobs import sync as jobs
from tests.jobs.chaos.plan import QUEUE, marks_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


def add(queue: jobs.Queue, number: int, numbers: NDArray[np.int64]) -> None:
    """Add a chunk once. Of six, one has a delay, one a lower priority, and one keys."""
    options: dict[int, dict[str, Any]] = {1: {"delay": 0.05}, 2: {"priority": 1}}
    if queue.definition.layout == "rows":
        options[3] = {"key": "n"}
    columns = {
        "n": numbers,
        "mark": marks_of(numbers),
        "body": [f"job {each}" for each in numbers.tolist()],
    }
    with (
        queue.pool.acquire() as connection,
        connection.transaction(isolation="read_committed"),
    ):
        connection.execute("INSERT INTO public.added VALUES ($1)", number)
        queue.add(columns, connection=connection, **options.get(number % 6, {}))


def answers(pool: colonnade.sync.Pool, chunk: int, total: int) -> None:
    queue: jobs.Queue | None = None
    for line in sys.stdin:
        number = int(line)
        numbers = np.arange(number * chunk, min((number + 1) * chunk, total))
        try:
            queue = queue or jobs.open_queue(pool, QUEUE)
            add(queue, number, numbers)
        except UniqueViolationError:
            answer = "added before"
        except (OSError, PostgresError, InterfaceError, InternalClientError) as error:
            answer = f"failed: {error!r}"
        else:
            answer = "added"
        sys.stdout.write(answer.replace("\n", " ") + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    with colonnade.sync.create_pool(
        sys.argv[1], min_size=0, max_size=1, command_timeout=10, timeout=5
    ) as opened:
        answers(opened, int(sys.argv[2]), int(sys.argv[3]))
