"""Medians, minima and ratios of simple figures."""

from __future__ import annotations

import json

import pytest

from benches.measure.measurement import Failure, Measurement
from benches.measure.peer import Peer
from benches.measure.runner import Run
from benches.measure.summary import Summaries
from benches.rows.__main__ import above_floor

pytestmark = pytest.mark.thorough


def peer(name: str, kind: str = "columns") -> Peer:
    return Peer(name, name.title(), kind, "", (), None)


def cost(
    wall: float, cpu: float, memory: int | None = None, result: int | None = None
) -> Measurement:
    return Measurement(
        rows=10,
        wall_s=wall,
        cpu_user_s=cpu * 0.75,
        cpu_system_s=cpu * 0.25,
        peak_memory_bytes=memory,
        result_bytes=result,
    )


@pytest.fixture
def summaries() -> Summaries:
    floor, fast, broken = peer("drain", "floor"), peer("fast"), peer("broken", "rows")
    filled = Summaries([floor, fast, broken])
    for number, (wall, cpu) in enumerate([(1.0, 0.25), (4.0, 0.5), (2.0, 1.0)]):
        filled.add(Run(number, floor), cost(wall, cpu))
        filled.add(Run(number, fast), cost(wall * 2, cpu * 3, memory=600, result=500))
    filled.add(Run(0, broken), Failure("it broke"))
    return filled


def test_median_and_minimum(summaries: Summaries) -> None:
    floor = next(iter(summaries))
    assert floor.figure("wall_s") == 2.0
    assert floor.figure("wall_s", "minimum") == 1.0
    assert floor.figure("cpu_s") == 0.5
    assert floor.figure("peak_memory_bytes") is None


def test_ratios_compare_like_with_like(summaries: Summaries) -> None:
    floor, fast, broken = summaries
    assert fast.ratio(floor, "wall_s") == 2.0
    assert fast.ratio(floor, "cpu_s", "minimum") == 3.0
    assert floor.ratio(fast, "cpu_s") == pytest.approx(1 / 3)
    assert fast.ratio(floor, "peak_memory_bytes") is None
    assert broken.ratio(floor, "wall_s") is None
    assert floor.ratio(broken, "wall_s") is None
    assert fast.figure("memory_ratio") == pytest.approx(1.2)


def test_json_has_runs_summaries_ratios_and_failures(summaries: Summaries) -> None:
    answer = json.loads(json.dumps(summaries.to_dict()))
    assert answer["broken"] == {"title": "Broken", "kind": "rows", "failure": "it broke"}
    fast = answer["fast"]
    assert fast["median"]["wall_s"] == 4.0
    assert fast["minimum"]["wall_s"] == 2.0
    assert fast["ratios"]["drain"]["cpu_s"] == {"median": 3.0, "minimum": 3.0}
    assert set(fast["ratios"]) == {"drain", "fast"}
    assert len(fast["runs"]) == 3


def test_the_floor_is_taken_off_both() -> None:
    costs = {"drain": 1.0, "colonnade-read": 2.0, "asyncpg-read": 5.0}
    peers = [peer(name, "rows") for name in costs]
    summaries = Summaries(peers)
    for each in peers:
        summaries.add(Run(0, each), cost(costs[each.name], costs[each.name]))
    assert above_floor(summaries) == [
        "cpu_s above the floor, colonnade-read ÷ asyncpg-read: 0.25",
        "wall_s above the floor, colonnade-read ÷ asyncpg-read: 0.25",
    ]
