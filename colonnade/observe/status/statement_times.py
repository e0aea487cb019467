"""How long statements took, by summary: never by their text, which may have values in it."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any

from colonnade.observe.metrics.summaries import Summaries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from colonnade.tracing import Attribute

_SUMMARIES_MOST = 200
# More queries than that between two reports are too many to count one by one.
_ENDED_MOST = 50_000
_PHASES = ("prepare", "send", "server_wait", "transfer", "decode", "loop_delay")


class StatementTimes:
    """A tracer that notes the time of each query; another thread adds them up.

    Nothing is locked: a query may end within a collection of garbage, wherever that strikes.
    """

    def __init__(self) -> None:
        self._ended: deque[tuple[str, float, bool]] = deque(maxlen=_ENDED_MOST)
        self._summaries = Summaries(_SUMMARIES_MOST)
        # Summary -> count, errors, seconds, longest.
        self._times: dict[str, tuple[int, int, float, float]] = {}

    def query_started(self, name: str, attributes: Mapping[str, Attribute]) -> tuple[float, str]:
        """Note the time."""
        del name
        return time.perf_counter(), str(attributes["db.query.text"])

    def query_ended(
        self,
        span: tuple[float, str],
        attributes: Mapping[str, Attribute],
        error: BaseException | None,
    ) -> None:
        """Note how long the caller waited for the answer, once it had a connection."""
        began, text = span
        if error is None and "colonnade.send" in attributes:
            seconds = sum(float(attributes[f"colonnade.{phase}"]) for phase in _PHASES)
        else:
            seconds = time.perf_counter() - began
        self._ended.append((text, seconds, error is not None))

    def slowest(self, most: int) -> list[dict[str, Any]]:
        """The statements with the longest single times, in the reporting thread."""
        for _ in range(len(self._ended)):
            text, seconds, has_failed = self._ended.popleft()
            summary = self._summaries.of(text)
            count, errors, total, longest = self._times.get(summary, (0, 0, 0.0, 0.0))
            self._times[summary] = (
                count + 1,
                errors + has_failed,
                total + seconds,
                max(longest, seconds),
            )
        ranked = sorted(self._times.items(), key=lambda item: item[1][3], reverse=True)
        return [
            {"summary": summary, "count": count, "errors": errors, "total": total, "max": longest}
            for summary, (count, errors, total, longest) in ranked[:most]
        ]

    def forget(self) -> None:
        """In a forked child: nobody adds up its queries."""
        self._ended = deque(maxlen=0)
