"""The counters of a monitor, at one moment or between two."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from colonnade._core.watch import DurationHistogram, Totals


@dataclass(frozen=True, slots=True)
class LoopSnapshot:
    """The counters of a `LoopMonitor` since it started, or since an earlier snapshot.

    All times are in seconds.
    """

    wall: float
    """The time that was watched."""
    busy: float
    """The part of it in which the loop did not wait for events."""
    measured: Literal["selector", "processor"]
    """How `busy` was measured. `selector`: the time outside of the selector's `select`, exact; it
    misses only the wait for the interpreter after an event. `processor`, where the selector cannot
    be reached (uvloop): the time in which the loop's thread had or wanted a processor, and the
    sleep within stalls; it misses sleeps in calls that are too short for a stall."""
    beats: int
    """How many pings of the watchdog the loop has answered; at rest, most are left out."""
    lag: DurationHistogram = field(repr=False)
    """How long ready callbacks waited for their turn: `count`, `mean`, `max`, `percentile(99)`,
    `buckets(bounds)`. It is corrected for the pings that a stall kept from being sent."""
    lag_total: float
    """The sum of the lags, a counter that misses no spike."""
    tasks: int
    """The number of the loop's tasks at the moment of the snapshot."""
    gc_pauses: int
    """How often the garbage collector ran."""
    gc_time: float
    """How long it ran."""
    gc_longest: float
    """The longest time it ran."""
    stalls: Mapping[str, int]
    """The number of stalls, by cause."""
    stall_time: Mapping[str, float]
    """Their time, by cause."""
    current_stall: float
    """How long the stall that lasts at this moment has taken so far, and 0 without one. It counts
    in the other figures when it has ended."""
    _totals: Totals = field(repr=False, compare=False)
    # Of two starts of a monitor, or of two monitors, no difference has a meaning.
    _run: object = field(repr=False, compare=False)

    @property
    def utilization(self) -> float:
        """The share of the time in which the loop was busy, from 0 to 1."""
        return min(1.0, self.busy / self.wall) if self.wall > 0 else 0.0

    def __str__(self) -> str:
        lag = self.lag
        stalls = ", ".join(f"{count} {cause}" for cause, count in self.stalls.items() if count)
        now = f", stalled for {self.current_stall:.2f} s now" if self.current_stall else ""
        return (
            f"{self.wall:.1f} s: utilization {self.utilization:.1%}, "
            f"lag p50 {lag.percentile(50) * 1e3:.1f} ms, p99 {lag.percentile(99) * 1e3:.1f} ms, "
            f"max {lag.max * 1e3:.1f} ms, {self.tasks} tasks, "
            f"gc {self.gc_pauses} times {self.gc_time * 1e3:.1f} ms, "
            f"stalls: {stalls or 'none'}{now}"
        )


def snapshot_of(
    totals: Totals, run: object, tasks: int, earlier: LoopSnapshot | None
) -> LoopSnapshot:
    """Make the snapshot of these totals, less an earlier one.

    Raises ValueError if the earlier one is of another monitor, or of a former start of this one.
    """
    if earlier is not None and earlier._run is not run:  # noqa: SLF001 - a function of this class
        raise ValueError("since must be a snapshot of this monitor since its last start")
    before = None if earlier is None else earlier._totals  # noqa: SLF001 - see above
    lag, pauses = totals.lag, totals.pauses
    if before is not None:
        lag, pauses = lag.since(before.lag), pauses.since(before.pauses)
    stalls, stalls_before = totals.stalls, {} if before is None else before.stalls
    counted = {cause: stalls_before.get(cause, (0, 0.0)) for cause in stalls}
    return LoopSnapshot(
        wall=totals.wall - (before.wall if before else 0),
        busy=max(0.0, _busy(totals) - (_busy(before) if before else 0)),
        measured="processor" if totals.idle is None else "selector",
        beats=totals.beats - (before.beats if before else 0),
        lag=lag,
        lag_total=totals.lag_total - (before.lag_total if before else 0),
        tasks=tasks,
        gc_pauses=pauses.count,
        gc_time=totals.collecting - (before.collecting if before else 0),
        gc_longest=pauses.max,
        stalls={cause: count - counted[cause][0] for cause, (count, _) in stalls.items()},
        stall_time={cause: time - counted[cause][1] for cause, (_, time) in stalls.items()},
        current_stall=totals.stalled,
        _totals=totals,
        _run=run,
    )


def are_of_one_run(one: LoopSnapshot, other: LoopSnapshot) -> bool:
    """Whether two snapshots are of one start of one monitor."""
    return one._run is other._run  # noqa: SLF001 - a function of this class


def _busy(totals: Totals) -> float:
    if totals.idle is not None:
        return totals.wall - totals.idle
    return totals.running + (totals.queued or 0) + totals.asleep
