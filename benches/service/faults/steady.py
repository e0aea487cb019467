"""Requests of every route at a steady rate, each answer compared with the truth."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benches.service.faults.truth import (
    ANALYTICS,
    DESTINATIONS,
    EXPORT,
    RIGHT,
    Truth,
    WrongAnswerError,
)

if TYPE_CHECKING:
    from benches.service.load.http_client import Client

#: A request that takes longer than this hangs.
PATIENCE = 20.0
#: Refusals of a busy machine, which say nothing of the fault.
_OF_THE_MACHINE = frozenset({"503 loop", "503 deadline"})
#: Never the same again, also under the next fault: it would be in the cache.
_new = itertools.count(1)


@dataclass(frozen=True)
class Answered:
    """The answer to a request; times are those of the loop."""

    path: str
    due: float
    ended: float
    verdict: str


@dataclass
class Record:
    """All requests of a run."""

    answers: list[Answered] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def counts(self) -> dict[str, int]:
        """How many answers were what."""
        return dict(Counter(answer.verdict for answer in self.answers).most_common())

    @property
    def hung(self) -> list[str]:
        """The paths that were not answered at all."""
        return [answer.path for answer in self.answers if answer.verdict == "TimeoutError"]

    @property
    def longest(self) -> float:
        """The seconds of the request that took longest."""
        return max((answer.ended - answer.due for answer in self.answers), default=0.0)

    def recovery(self, healed: float) -> float:
        """The seconds from the end of a fault until the last answer that it spoiled."""
        return max(
            (
                answer.ended - healed
                for answer in self.answers
                if answer.ended > healed and answer.verdict not in {RIGHT, *_OF_THE_MACHINE}
            ),
            default=0.0,
        )

    def is_well(self, since: float) -> bool:
        """Whether every request since then was answered right, and each route was asked for."""
        late = [answer for answer in self.answers if answer.due >= since]
        routes = {answer.path.partition("?")[0] for answer in late if answer.verdict == RIGHT}
        spoiled = {answer.verdict for answer in late} - {RIGHT, *_OF_THE_MACHINE}
        return not spoiled and {"/search", "/analytics", "/export"} <= routes


def path_of(number: int) -> str:
    """Of twenty requests, twelve are answered by the cache, and four ask for something new."""
    place = number % 20
    dest = DESTINATIONS[number // 20 % len(DESTINATIONS)]
    if place in {2, 12}:
        return ANALYTICS
    if place == 7:
        return EXPORT
    if place == 17:
        return "/readyz"
    if place % 5 == 1:
        return f"/search?dest={dest}&max_price={900 + next(_new) / 1e4:.4f}"
    return "/search?dest=D11"


async def steady(
    client: Client, truth: Truth, rate: float, stop: asyncio.Event, record: Record
) -> None:
    """Send requests until `stop`, and wait for the last answers."""
    loop = asyncio.get_running_loop()

    async def ask(path: str, due: float) -> None:
        try:
            verdict = truth.verdict(path, await client.get(path, seconds_max=PATIENCE))
        except WrongAnswerError as error:
            record.wrong.append(str(error))
            verdict = "wrong"
        except (OSError, TimeoutError) as error:
            verdict = type(error).__name__
        record.answers.append(Answered(path, due, loop.time(), verdict))

    began, number = loop.time(), 0
    async with asyncio.TaskGroup() as group:
        while not stop.is_set():
            due = began + number / rate
            await asyncio.sleep(max(0.0, due - loop.time()))
            group.create_task(ask(path_of(number), due))
            number += 1
