"""Every exchange with every fault: the right result or the right error, in time.

Afterwards the connection is usable or closed, and nothing is left behind.

Here each fault strikes at a few messages of each exchange; `make faults` tries all messages. A
sweep is one test; its failures name the exchange, the fault and the message.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
import uvloop

from tests.faults import everything
from tests.faults.runner import (
    Report,
    impatient,
    record_thread,
    run_tasks,
    run_threads,
    watched,
)
from tests.faults.subjects import Recorded, record_task
from tests.support.faults import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.faults.oracle import Case
    from tests.support.fault_proxy import FaultProxy

    Proxies = tuple[FaultProxy, FaultProxy, FaultProxy]
    Pick = Callable[[Recorded], Iterable[Case]]

pytestmark = pytest.mark.thorough

LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
# One fault of each sort, for uvloop and threads, which differ from asyncio only in their sockets.
FEW_KINDS = (
    Kind.CUT_INSIDE,
    Kind.RESET,
    Kind.DELAY_IN_HEADER,
    Kind.DROP,
    Kind.DUPLICATE_LATE,
    Kind.LENGTH_MORE,
    Kind.TAG_UNKNOWN,
    Kind.STALL,
)
KINDS = [("asyncio", kind) for kind in Kind] + [("uvloop", kind) for kind in FEW_KINDS]
PLACES_MAX = {"asyncio": 2, "uvloop": 1}


@pytest.fixture
def proxies(plain_proxy: FaultProxy, password_proxy: FaultProxy, tls_proxy: FaultProxy) -> Proxies:
    return plain_proxy, password_proxy, tls_proxy


@pytest.fixture(scope="module")
def recorded_in_tasks() -> list[Recorded]:
    """The recorded messages without faults; the first sweep records them."""
    return []


@pytest.fixture(scope="module")
def recorded_in_threads() -> list[Recorded]:
    """The same in threads."""
    return []


def sweep_tasks(loop: str, recorded: list[Recorded], proxies: Proxies, pick: Pick) -> None:
    """Run the tries picked for each exchange in tasks of a loop."""
    report = Report()

    async def sweep() -> None:
        async with watched():
            if not recorded:
                subjects = everything.of_tasks(*proxies)
                recorded.extend([await record_task(subject) for subject in subjects])
            await run_tasks([(one, case) for one in recorded for case in pick(one)], report)

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(sweep())
    check(report)


def sweep_threads(recorded: list[Recorded], proxies: Proxies, pick: Pick) -> None:
    """The same in threads."""
    report = Report()
    if not recorded:
        recorded.extend(record_thread(subject) for subject in everything.of_threads(*proxies))
    run_threads([(one, case) for one in recorded for case in pick(one)], report)
    check(report)


def check(report: Report) -> None:
    assert not report.complaints, "\n" + "\n".join(report.complaints)
    assert report.tries


@pytest.mark.parametrize(
    ("loop", "kind"), KINDS, ids=[f"{loop}-{kind.name.lower()}" for loop, kind in KINDS]
)
def test_a_fault_in_tasks(
    loop: str, kind: Kind, recorded_in_tasks: list[Recorded], proxies: Proxies
) -> None:
    with impatient(kind):
        sweep_tasks(
            loop,
            recorded_in_tasks,
            proxies,
            lambda recorded: recorded.cases([kind], PLACES_MAX[loop]),
        )


@pytest.mark.parametrize("loop", LOOPS)
def test_all_ways_to_cut_what_is_said_in_tasks(
    loop: str, recorded_in_tasks: list[Recorded], proxies: Proxies
) -> None:
    sweep_tasks(loop, recorded_in_tasks, proxies, Recorded.chunked)


@pytest.mark.parametrize("kind", FEW_KINDS, ids=[kind.name.lower() for kind in FEW_KINDS])
def test_a_fault_in_threads(
    kind: Kind, recorded_in_threads: list[Recorded], proxies: Proxies
) -> None:
    with impatient(kind):
        sweep_threads(recorded_in_threads, proxies, lambda recorded: recorded.cases([kind], 1))


def test_all_ways_to_cut_what_is_said_in_threads(
    recorded_in_threads: list[Recorded], proxies: Proxies
) -> None:
    sweep_threads(recorded_in_threads, proxies, Recorded.chunked)
