"""Where the time of a request goes: monitors, timelines and metrics of event loops and queries.

Each name is imported from its module when it is first used. The modules use public names of the
driver only.
"""

from __future__ import annotations

from colonnade._words import lazy_names as _lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Type checkers see here what `_HOMES` loads.
    from colonnade.observe.beat.beat import Beat
    from colonnade.observe.beat.beat_file import is_alive
    from colonnade.observe.loop.monitor import LoopMonitor
    from colonnade.observe.loop.snapshot import LoopSnapshot
    from colonnade.observe.loop.stall import Frame, Holder, StackSample, Stall
    from colonnade.observe.metrics.jobs_monitor import JobsMonitor, QueueFigures
    from colonnade.observe.metrics.open_telemetry import OpenTelemetryMetrics
    from colonnade.observe.metrics.prometheus import PrometheusMetrics
    from colonnade.observe.server_timing import ServerTiming
    from colonnade.observe.status.publication import Publication, publish
    from colonnade.observe.timeline.lane import Interval, Lane
    from colonnade.observe.timeline.summary import TaskSummary, TimelineSummary
    from colonnade.observe.timeline.timeline import Timeline
    from colonnade.observe.timeline.trace import trace

_HOMES = _lazy_names.homes_of(
    {
        "colonnade.observe.beat.beat": "Beat",
        "colonnade.observe.beat.beat_file": "is_alive",
        "colonnade.observe.metrics.jobs_monitor": "JobsMonitor QueueFigures",
        "colonnade.observe.loop.monitor": "LoopMonitor",
        "colonnade.observe.loop.snapshot": "LoopSnapshot",
        "colonnade.observe.metrics.open_telemetry": "OpenTelemetryMetrics",
        "colonnade.observe.metrics.prometheus": "PrometheusMetrics",
        "colonnade.observe.status.publication": "Publication publish",
        "colonnade.observe.server_timing": "ServerTiming",
        "colonnade.observe.loop.stall": "Frame Holder StackSample Stall",
        "colonnade.observe.timeline.lane": "Interval Lane",
        "colonnade.observe.timeline.summary": "TaskSummary TimelineSummary",
        "colonnade.observe.timeline.timeline": "Timeline",
        "colonnade.observe.timeline.trace": "trace",
    }
)

__all__ = [
    "Beat",
    "Frame",
    "Holder",
    "Interval",
    "JobsMonitor",
    "Lane",
    "LoopMonitor",
    "LoopSnapshot",
    "OpenTelemetryMetrics",
    "PrometheusMetrics",
    "Publication",
    "QueueFigures",
    "ServerTiming",
    "StackSample",
    "Stall",
    "TaskSummary",
    "Timeline",
    "TimelineSummary",
    "is_alive",
    "publish",
    "trace",
]

__getattr__ = _lazy_names.loader(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
