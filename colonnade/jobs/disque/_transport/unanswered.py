"""How an exchange fails."""

from __future__ import annotations

from typing import Any


class UnansweredError(Exception):
    """Commands were sent, or begun to be sent, and not all were answered.

    `answers` are those that came; `is_late` tells that the deadline passed.
    """

    def __init__(self, reason: str, answers: list[Any], *, is_late: bool) -> None:
        super().__init__(reason)
        self.answers = answers
        self.is_late = is_late
