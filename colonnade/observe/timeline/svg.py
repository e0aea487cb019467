"""A picture of a timeline in SVG: a bar for each lane, an axis in milliseconds, and a legend."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from colonnade._words.arguments import check_between
from colonnade.observe.timeline.kinds import FACES, KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from colonnade.observe.timeline.lane import Interval, Lane

_LANES_MAX = 200
_NAMES_WIDTH = 190
_NAME_CHARACTERS = 28
_MARGIN = 12
_LANE_HEIGHT = 26
_BAR_HEIGHT = 18
_AXIS_HEIGHT = 44
_LEGEND_ROW_HEIGHT = 22
_LEGEND_CELL_WIDTH = 220
_WIDTH_MIN = 480
_WIDTH_MAX = 1_000_000
_TICKS = 8
# Intervals that are thinner than this many pixels become one with their neighbours of a kind.
_VISIBLE_PX = 0.3


def svg_picture(lanes: Sequence[Lane], duration: float, width: int) -> str:
    """Draw the lanes; of many, the longest.

    Raises TypeError for a width that is no number, ValueError for one below 480 or above a million.
    """
    check_between("width", width, _WIDTH_MIN, _WIDTH_MAX, "pixels")
    shown = _longest(lanes)
    kinds = _kinds_of(shown)
    columns = max(1, (width - 2 * _MARGIN) // _LEGEND_CELL_WIDTH)
    legend_height = _LEGEND_ROW_HEIGHT * math.ceil(len(kinds) / columns)
    lanes_height = _LANE_HEIGHT * len(shown)
    height = 2 * _MARGIN + lanes_height + _AXIS_HEIGHT + legend_height
    scale = (width - _NAMES_WIDTH - 2 * _MARGIN) / duration if duration > 0 else 0.0
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    font = 'font-family="sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font} role="img">',
        f"<title>{_title(lanes, shown, duration)}</title>",
        f'<rect width="{width}" height="{height}" fill="#FFFFFF"/>',
        *_axis(duration, scale, _MARGIN, lanes_height),
    ]
    for place, lane in enumerate(shown):
        parts += _lane(lane, _MARGIN + place * _LANE_HEIGHT, scale)
    parts += _legend(kinds, _MARGIN + lanes_height + _AXIS_HEIGHT, columns)
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _longest(lanes: Sequence[Lane]) -> list[Lane]:
    if len(lanes) <= _LANES_MAX:
        return list(lanes)
    kept = sorted(lanes, key=lambda lane: -lane.duration)[:_LANES_MAX]
    return sorted(kept, key=lambda lane: lane.number)


def _kinds_of(lanes: Sequence[Lane]) -> list[str]:
    there = {interval.kind for lane in lanes for interval in lane.intervals}
    return [kind for kind in KINDS if kind in there]


def _title(lanes: Sequence[Lane], shown: Sequence[Lane], duration: float) -> str:
    of_all = f"the {len(shown)} longest of " if len(shown) < len(lanes) else ""
    return f"Timeline of {duration * 1e3:.1f} ms: {of_all}{len(lanes)} tasks"


def _axis(duration: float, scale: float, top: int, height: int) -> Iterator[str]:
    left = _MARGIN + _NAMES_WIDTH
    bottom = top + height + 4
    step = _step(duration * 1e3)
    for place in range(int(duration * 1e3 / step + 1e-9) + 1):
        x = left + place * step / 1e3 * scale
        yield f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}" stroke="#DDDDDD"/>'
        yield (
            f'<text x="{x:.1f}" y="{bottom + 14}" text-anchor="middle" fill="#333333">'
            f"{place * step:g}</text>"
        )
    yield (
        f'<text x="{left - 8}" y="{bottom + 14}" text-anchor="end" fill="#333333">time in ms</text>'
    )


def _step(milliseconds: float) -> float:
    """The distance of two ticks: 1, 2 or 5 times a power of ten."""
    if milliseconds <= 0:
        return 1.0
    raw = milliseconds / _TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    return power * next(factor for factor in (1, 2, 5, 10) if factor * power >= raw)


def _lane(lane: Lane, top: int, scale: float) -> Iterator[str]:
    left = _MARGIN + _NAMES_WIDTH
    middle = top + _BAR_HEIGHT / 2 + 4
    name = lane.name if lane.name == lane.coroutine else f"{lane.name} ({lane.coroutine})"
    made = f", made at {lane.created_at}" if lane.created_at else ""
    yield (
        f'<text x="{left - 8}" y="{middle:.1f}" text-anchor="end" fill="#000000">'
        f"<title>{escape(name + made)}</title>{escape(_shortened(name))}</text>"
    )
    for interval in _visible(lane.intervals, scale):
        face = FACES[interval.kind]
        x, bar_width = left + interval.start * scale, max(interval.duration * scale, _VISIBLE_PX)
        # Waits are flatter than running, so that the two differ without colours, too.
        inset = 0 if interval.kind == "running" else 4
        label = f"{lane.name}: {face.label}, {interval.duration * 1e3:.3f} ms"
        yield (
            f'<rect x="{x:.2f}" y="{top + inset}" width="{bar_width:.2f}"'
            f' height="{_BAR_HEIGHT - 2 * inset}" fill={quoteattr(face.colour)}'
            f"{_outline(interval.kind)}><title>{escape(label)}</title></rect>"
        )


def _visible(intervals: Sequence[Interval], scale: float) -> Iterator[Interval]:
    """The intervals without those that hide in the same thin slice of the picture."""
    drawn: dict[str, float] = {}
    for interval in intervals:
        end = interval.end * scale
        if end - interval.start * scale < _VISIBLE_PX and end < drawn.get(interval.kind, -1.0):
            continue
        drawn[interval.kind] = end + _VISIBLE_PX
        yield interval


def _outline(kind: str) -> str:
    return ' stroke="#999999" stroke-dasharray="2 2"' if kind == "unknown" else ""


def _shortened(name: str) -> str:
    return name if len(name) <= _NAME_CHARACTERS else f"{name[: _NAME_CHARACTERS - 1]}\u2026"


def _legend(kinds: Sequence[str], top: int, columns: int) -> Iterator[str]:
    for place, kind in enumerate(kinds):
        x = _MARGIN + place % columns * _LEGEND_CELL_WIDTH
        y = top + place // columns * _LEGEND_ROW_HEIGHT
        face = FACES[kind]
        inset = 0 if kind == "running" else 3
        yield (
            f'<rect x="{x}" y="{y + inset}" width="18" height="{14 - 2 * inset}"'
            f' fill="{face.colour}"{_outline(kind)}/>'
        )
        yield f'<text x="{x + 24}" y="{y + 11}" fill="#000000">{escape(face.label)}</text>'
