"""The gate, with a clock that the tests step."""

from __future__ import annotations

import math
from collections import deque

import pytest

from examples.service.admission.admitted import Admitted
from examples.service.admission.allowance import Allowance
from examples.service.admission.drain_rate import DrainRate
from examples.service.admission.gate import Gate, Refusal, Rule, Signal
from examples.service.admission.standing import StandingQueue

RULES = {"/heavy": Rule(4), "/light": Rule(1), "/timely": Rule(1, seconds_max=0.5)}


class Readings:
    """The values that the signals read."""

    def __init__(self) -> None:
        self.pool = 0.0
        self.loop = 0.0

    def gate(self) -> Gate:
        return Gate(
            RULES,
            {"pool": Signal(lambda: self.pool, 0.05), "loop": Signal(lambda: self.loop, 0.005)},
        )


def refused(gate: Gate, route: str, now: float) -> str:
    answer = gate.enter(route, now)
    return answer.cause if answer else ""


def test_a_queue_stands_after_an_interval_above_its_aim() -> None:
    queue = StandingQueue(aim=0.05, interval=0.1)
    queue.seen(0.2, 1.0)
    assert not queue.stands(1.05)
    queue.seen(0.06, 1.1)
    assert queue.stands(1.1)
    queue.seen(0.04, 1.2)
    assert not queue.stands(2.0)


def test_the_drain_rate_is_what_leaves_per_second_and_falls_at_rest() -> None:
    rate = DrainRate()
    assert rate.at(5) == 0
    for step in range(500):
        rate.done(1, step * 0.01)
    assert rate.at(5) == pytest.approx(100, rel=0.02)
    assert rate.at(6) == pytest.approx(100 / math.e, rel=0.02)


def test_the_allowance_falls_while_a_queue_stands_rises_after_it_and_is_lifted() -> None:
    allowance = Allowance(least=4)
    allowance.step(queue_stands=False, load_most=1000)
    assert allowance.limit == math.inf
    allowance.step(queue_stands=True, load_most=100)
    assert allowance.limit == 85
    for _ in range(100):
        allowance.step(queue_stands=True, load_most=100)
    assert allowance.limit == 4
    allowance.step(queue_stands=False, load_most=4)
    assert allowance.limit == 5
    for _ in range(200):
        allowance.step(queue_stands=False, load_most=0)
    assert allowance.limit == math.inf


@pytest.mark.parametrize("cause", ["pool", "loop"])
def test_a_standing_queue_refuses_by_its_name_and_ends(cause: str) -> None:
    readings = Readings()
    gate = readings.gate()
    now = 10.0
    for _ in range(10):
        assert gate.enter("/heavy", now) is None
    setattr(readings, cause, 1.0)
    for _ in range(3):
        now += 0.1
        gate.enter("/heavy", now)
    assert refused(gate, "/heavy", now) == cause
    # Health has no rule, and a route without any request is always tried once.
    assert gate.enter("/livez", now) is None
    assert refused(gate, "/light", now) == ""
    setattr(readings, cause, 0.0)
    while gate.load:
        gate.leave("/heavy" if gate.load >= 4 else "/light", now)
    assert refused(gate, "/heavy", now + 0.1) == ""


def test_light_routes_are_admitted_where_heavy_ones_are_not() -> None:
    readings = Readings()
    gate = readings.gate()
    for _ in range(5):
        gate.enter("/heavy", 0.0)
    gate.enter("/light", 0.0)
    readings.pool = 1.0
    assert [refused(gate, "/heavy", now) for now in (0.1, 0.2)] == ["", "pool"]
    for _ in range(3):
        gate.leave("/heavy", 0.2)
    readings.pool = 0.0
    gate.enter("/heavy", 0.35)
    gate.enter("/heavy", 0.35)
    assert refused(gate, "/heavy", 0.35) == "pool"
    assert refused(gate, "/light", 0.35) == ""


def test_a_deadline_out_of_reach_is_refused_also_the_clients_own() -> None:
    gate = Readings().gate()
    now, under_way = 0.0, deque[float]()
    # Twenty a second leave; more than ten under way take longer than half a second.
    for step in range(400):
        now = step * 0.01
        if gate.enter("/timely", now) is None:
            under_way.append(now)
        if step % 5 == 0 and under_way:
            under_way.popleft()
            gate.leave("/timely", now)
    assert 8 <= len(under_way) <= 11
    assert gate.refused["deadline"] > 200
    answer = gate.enter("/timely", now, seconds_max=0.01)
    assert isinstance(answer, Refusal)
    assert answer.cause == "deadline"


def test_what_was_given_up_tells_nothing_of_how_fast_the_route_answers() -> None:
    gate, given_up = Readings().gate(), 0
    now, under_way = 0.0, deque[float]()
    for step in range(400):
        now = step * 0.01
        if gate.enter("/timely", now) is None:
            under_way.append(now)
            # Half of them are refused by the code that would have done their work.
            if step % 2 and len(under_way) > 1:
                assert gate.give_up("/timely", under_way.pop(), now).cause == "deadline"
                given_up += 1
        if step % 5 == 0 and under_way:
            under_way.popleft()
            gate.leave("/timely", now)
    assert given_up > 20
    assert gate.load == len(under_way)
    # Twenty a second leave, as without them.
    assert 8 <= len(under_way) <= 11
    assert gate.refused["deadline"] > 200


def test_a_request_ends_once() -> None:
    gate = Readings().gate()
    for ends in (Admitted.leave, Admitted.give_up):
        assert gate.enter("/light", 1.0) is None
        request = Admitted(gate, "/light", 1.0, math.inf)
        ends(request)
        request.leave()
        assert gate.load == 0


def test_a_burst_after_a_rest_is_not_taken_for_a_slow_route() -> None:
    gate = Readings().gate()
    for start in (0.0, 60.0):
        assert [gate.enter("/timely", start) for _ in range(20)] == [None] * 20
        for step in range(20):
            now = start + 0.01 * (step + 1)
            gate.leave("/timely", now)
            assert gate.enter("/timely", now) is None
        for _ in range(20):
            gate.leave("/timely", start + 0.5)


def test_retry_after_is_the_time_to_drain_what_is_under_way() -> None:
    gate = Readings().gate()
    gate.draining = True
    assert gate.enter("/light", 0.0) == Refusal("draining", 30)
    gate.draining = False
    for step in range(100):
        gate.enter("/light", step * 0.1)
        gate.leave("/light", step * 0.1)
    for _ in range(49):
        gate.enter("/light", 10.0)
    gate.drain()
    answer = gate.enter("/light", 10.0)
    assert answer is not None
    # Fifty units at ten a second.
    assert 4 <= answer.retry_after <= 7


def test_at_three_times_the_capacity_the_goodput_stays() -> None:
    """A process that does 100 units a second, whose queue is its pool's, is asked for 300."""
    readings = Readings()
    gate = readings.gate()
    queue: deque[float] = deque()
    done = late = 0
    for millisecond in range(30_000):
        now = millisecond / 1000
        if millisecond % 10 in (0, 3, 6) and gate.enter("/light", now) is None:
            queue.append(now)
        if millisecond % 10 == 0 and queue:
            began = queue.popleft()
            gate.leave("/light", now)
            late += now - began > 0.5
            done += 1
        readings.pool = now - queue[0] if queue else 0.0
    assert done >= 0.9 * 3000
    assert late < 0.05 * done
    assert 5_000 < gate.refused["pool"] < 6_600
