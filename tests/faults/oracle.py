"""What may come of an exchange that a fault has struck.

* A fault that changes nothing of what is said changes nothing of the outcome.
* One that ends the connection ends in the error for that, or strikes where all was said already.
* One that changes the bytes ends in an error, or it strikes where no client could notice, for what
  comes is another message that has its place there: then the result may differ by that message.
* Nothing hangs. Afterwards the connection answers the next query rightly, or is closed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from colonnade.errors import (
    AuthenticationError,
    ConnectionDoesNotExistError,
    DataError,
    InterfaceError,
    PostgresError,
    ProtocolError,
)
from tests.support.faults import BREAKING, NEUTRAL, REPEATED, Chunks, Fault, Kind, Way

if TYPE_CHECKING:
    from collections.abc import Mapping

# For what must come in time, and comes late on a machine that has other things to do.
PATIENCE_S = 20.0
# For what may never come.
IMPATIENCE_S = 0.5
RECOVERY_S = 1.0
# Longer than all limits together that a try waits for.
HANG_S = 30.0

_CLOSED = (ConnectionDoesNotExistError, InterfaceError)
_BROKEN = (*_CLOSED, ProtocolError, AuthenticationError, TimeoutError, PostgresError, DataError)
# In the middle of a start-up there is no connection yet that could end.
_UNREACHABLE = (OSError,)

_FLIPS = frozenset({Kind.BODY_FIRST, Kind.BODY_MIDDLE, Kind.BODY_LAST})
# A text or a value that is another one says so itself; so do rows of data that nothing counts,
# descriptions and settings.
_WITH_CONTENT = frozenset("DTtdCSKNAEG")
# Data of a copy whose rows nothing counts, and what may come any number of times.
_UNCOUNTED = frozenset("dANSE3")


def is_hungry(kind: Kind) -> bool:
    """Whether a fault can make somebody wait for what never comes."""
    return kind not in NEUTRAL | BREAKING | REPEATED


@dataclass
class Outcome:
    """How a try ended."""

    result: object = None
    error: BaseException | None = None
    seconds: float = 0.0
    after: str = ""
    """How the connection was left: `usable` or `closed`."""
    complaints: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The outcome in a word."""
        return "right" if self.error is None else type(self.error).__name__


@dataclass(frozen=True)
class Case:
    """An exchange, and what happens to it."""

    exchange: str
    fault: Fault | None = None
    chunks: Chunks = Chunks.AS_SENT
    tag: str = ""
    """Of the message that is struck."""

    def __str__(self) -> str:
        if self.fault is None:
            return f"{self.exchange}: {self.chunks.value}"
        return f"{self.exchange}: {self.fault} ({self.tag})"

    @property
    def what(self) -> str:
        """The fault without its place."""
        return self.chunks.value if self.fault is None else self.fault.kind.value

    @property
    def limit_s(self) -> float:
        """How long a call may take."""
        return IMPATIENCE_S if self.fault and is_hungry(self.fault.kind) else PATIENCE_S


def allowed(case: Case, *, starts: bool) -> tuple[type[BaseException], ...]:
    """The errors that may come of it. `starts` tells that there is no connection yet."""
    if case.fault is None or case.fault.kind in NEUTRAL:
        return ()
    found = _CLOSED if case.fault.kind in BREAKING else _BROKEN
    return found + _UNREACHABLE if starts else found


def can_go_unnoticed(case: Case) -> bool:
    """Whether what comes may be taken for what was meant, so that the result may be another."""
    fault = case.fault
    if fault is None or fault.kind in NEUTRAL | BREAKING or case.tag == "tls":
        return False
    if fault.way is Way.CLIENT:
        # The server does what it is told.
        return True
    if fault.kind in REPEATED | {Kind.DROP}:
        return case.tag in _UNCOUNTED
    if fault.kind in _FLIPS:
        return case.tag in _WITH_CONTENT
    # A message of text or data that is read as another of the kind.
    return fault.kind is Kind.TAG_OTHER and case.tag in "NSA"


def judge(case: Case, outcome: Outcome, expected: object, *, starts: bool = False) -> list[str]:
    """What is wrong with an outcome, in words."""
    told = list(outcome.complaints)
    error = outcome.error
    if error is not None:
        if not isinstance(error, allowed(case, starts=starts)):
            told.append(f"{type(error).__name__}: {error}")
    elif outcome.result != expected and not can_go_unnoticed(case):
        told.append(f"{outcome.result!r} instead of {expected!r}")
    return [f"{case}: {complaint}" for complaint in told]


def table(counts: Mapping[tuple[str, str], int]) -> str:
    """Faults by outcomes, for people."""
    faults = sorted({what for what, _ in counts})
    names = sorted({name for _, name in counts})
    width = max(map(len, faults), default=0)
    lines = []
    for what in faults:
        found = [f"{name} {counts[what, name]}" for name in names if (what, name) in counts]
        lines.append(f"{what:<{width}}  {', '.join(found)}")
    return "\n".join(lines)
