"""How the phases of queries are laid over the waits of their lanes."""

from __future__ import annotations

import dataclasses
import itertools

from colonnade.observe.timeline.kinds import KINDS
from colonnade.observe.timeline.queries import Query, split_by_phases


def rows(*named: tuple[str, int, int]) -> list[tuple[int, int, int]]:
    return [(KINDS.index(kind), start, end) for kind, start, end in named]


def query(start: int, end: int, **phases: int) -> Query:
    order = ("prepare", "send", "server", "transfer", "decode", "loop_delay")
    return Query(
        0, "SELECT", start, end, tuple((KINDS.index(one), phases.get(one, 0)) for one in order)
    )


def test_one_wait_becomes_its_phases() -> None:
    lane = rows(("running", 0, 100), ("server", 100, 1000), ("running", 1000, 1010))
    asked = query(90, 1000, send=10, server=600, transfer=100, decode=50, loop_delay=150)
    assert split_by_phases(lane, [asked]) == rows(
        ("running", 0, 100),
        ("server", 100, 700),
        ("transfer", 700, 800),
        ("decode", 800, 850),
        ("loop_delay", 850, 1000),
        ("running", 1000, 1010),
    )


def test_steps_between_the_waits_stay() -> None:
    lane = rows(("unknown", 100, 300), ("running", 300, 400), ("server", 400, 1000))
    asked = query(100, 1000, prepare=250, send=50, server=600)
    assert split_by_phases(lane, [asked]) == rows(
        ("prepare", 100, 300), ("running", 300, 400), ("server", 400, 1000)
    )


def test_other_waits_of_a_streams_caller_stay() -> None:
    lane = rows(("server", 0, 100), ("sleep", 100, 10_000), ("server", 10_000, 10_100))
    asked = query(0, 10_100, server=100, transfer=60, decode=40)
    assert split_by_phases(lane, [asked]) == rows(
        ("server", 0, 100),
        ("sleep", 100, 10_000),
        ("transfer", 10_000, 10_060),
        ("decode", 10_060, 10_100),
    )


def test_the_phases_of_a_query_that_was_given_up_are_not_stretched() -> None:
    lane = rows(("server", 0, 1000))
    asked = dataclasses.replace(query(0, 1000, prepare=60, send=40), has_failed=True)
    assert split_by_phases(lane, [asked]) == rows(
        ("prepare", 0, 60), ("send", 60, 100), ("server", 100, 1000)
    )


def test_a_wait_outside_of_the_query_stays() -> None:
    lane = rows(("network", 0, 100), ("server", 100, 200), ("unknown", 200, 300))
    assert split_by_phases(lane, [query(100, 200, server=100)]) == lane


def test_queries_of_a_pipeline_share_their_waits_once() -> None:
    lane = rows(("server", 0, 1000))
    asked = [query(0, 1000, server=900, decode=100), query(0, 1001, server=950, transfer=50)]
    cut = split_by_phases(lane, asked)
    assert (cut[0][1], cut[-1][2]) == (0, 1000)
    assert all(before[2] == after[1] for before, after in itertools.pairwise(cut))


def test_a_query_without_phases_leaves_its_wait() -> None:
    lane = rows(("server", 0, 1000))
    assert split_by_phases(lane, [query(0, 1000)]) == lane
