"""Timelines as tables, columns, pictures, and files for other programs."""

from __future__ import annotations

import asyncio
import importlib
import math
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import observe
from colonnade.observe.timeline.kinds import FACES, KINDS

if TYPE_CHECKING:
    from pathlib import Path

SVG = "{http://www.w3.org/2000/svg}"


async def work(seconds: float) -> None:
    await asyncio.sleep(seconds)


async def some_timeline(tasks: int = 3, name: str = "task") -> observe.Timeline:
    async with observe.trace() as timeline:
        await asyncio.gather(
            *(asyncio.create_task(work(0.001), name=f"{name} {n}") for n in range(tasks))
        )
    return timeline


async def test_a_summary_adds_up() -> None:
    timeline = await some_timeline()
    summary = timeline.summary()
    assert [task.name for task in summary.tasks] == [lane.name for lane in timeline.lanes]
    for task in (*summary.tasks, summary.total):
        assert sum(task.seconds.values()) == pytest.approx(task.duration)
        parts = task.running + task.waiting + task.loop_delay + task.unknown
        assert parts == pytest.approx(task.duration)
        assert sum(task.percent(kind) for kind in KINDS) == pytest.approx(100)
        assert 0 <= task.named <= 1
    assert 0 < summary.utilization <= 1
    with pytest.raises(KeyError, match="none of the kinds"):
        summary.total.percent("coffee")


async def test_a_summary_reads_as_a_table() -> None:
    lines = str((await some_timeline()).summary()).splitlines()
    assert lines[0].split()[:2] == ["task", "ms"]
    assert "running %" in lines[0]
    assert [line.split("  ")[0] for line in lines[-4:]] == [
        *(f"task {number} (work)" for number in range(3)),
        "all tasks",
    ]
    assert len({len(line) for line in lines}) == 1
    many = (await some_timeline(30)).summary()
    assert str(many).splitlines()[-1] == "The 20 longest of 31 tasks; the total is of all."
    assert "31 tasks" in repr(many)


async def test_columns_have_a_row_for_each_interval() -> None:
    timeline = await some_timeline()
    columns = timeline.to_columns()
    assert isinstance(columns, colonnade.Columns)
    assert columns.dtypes == {
        "lane": "int64",
        "task": "utf8",
        "coroutine": "utf8",
        "created_at": "utf8",
        "kind": "utf8",
        "start_s": "float64",
        "end_s": "float64",
    }
    rows = [(lane, one) for lane in timeline.lanes for one in lane.intervals]
    assert columns.num_rows == len(rows)
    assert list(columns["kind"]) == [one.kind for _, one in rows]
    assert list(columns["start_s"]) == [one.start for _, one in rows]
    frame = columns.to_pandas()
    assert frame["created_at"].isna().any()
    assert frame["created_at"].dropna().str.contains("some_timeline").all()
    assert columns.to_arrow().num_rows == columns.to_polars().height == len(rows)


async def test_an_empty_timeline_has_all_forms() -> None:
    loop = asyncio.new_event_loop()
    with observe.trace(loop) as timeline:
        pass
    loop.close()
    assert timeline.lanes == ()
    assert timeline.to_columns().num_rows == 0
    assert "0 tasks" in timeline.to_svg()
    assert timeline.summary().total.duration == 0
    assert "all tasks" in str(timeline.summary())


async def test_a_picture_has_lanes_an_axis_and_a_legend(tmp_path: Path) -> None:
    timeline = await some_timeline(name="<&>")
    path = tmp_path / "timeline.svg"
    picture = timeline.to_svg(path)
    assert path.read_text("utf-8") == picture
    root = ET.fromstring(picture)  # noqa: S314 - our own picture
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert "time in ms" in texts
    assert sum("<&>" in text for text in texts) == 3
    there = {one.kind for lane in timeline.lanes for one in lane.intervals}
    assert {FACES[kind].label for kind in there} <= set(texts)
    width = float(root.attrib["width"])
    for bar in root.iter(f"{SVG}rect"):
        x, bar_width = float(bar.get("x", "0")), float(bar.attrib["width"])
        assert 0 <= x <= x + bar_width <= width
    for bad in (100, math.nan, math.inf, 10**400):
        with pytest.raises(ValueError, match="width must be from 480 to 1000000 pixels"):
            timeline.to_svg(width=bad)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="width must be a number"):
        timeline.to_svg(width="960")  # type: ignore[arg-type]


async def test_a_picture_of_many_tasks_shows_the_longest() -> None:
    picture = (await some_timeline(300)).to_svg()
    assert "the 200 longest of 301 tasks" in picture


def test_every_kind_has_its_own_face() -> None:
    assert list(FACES) == list(KINDS)
    assert len({face.colour for face in FACES.values()}) == len(KINDS)
    assert len({face.label for face in FACES.values()}) == len(KINDS)


async def test_a_notebook_shows_picture_and_table() -> None:
    timeline = await some_timeline(name="<task>")
    assert timeline._repr_svg_() == timeline.to_svg()
    html = timeline._repr_html_()
    assert "<svg" in html
    assert "&lt;task&gt; 0 (work)" in html
    assert "<task>" not in html


async def test_perfettos_own_schema_reads_the_file(tmp_path: Path) -> None:
    schema: Any = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    timeline = await some_timeline()
    path = tmp_path / "timeline.perfetto-trace"
    data = timeline.to_perfetto(path)
    assert path.read_bytes() == data
    trace = schema.Trace()
    trace.ParseFromString(data)
    assert not unknown_fields(trace)
    tracks = {
        packet.track_descriptor.uuid: packet.track_descriptor
        for packet in trace.packet
        if packet.HasField("track_descriptor")
    }
    process, *of_lanes = tracks.values()
    assert process.process.pid > 0
    assert [track.parent_uuid for track in of_lanes] == [process.uuid] * len(timeline.lanes)
    read: dict[int, list[tuple[str, int, int]]] = {}
    begun: dict[int, tuple[str, int]] = {}
    for packet in trace.packet:
        event = packet.track_event
        if event.type == schema.TrackEvent.TYPE_SLICE_BEGIN:
            begun[event.track_uuid] = (event.categories[0], packet.timestamp)
        elif event.type == schema.TrackEvent.TYPE_SLICE_END:
            kind, start = begun.pop(event.track_uuid)
            read.setdefault(event.track_uuid, []).append((kind, start, packet.timestamp))
    assert not begun
    assert list(read.values()) == [
        [(one.kind, round(one.start * 1e9), round(one.end * 1e9)) for one in lane.intervals]
        for lane in timeline.lanes
    ]


def unknown_fields(message: Any) -> bool:
    """Whether a message, or one in it, has a field that its schema lacks."""
    sets = importlib.import_module("google.protobuf.unknown_fields")
    if len(sets.UnknownFieldSet(message)):
        return True
    return any(
        unknown_fields(part)
        for field, value in message.ListFields()
        if field.type == field.TYPE_MESSAGE
        for part in (value if hasattr(value, "append") else [value])
    )
