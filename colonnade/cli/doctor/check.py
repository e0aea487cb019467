"""The result of one step."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any


class Outcome(enum.StrEnum):
    """The outcome of a step."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Check:
    """One step: its name, its outcome in words and as facts, and a hint."""

    name: str
    outcome: Outcome
    summary: str
    facts: dict[str, Any] = field(default_factory=dict)
    hint: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the step as JSON data."""
        return {
            "name": self.name,
            "outcome": self.outcome.value,
            "summary": self.summary,
            "facts": self.facts,
            "hint": self.hint,
        }


def ok(name: str, summary: str, **facts: Any) -> Check:
    """A step that succeeded."""
    return Check(name, Outcome.OK, summary, facts)


def warning(name: str, summary: str, hint: str | None = None, **facts: Any) -> Check:
    """A step that succeeded with a warning."""
    return Check(name, Outcome.WARNING, summary, facts, hint)


def failed(name: str, summary: str, hint: str | None = None, **facts: Any) -> Check:
    """A step that failed."""
    return Check(name, Outcome.FAILED, summary, facts, hint)


def milliseconds(seconds: float) -> str:
    """`0.42 ms`, `12 ms`."""
    number = seconds * 1000
    return f"{number:.2f} ms" if number < 1 else f"{number:.1f} ms"
