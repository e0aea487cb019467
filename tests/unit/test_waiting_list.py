"""The order of the callers that wait for a connection, against a naive model."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, strategies as st

from colonnade._driver.pool_core.waiting import OVERTAKINGS_MAX, STALE_ENTRIES_MAX, WaitingList

SERVED_IN = OVERTAKINGS_MAX + 1


@dataclass(frozen=True)
class Caller:
    """A waiting caller of the model; `number` is its arrival."""

    number: int
    priority: int
    deadline: float


class Model:
    """A plain list in order of arrival; every question reads all of it."""

    def __init__(self) -> None:
        self.callers: list[Caller] = []
        self.overtakings = 0

    def first(self) -> Caller:
        if self.overtakings == OVERTAKINGS_MAX:
            return self.callers[0]
        return min(self.callers, key=lambda one: (-one.priority, one.deadline, one.number))

    def last(self) -> Caller:
        return min(self.callers, key=lambda one: (one.priority, -one.number))

    def serve(self, caller: Caller) -> None:
        self.overtakings = 0 if caller is self.callers[0] else self.overtakings + 1
        self.remove(caller)

    def remove(self, caller: Caller) -> None:
        self.callers.remove(caller)
        if not self.callers:
            self.overtakings = 0


_DEADLINES = st.sampled_from([math.inf, math.inf, 0.0, 1.0, 1.5, 7.0])
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(-2, 2), _DEADLINES),
        st.tuples(st.just("add"), st.just(0), st.just(math.inf)),
        st.tuples(st.just("serve"), st.just(0), st.just(0.0)),
        st.tuples(st.just("leave"), st.integers(0, 99), st.just(0.0)),
        st.tuples(st.just("evict"), st.just(0), st.just(0.0)),
    ),
    max_size=120,
)


@given(_STEPS)
def test_it_serves_as_a_naive_model_does(steps: list[tuple[str, int, float]]) -> None:
    waiting: WaitingList[Caller] = WaitingList()
    model = Model()
    served = 0
    # The number of served callers at which each one must have been served.
    bounds: dict[Caller, int] = {}
    for number, (step, figure, deadline) in enumerate(steps):
        if step == "add":
            caller = Caller(number, figure, deadline)
            bounds[caller] = served + SERVED_IN * (len(model.callers) + 1)
            waiting.add(caller, figure, deadline)
            model.callers.append(caller)
        elif model.callers and step == "serve":
            caller = waiting.first()
            assert caller is model.first()
            waiting.note_served(caller)
            model.serve(caller)
            served += 1
            assert served <= bounds.pop(caller)
        elif model.callers and step == "evict":
            lowest, caller = waiting.last()
            assert caller is model.last()
            assert lowest == caller.priority
            waiting.remove(caller)
            model.remove(caller)
        elif model.callers:
            caller = model.callers[figure % len(model.callers)]
            waiting.remove(caller)
            waiting.remove(caller)
            model.remove(caller)
        assert list(waiting.callers) == model.callers


def test_callers_without_priority_and_deadline_are_served_in_order_of_coming() -> None:
    waiting: WaitingList[int] = WaitingList()
    for number in range(100):
        waiting.add(number)
    for number in range(100):
        assert waiting.first() == number
        waiting.note_served(number)


def test_priority_comes_before_deadline_and_deadline_before_arrival() -> None:
    waiting: WaitingList[str] = WaitingList()
    waiting.add("plain")
    waiting.add("late", deadline=9.0)
    waiting.add("soon", deadline=3.0)
    waiting.add("important", priority=1)
    waiting.add("unimportant", priority=-1, deadline=0.0)
    assert waiting.last() == (-1, "unimportant")
    order = []
    while waiting.callers:
        # Each caller is asked for once: so far none is passed over too often.
        order.append(waiting.first())
        waiting.note_served(order[-1])
    assert order == ["important", "soon", "late", "plain", "unimportant"]


def test_one_in_four_goes_to_the_caller_that_has_waited_longest() -> None:
    waiting: WaitingList[str] = WaitingList()
    waiting.add("low", priority=-5)
    for number in range(10):
        waiting.add(f"high {number}", priority=5)
    order = []
    for _ in range(SERVED_IN):
        order.append(waiting.first())
        waiting.note_served(order[-1])
        waiting.add(f"another {len(order)}", priority=9)
    assert order == ["high 0", "another 1", "another 2", "low"]


class Counted(float):
    """A deadline that counts its comparisons."""

    comparisons = 0
    __hash__ = float.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.comparisons += 1
        return float(self) == other

    def __lt__(self, other: float) -> bool:
        Counted.comparisons += 1
        return float.__lt__(self, other)


@pytest.mark.parametrize("share_that_leaves", [0.0, 0.5, 0.99])
def test_ten_thousand_callers_cost_a_heap_s_comparisons(share_that_leaves: float) -> None:
    chance = random.Random(4711)
    count = 10_000
    waiting: WaitingList[int] = WaitingList()
    Counted.comparisons = 0
    for number in range(count):
        waiting.add(number, 0, Counted(chance.random()))
        waiting.last()
    leaving = chance.sample(range(count), int(share_that_leaves * count))
    heaps: Any = waiting
    for number in leaving:
        waiting.remove(number)
        most = 2 * len(waiting.callers) + STALE_ENTRIES_MAX
        assert len(heaps._order or ()) <= most
        assert len(heaps._reverse or ()) <= most
    served = 0
    while waiting.callers:
        waiting.note_served(waiting.first())
        served += 1
    assert served == count - len(leaving)
    assert Counted.comparisons < 4 * count * math.log2(count)
