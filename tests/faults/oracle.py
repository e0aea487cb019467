"""The permitted outcomes of an exchange with a fault.

* A fault that changes no bytes does not change the outcome.
* A fault that ends the connection causes the error for that, unless the exchange was over.
* A fault that changes bytes causes an error, unless the changed message is also valid
  there, so that no client could notice it: then the result may differ by that message.
* Nothing hangs. Afterwards the connection answers the next query correctly, or is closed.
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

# A limit for answers that must arrive, perhaps late on a busy machine.
PATIENCE_S = 20.0
# A limit for answers that may never arrive.
IMPATIENCE_S = 0.5
RECOVERY_S = 1.0
# Longer than the sum of all limits in one try.
HANG_S = 30.0

_CLOSED = (ConnectionDoesNotExistError, InterfaceError)
_BROKEN = (*_CLOSED, ProtocolError, AuthenticationError, TimeoutError, PostgresError, DataError)
# During startup there is no connection yet that could be lost.
_UNREACHABLE = (OSError,)

_FLIPS = frozenset({Kind.BODY_FIRST, Kind.BODY_MIDDLE, Kind.BODY_LAST})
# A changed text or value can be valid, and so can uncounted rows, descriptions and settings.
_WITH_CONTENT = frozenset("DTtdCSKNAEG")
# Data of a COPY, whose rows nothing counts, and messages that may arrive any number of times.
_UNCOUNTED = frozenset("dANSE3")


def is_hungry(kind: Kind) -> bool:
    """Whether a fault can make one side wait for bytes that never come."""
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
        """The outcome in one word."""
        return "right" if self.error is None else type(self.error).__name__


@dataclass(frozen=True)
class Case:
    """An exchange with its fault."""

    exchange: str
    fault: Fault | None = None
    chunks: Chunks = Chunks.AS_SENT
    tag: str = ""
    """The tag of the message that the fault strikes."""

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
        """The time limit of a call."""
        return IMPATIENCE_S if self.fault and is_hungry(self.fault.kind) else PATIENCE_S


def allowed(case: Case, *, starts: bool) -> tuple[type[BaseException], ...]:
    """The permitted errors. `starts` means that there is no connection yet."""
    if case.fault is None or case.fault.kind in NEUTRAL:
        return ()
    found = _CLOSED if case.fault.kind in BREAKING else _BROKEN
    return found + _UNREACHABLE if starts else found


def can_go_unnoticed(case: Case) -> bool:
    """Whether the changed bytes can be valid, so that the result may differ."""
    fault = case.fault
    if fault is None or fault.kind in NEUTRAL | BREAKING or case.tag == "tls":
        return False
    if fault.way is Way.CLIENT:
        # The server executes the changed message.
        return True
    if fault.kind in REPEATED | {Kind.DROP}:
        return case.tag in _UNCOUNTED
    if fault.kind in _FLIPS:
        return case.tag in _WITH_CONTENT
    # A message of text or data that is still valid as a different one.
    return fault.kind is Kind.TAG_OTHER and case.tag in "NSA"


def judge(case: Case, outcome: Outcome, expected: object, *, starts: bool = False) -> list[str]:
    """Describe the defect of an outcome, if any."""
    told = list(outcome.complaints)
    error = outcome.error
    if error is not None:
        if not isinstance(error, allowed(case, starts=starts)):
            told.append(f"{type(error).__name__}: {error}")
    elif outcome.result != expected and not can_go_unnoticed(case):
        told.append(f"{outcome.result!r} instead of {expected!r}")
    return [f"{case}: {complaint}" for complaint in told]


def table(counts: Mapping[tuple[str, str], int]) -> str:
    """A printed table of faults and outcomes."""
    faults = sorted({what for what, _ in counts})
    names = sorted({name for _, name in counts})
    width = max(map(len, faults), default=0)
    lines = []
    for what in faults:
        found = [f"{name} {counts[what, name]}" for name in names if (what, name) in counts]
        lines.append(f"{what:<{width}}  {', '.join(found)}")
    return "\n".join(lines)
