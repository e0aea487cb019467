"""`Timeline`: the record of an event loop's tasks over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from colonnade.observe.timeline.summary import TimelineSummary, summarize

if TYPE_CHECKING:
    import os

    from colonnade.columns import Columns
    from colonnade.observe.timeline.lane import Lane


class Source(Protocol):
    """The recording that a timeline shows."""

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """The lanes so far."""
        ...

    @property
    def duration(self) -> float:
        """Its length so far in seconds."""
        ...

    @property
    def dropped(self) -> int:
        """The number of intervals and queries beyond the limit."""
        ...

    @property
    def is_running(self) -> bool:
        """Whether it still records."""
        ...


class Timeline:
    """A lane for each task of an event loop: when it ran, and for what it waited.

    Made by `observe.trace()`. Until the trace ends, it shows what was recorded so far, without the
    waits that are under way.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """The lanes, in the order in which their tasks were made."""
        return self._source.lanes

    @property
    def duration(self) -> float:
        """The length of the trace so far, in seconds."""
        return self._source.duration

    @property
    def dropped(self) -> int:
        """How many intervals and queries were not kept because of the limit."""
        return self._source.dropped

    def summary(self) -> TimelineSummary:
        """How long each task ran and waited, and for what."""
        return summarize(self.lanes, self.duration, self.dropped)

    def to_columns(self) -> Columns:
        """One row per interval: lane, task, coroutine, created_at, kind, start_s, end_s."""
        from colonnade.observe.timeline.columns import interval_columns

        return interval_columns(self.lanes)

    def to_svg(self, path: str | os.PathLike[str] | None = None, *, width: int = 960) -> str:
        """A picture of the lanes, `width` pixels wide, as a text in SVG; written to `path`, too."""
        from colonnade.observe.timeline.svg import svg_picture

        picture = svg_picture(self.lanes, self.duration, width)
        if path is not None:
            Path(path).write_text(picture, "utf-8")
        return picture

    def to_perfetto(self, path: str | os.PathLike[str] | None = None) -> bytes:
        """The lanes in Perfetto's format, for ui.perfetto.dev; written to `path`, too."""
        from colonnade.observe.timeline.perfetto import perfetto_trace

        trace = perfetto_trace(self.lanes)
        if path is not None:
            Path(path).write_bytes(trace)
        return trace

    def __repr__(self) -> str:
        state = "running" if self._source.is_running else "ended"
        return (
            f"<Timeline: {state}, {len(self.lanes)} tasks in {self.duration * 1e3:.1f} ms;"
            " summary() tells where the time went>"
        )

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def _repr_html_(self) -> str:
        from colonnade.observe.timeline.notebook import html_page_part

        return html_page_part(self.to_svg(), self.summary())
