"""How a simulated supplier behaves: log-normal times, some slow answers, some failures."""

from __future__ import annotations

import random
from dataclasses import dataclass

import orjson

from examples.service.data import CARRIERS

#: How many different answers a supplier has.
_ANSWERS = 64
_OFFERS = 10


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """The shares of the answers by kind; times are in seconds."""

    median: float = 0.015
    spread: float = 0.5
    """The sigma of the logarithm."""
    slow: float = 0.05
    """These take `slow_factor` times as long."""
    slow_factor: float = 20.0
    failing: float = 0.02
    """These have the status 500."""
    hanging: float = 0.002
    """These never come."""

    def draw(self, chance: random.Random) -> tuple[int, float | None]:
        """A status, and the time until it is sent: None for never."""
        if chance.random() < self.hanging:
            return 200, None
        seconds = self.median * chance.lognormvariate(0, self.spread)
        if chance.random() < self.slow:
            seconds *= self.slow_factor
        return (500 if chance.random() < self.failing else 200), seconds


#: The moods to which `/mood/NAME` changes all suppliers of a process.
MOODS = {
    "usual": Behaviour(),
    "quick": Behaviour(median=0.001, slow=0, failing=0, hanging=0),
    "failing": Behaviour(failing=1.0, hanging=0),
    "hanging": Behaviour(hanging=1.0),
}


def answers_of(supplier: int) -> list[bytes]:
    """The answers of a supplier, in JSON columns; always the same."""
    chance = random.Random(supplier)
    return [_answer(chance) for _ in range(_ANSWERS)]


def _answer(chance: random.Random) -> bytes:
    offers = {
        "carrier": [chance.choice(CARRIERS) for _ in range(_OFFERS)],
        "hour": [chance.randrange(6, 22) for _ in range(_OFFERS)],
        "price": [round(chance.uniform(60, 900), 2) for _ in range(_OFFERS)],
        "seats": [chance.randrange(1, 9) for _ in range(_OFFERS)],
    }
    return orjson.dumps(offers)
