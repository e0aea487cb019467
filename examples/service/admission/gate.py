"""Decides which requests may begin, by what the process can do just now."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from examples.service.admission.allowance import Allowance
from examples.service.admission.drain_rate import DrainRate
from examples.service.admission.standing import StandingQueue

Cause: TypeAlias = Literal["pool", "loop", "deadline", "draining"]

QueueName: TypeAlias = Literal["pool", "loop"]

#: The longest advice: a client that would come back later has given up.
_RETRY_AFTER_MAX = 30

#: The seconds without a rest that tell how fast a route answers.
_BUSY_LEAST = 0.5

#: Answers that take this part of the aim are slow.
_SLOW = 0.9


@dataclass(frozen=True, slots=True)
class Rule:
    """The gate's rule for a route."""

    weight: float
    """Its work, in units: a search is 4."""
    seconds_max: float = math.inf
    """An answer that comes later is of no use."""
    aim: float = 0.8
    """The mean answer is to come in this part of `seconds_max`: some come later than the mean."""
    at_once_max: float = math.inf
    """The most under way at once: each holds a connection of the pool."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A queue of the process, and what is read of it: the wait at this moment, in seconds."""

    read: Callable[[], float]
    aim: float


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request may not begin, and after how many seconds to try again."""

    cause: Cause
    retry_after: int


@dataclass(slots=True)
class _Traffic:
    """The requests of a route."""

    entered: deque[float] = field(default_factory=deque)
    """When those under way began, the oldest first."""
    busy_since: float = 0.0
    rate: DrainRate = field(default_factory=DrainRate)
    seconds: DrainRate = field(default_factory=DrainRate)
    """How long they took, so that a mean is the quotient of both."""

    @property
    def under_way(self) -> int:
        """How many have not ended."""
        return len(self.entered)

    def begin(self, now: float) -> None:
        """Count one that is admitted."""
        if not self.entered:
            # Requests that left before a rest say nothing of how fast they leave now.
            self.busy_since, self.rate, self.seconds = now, DrainRate(), DrainRate()
        self.entered.append(now)

    def end(self, now: float) -> None:
        """Count one that has ended: for a mean, it is no matter which one."""
        self.seconds.done(now - self.entered.popleft(), now)
        self.rate.done(1, now)

    def is_late(self, aim: float, now: float) -> bool:
        """Whether the next one would be answered later than in `aim` seconds.

        Where some requests take long, because they wait for others, the number under way
        varies; so they must also have taken too long of late.
        """
        busy, rate = now - self.busy_since, self.rate.at(now)
        if busy < _BUSY_LEAST or not rate:
            return False
        mean = self.seconds.at(now) / rate
        # The moving mean of a short time is too low by what it does not remember yet.
        rate /= -math.expm1(-busy)
        # A rate below two a second, or of a moment, is too little to know a time by.
        if rate < 2:
            return False
        under_way = self.under_way + 1
        surely = under_way - 2 * math.sqrt(under_way)
        return surely > rate * aim or (under_way > rate * aim and mean > _SLOW * aim)


class Gate:
    """Admits requests, or refuses them by their cause.

    `pool` and `loop` name the queue that stands: then the units under way are limited, to less and
    less until the queue is gone. `deadline` says that a route answers too slowly to be of use: as
    many requests are under way as take longer than its `seconds_max` to be answered, by Little's
    law. `draining` is for a process that ends.

    The clock is passed to each call, so that tests can step it. Signals are read at most once per
    `interval` seconds.
    """

    def __init__(
        self,
        rules: Mapping[str, Rule],
        signals: Mapping[QueueName, Signal],
        *,
        interval: float = 0.1,
        least: float = 4.0,
    ) -> None:
        self._rules = rules
        self._signals = signals
        self._queues: Mapping[QueueName, StandingQueue] = {
            cause: StandingQueue(signal.aim, interval) for cause, signal in signals.items()
        }
        self._interval = interval
        self._allowance = Allowance(least)
        self._cause: Cause = "loop"
        self._traffic = {route: _Traffic() for route in rules}
        self._drained = DrainRate()
        self._load = 0.0
        self._load_most = 0.0
        self._next_look = -math.inf
        self.draining = False
        self.refused: dict[Cause, int] = {"pool": 0, "loop": 0, "deadline": 0, "draining": 0}
        """How many requests were refused, by cause."""

    @property
    def load(self) -> float:
        """The units under way."""
        return self._load

    def enter(self, route: str, now: float, *, seconds_max: float = math.inf) -> Refusal | None:
        """Admit a request, which is to `leave` later, or refuse it; other routes are admitted.

        `seconds_max` is what the client says; the shorter one of it and the rule's counts.
        """
        rule = self._rules.get(route)
        if rule is None:
            return None
        if now >= self._next_look:
            self._look(now)
        aim = rule.aim * min(rule.seconds_max, seconds_max)
        cause = self._objection(rule, self._traffic[route], aim, now)
        if cause is not None:
            self.refused[cause] += 1
            return Refusal(cause, self._retry_after(rule.weight, now))
        self._traffic[route].begin(now)
        self._load += rule.weight
        self._load_most = max(self._load_most, self._load)
        return None

    def seconds_max(self, route: str) -> float:
        """The seconds after which an answer of the route is of no use."""
        rule = self._rules.get(route)
        return math.inf if rule is None else rule.seconds_max

    def give_up(self, route: str, entered: float, now: float) -> Refusal:
        """Refuse a request that was admitted, and whose work was not begun; it does not `leave`.

        It was not answered, so it tells nothing of how fast the route answers.
        """
        rule = self._rules.get(route)
        weight = 0.0 if rule is None else rule.weight
        if rule is not None:
            self._traffic[route].entered.remove(entered)
            self._load -= weight
        self.refused["deadline"] += 1
        return Refusal("deadline", self._retry_after(weight, now))

    def drain(self) -> None:
        """Refuse everything from now on: the process ends."""
        self.draining = True

    def leave(self, route: str, now: float) -> None:
        """A request that was admitted has ended."""
        rule = self._rules.get(route)
        if rule is None:
            return
        self._traffic[route].end(now)
        self._load -= rule.weight
        self._drained.done(rule.weight, now)

    def _objection(self, rule: Rule, traffic: _Traffic, aim: float, now: float) -> Cause | None:
        if self.draining:
            return "draining"
        # One request of each route is always tried: without it, nothing would be learned.
        if traffic.under_way == 0:
            return None
        if traffic.under_way >= rule.at_once_max:
            return "pool"
        if self._load + rule.weight > self._allowance.limit:
            return self._cause
        return "deadline" if traffic.is_late(aim, now) else None

    def _look(self, now: float) -> None:
        """End an interval: read the signals, and set the allowance."""
        self._next_look = now + self._interval
        stands = False
        for cause, signal in self._signals.items():
            queue = self._queues[cause]
            queue.seen(signal.read(), now)
            if queue.stands(now):
                stands, self._cause = True, cause
        self._allowance.step(queue_stands=stands, load_most=self._load_most)
        self._load_most = self._load

    def _retry_after(self, weight: float, now: float) -> int:
        """The seconds until what is under way will have been drained."""
        rate = self._drained.at(now)
        seconds = (self._load + weight) / rate if rate > 0 else _RETRY_AFTER_MAX
        return max(1, min(_RETRY_AFTER_MAX, math.ceil(seconds)))
