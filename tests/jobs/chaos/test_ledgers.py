"""Workers write down what becomes of each job, also of those that they do not come to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.jobs.chaos import ledger, tasks, threads
from tests.jobs.chaos.plan import Assignment, Kind
from tests.jobs.chaos.scribe import Fate, Scribe

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.thorough


class Lost:
    """A batch whose server does not answer."""

    token = 1
    ids = held = np.arange(4)

    def __init__(self) -> None:
        self.columns = {"n": self.ids + 10}

    def ack(self, _ids: Any) -> None:
        raise ConnectionResetError

    def nack(self, _ids: Any, **_options: Any) -> None:
        raise ConnectionResetError


def ends(path: Path) -> list[tuple[str, list[int]]]:
    """The ends that the ledger has."""
    return [(event.kind, event.jobs) for event in ledger.read(path) if event.kind in ledger.ENDS]


def settle(kind: Kind, assignment: Assignment, scribe: Scribe, batch: Any) -> None:
    if kind is Kind.VERBS:
        asyncio.run(tasks.Worker(assignment, scribe)._settle(batch))
    else:
        threads.Worker(assignment, scribe)._settle(batch)


@pytest.mark.parametrize("kind", [Kind.VERBS, Kind.THREADS])
@pytest.mark.parametrize("fate", [Fate.DONE_IN_PARTS, Fate.FAILED_IN_PART])
def test_the_part_after_one_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind, fate: Fate
) -> None:
    path = tmp_path / "w.ledger"
    assignment = Assignment(
        "w", kind.name, "", is_pooled=False, mode="at-least-once", seed=1, ledger=str(path),
        lease=0.0, limit=4,
    )  # fmt: skip
    scribe = Scribe(assignment)
    monkeypatch.setattr(scribe, "fate", lambda: fate)
    batch: Any = Lost()
    with pytest.raises(ConnectionResetError):
        settle(kind, assignment, scribe, batch)
    found = ends(path)
    if kind is Kind.THREADS and fate is Fate.DONE_IN_PARTS:
        assert found == [(ledger.UNKNOWN, [10, 11, 12, 13])]
        return
    assert [end for end, _ in found] == [ledger.UNKNOWN, ledger.ABANDONED]
    assert sorted(number for _, jobs in found for number in jobs) == [10, 11, 12, 13]
