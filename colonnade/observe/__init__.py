"""Where the time of a request goes: monitors, timelines and metrics of event loops and queries.

Each name is imported from its module when it is first used. The modules use public names of the
driver only.
"""

from __future__ import annotations

from colonnade._words import lazy_names as _lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from colonnade.observe.beat.beat import Beat as Beat
    from colonnade.observe.beat.beat_file import is_alive as is_alive
    from colonnade.observe.loop.monitor import LoopMonitor as LoopMonitor
    from colonnade.observe.loop.snapshot import LoopSnapshot as LoopSnapshot
    from colonnade.observe.loop.stall import (
        Frame as Frame,
        Holder as Holder,
        StackSample as StackSample,
        Stall as Stall,
    )
    from colonnade.observe.metrics.jobs_monitor import (
        JobsMonitor as JobsMonitor,
        QueueFigures as QueueFigures,
    )
    from colonnade.observe.metrics.open_telemetry import (
        OpenTelemetryMetrics as OpenTelemetryMetrics,
    )
    from colonnade.observe.metrics.prometheus import PrometheusMetrics as PrometheusMetrics
    from colonnade.observe.server_timing import ServerTiming as ServerTiming
    from colonnade.observe.status.publication import Publication as Publication, publish as publish
    from colonnade.observe.timeline.lane import Interval as Interval, Lane as Lane
    from colonnade.observe.timeline.summary import (
        TaskSummary as TaskSummary,
        TimelineSummary as TimelineSummary,
    )
    from colonnade.observe.timeline.timeline import Timeline as Timeline
    from colonnade.observe.timeline.trace import trace as trace

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = _lazy_names.attach(__name__)
