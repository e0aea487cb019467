"""A timeline in Perfetto's format: protobuf messages of tracks and slices.

The messages are few and flat, so they are written here; the tests read them with Perfetto's own
schema. Field numbers are those of `perfetto_trace.proto`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from colonnade.observe.timeline.kinds import FACES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from colonnade.observe.timeline.lane import Interval, Lane

_PACKET: Final = 1
_TIMESTAMP, _SEQUENCE_ID, _TRACK_EVENT, _SEQUENCE_FLAGS, _TRACK_DESCRIPTOR = 8, 10, 11, 13, 60
_UUID, _NAME, _PROCESS, _PARENT_UUID, _CHILD_ORDERING, _RANK = 1, 2, 3, 5, 11, 12
_PID, _PROCESS_NAME = 1, 6
_ANNOTATIONS, _TYPE, _TRACK_UUID, _CATEGORIES, _EVENT_NAME = 4, 9, 11, 22, 23
_ANNOTATION_TEXT, _ANNOTATION_NAME = 6, 10

_SLICE_BEGIN, _SLICE_END = 1, 2
_IN_ORDER_OF_RANK = 3
_STATE_CLEARED = 1

_SEQUENCE = 1
_PROCESS_TRACK = 1
_FIRST_LANE_TRACK = 2


def perfetto_trace(lanes: Iterable[Lane]) -> bytes:
    """A track for each lane, a slice for each interval; times count from the trace's start."""
    packets = bytearray()
    for packet in _packets(lanes):
        packets += _part(_PACKET, packet + _number(_SEQUENCE_ID, _SEQUENCE))
    return bytes(packets)


def _packets(lanes: Iterable[Lane]) -> Iterator[bytes]:
    yield _number(_SEQUENCE_FLAGS, _STATE_CLEARED) + _part(_TRACK_DESCRIPTOR, _process_track())
    for lane in lanes:
        track = _FIRST_LANE_TRACK + lane.number
        yield _part(_TRACK_DESCRIPTOR, _lane_track(lane, track))
        first = True
        for interval in lane.intervals:
            yield from _slice(interval, track, _annotations(lane) if first else b"")
            first = False


def _process_track() -> bytes:
    process = _number(_PID, os.getpid()) + _text(_PROCESS_NAME, "event loop")
    return (
        _number(_UUID, _PROCESS_TRACK)
        + _text(_NAME, "tasks")
        + _part(_PROCESS, process)
        + _number(_CHILD_ORDERING, _IN_ORDER_OF_RANK)
    )


def _lane_track(lane: Lane, track: int) -> bytes:
    name = lane.name if lane.name == lane.coroutine else f"{lane.name} ({lane.coroutine})"
    return (
        _number(_UUID, track)
        + _text(_NAME, name)
        + _number(_PARENT_UUID, _PROCESS_TRACK)
        + _number(_RANK, lane.number)
    )


def _annotations(lane: Lane) -> bytes:
    told = {"coroutine": lane.coroutine, "created_at": lane.created_at}
    return b"".join(
        _part(_ANNOTATIONS, _text(_ANNOTATION_TEXT, text) + _text(_ANNOTATION_NAME, name))
        for name, text in told.items()
        if text is not None
    )


def _slice(interval: Interval, track: int, annotations: bytes) -> Iterator[bytes]:
    of_track = _number(_TRACK_UUID, track)
    begin = (
        annotations
        + _number(_TYPE, _SLICE_BEGIN)
        + of_track
        + _text(_CATEGORIES, interval.kind)
        + _text(_EVENT_NAME, FACES[interval.kind].label)
    )
    end = _number(_TYPE, _SLICE_END) + of_track
    yield _number(_TIMESTAMP, round(interval.start * 1e9)) + _part(_TRACK_EVENT, begin)
    yield _number(_TIMESTAMP, round(interval.end * 1e9)) + _part(_TRACK_EVENT, end)


# The wire format of protobuf

_SEVEN_BITS, _MORE_FOLLOWS = 0x7F, 0x80


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _part(field, value.encode("utf-8", "replace"))


def _part(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > _SEVEN_BITS:
        out.append(value & _SEVEN_BITS | _MORE_FOLLOWS)
        value >>= 7
    out.append(value)
    return bytes(out)
