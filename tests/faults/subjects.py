"""The subjects of the faults: every exchange of a connection, connecting, and a pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.faults import cases
from tests.faults.oracle import Case
from tests.support.faults import Chunks, Kind, Way
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tests.support.fault_proxy import Door, FaultProxy

# The limit for exchanges with thousands of messages.
_LARGE_PLACES_MAX = 3
# The cancel request is the only message.
_CANCEL_SAID: Mapping[Way, Sequence[str]] = {Way.CLIENT: ["-"], Way.SERVER: []}


@dataclass(frozen=True)
class Subject:
    """Something that a client does, with the function that runs one try of it."""

    name: str
    proxy: FaultProxy
    attempt: Callable[[Door, Case], Any]
    """A coroutine function or, in the other colour, a function."""
    starts: bool = False
    """Whether the fault strikes while there is no connection yet."""
    is_large: bool = False
    to_cancels: bool = False


@dataclass(frozen=True)
class Recorded:
    """A subject with its messages and its result without a fault."""

    subject: Subject
    expected: object
    said: Mapping[Way, Sequence[str]]

    def cases(self, kinds: Iterable[Kind], places_max: int | None) -> Iterator[Case]:
        """The faults, at this many messages of each side."""
        if self.subject.is_large:
            places_max = min(places_max or _LARGE_PLACES_MAX, _LARGE_PLACES_MAX)
        return cases.cases(self.subject.name, self.said, kinds, places_max)

    def chunked(self) -> Iterator[Case]:
        """The ways to cut the messages into pieces."""
        if self.subject.to_cancels:
            return
        for chunks in Chunks:
            if not self.subject.is_large or chunks in {Chunks.AS_SENT, Chunks.LUMPS}:
                yield Case(self.subject.name, chunks=chunks)


def exchange_subjects(
    proxy: FaultProxy, exchanges: Iterable[Any], attempt: Callable[..., Any]
) -> Iterator[Subject]:
    """The exchanges of a connection, each on a separate connection."""
    for exchange in exchanges:

        def one(door: Door, case: Case, exchange: Any = exchange) -> Any:
            return attempt(door, exchange, case)

        yield Subject(exchange.name, proxy, one, is_large=exchange.is_large)
        if exchange.name == "timeout":
            yield Subject("cancel request", proxy, one, to_cancels=True)


async def record_task(subject: Subject) -> Recorded:
    """Run a try without a fault in a task."""
    with subject.proxy.door() as door:
        outcome = await subject.attempt(door, Case(subject.name))
        # The last messages of a closed connection may still be on their way.
        await until(lambda: any(door.said.values()))
    return recorded(subject, outcome, door)


def recorded(subject: Subject, outcome: Any, door: Door) -> Recorded:
    """Return the recording of a try without a fault."""
    assert outcome.error is None, (subject.name, outcome.error)
    assert not outcome.complaints, (subject.name, outcome.complaints)
    said = _CANCEL_SAID if subject.to_cancels else {w: list(tags) for w, tags in door.said.items()}
    return Recorded(subject, outcome.result, said)
