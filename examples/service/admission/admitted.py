"""A request that the gate has let in, for the code that does its work."""

from __future__ import annotations

import time
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from examples.service.admission.gate import Gate, Refusal


@dataclass(slots=True)
class Admitted:
    """One request between its entry and its end, which comes once."""

    gate: Gate
    route: str
    entered: float
    until: float
    """The `time.monotonic()` from which its answer is of no use."""
    is_over: bool = False

    def leave(self) -> None:
        """Tell the gate that the request has ended, unless it was given up."""
        if not self.is_over:
            self.is_over = True
            self.gate.leave(self.route, time.monotonic())

    def give_up(self) -> Refusal:
        """Refuse the request after all: its work was not begun."""
        self.is_over = True
        return self.gate.give_up(self.route, self.entered, time.monotonic())


#: The request that this context serves.
admitted: ContextVar[Admitted | None] = ContextVar("admitted", default=None)
