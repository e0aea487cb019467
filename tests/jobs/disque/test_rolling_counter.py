"""RollingCounter against one that keeps every event."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings, strategies as st

from colonnade.jobs.disque import RollingCounter

# Steps of the clock: back, none, within a slice, over some slices, over the whole window. They are
# multiples of a quarter of a slice, so that no rounding decides.
STEPS = st.sampled_from([-7.0, -0.25, 0.0, 0.0, 0.0, 0.25, 0.5, 1.0, 3.0, 8.0, 1000.0])
OPERATIONS = st.lists(
    st.tuples(STEPS, st.sampled_from("abcd"), st.integers(0, 3)), min_size=1, max_size=120
)


class Naive:
    """Every event with its slice; the newest slice seen is the present."""

    def __init__(self, step: float, slices: int, now: float) -> None:
        self.step, self.slices = step, slices
        self.present = math.floor(now / step)
        self.events: list[tuple[int, str]] = []

    def see(self, now: float) -> None:
        self.present = max(self.present, math.floor(now / self.step))
        self.events = [event for event in self.events if event[0] > self.present - self.slices]

    def counts(self) -> dict[str, int]:
        keys = [key for _, key in self.events]
        return {key: keys.count(key) for key in keys}


@settings(max_examples=400, deadline=None)
@given(OPERATIONS, st.integers(1, 9))
def test_it_counts_as_one_that_keeps_everything(
    operations: list[tuple[float, str, int]], slices: int
) -> None:
    now = 0.0
    counter: RollingCounter[str] = RollingCounter(float(slices), slices=slices, clock=lambda: now)
    naive = Naive(1.0, slices, now)
    for step, key, times in operations:
        now += step
        naive.see(now)
        if times:
            counter.add(key, times)
            naive.events += [(naive.present, key)] * times
        counts = naive.counts()
        assert {name: counter.count(name) for name in counts} == counts
        assert counter.total() == len(naive.events)
        assert len(counter) == len(counts)
        busiest = counter.max()
        if not counts:
            assert busiest is None
        else:
            assert busiest is not None
            assert busiest[1] == max(counts.values()) == counts[busiest[0]]


def test_a_tie_goes_to_the_key_that_was_there_first() -> None:
    counter: RollingCounter[str] = RollingCounter(10)
    for key in "abba":
        counter.add(key)
    assert counter.max() == ("b", 2)
    counter.add("a")
    assert counter.max() == ("a", 3)


def test_an_event_counts_for_the_window_and_not_longer() -> None:
    now = 100.0
    counter: RollingCounter[str] = RollingCounter(8, slices=8, clock=lambda: now)
    counter.add("a")
    now = 107.5
    assert counter.max() == ("a", 1)
    now = 108.0
    assert counter.max() is None
    assert counter.count("a") == len(counter) == 0


@pytest.mark.parametrize("window", [0, -1, math.inf, math.nan])
def test_a_window_is_a_time(window: float) -> None:
    with pytest.raises(ValueError, match="window must be more than 0 seconds"):
        RollingCounter(window)


def test_a_million_events_keep_memory_of_the_keys_only() -> None:
    now = 0.0
    counter: RollingCounter[int] = RollingCounter(1, slices=4, clock=lambda: now)
    for number in range(20_000):
        now += 0.01
        counter.add(number)
    assert len(counter) <= 101
    assert sum(map(len, counter._ring)) == len(counter) == counter.total()
    assert len(counter._levels) == 1
