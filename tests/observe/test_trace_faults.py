"""Traces of programs with hostile names, interrupts and loops without task factories."""

from __future__ import annotations

import asyncio
import xml.etree.ElementTree as ET
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

import pytest

from colonnade import observe
from colonnade.observe.timeline import trace as trace_module

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

pytestmark = pytest.mark.every_loop

NAMES = ["<script>", "a\0b", "\x1b[2J", "\udc80", "]]><svg onload=x>", "\ufffe", "a\nb", "x" * 9999]


async def test_names_cannot_break_a_picture_a_file_or_a_terminal(tmp_path: Path) -> None:
    async with observe.trace() as timeline:
        await asyncio.gather(*(asyncio.create_task(asyncio.sleep(0), name=name) for name in NAMES))
    timeline.to_svg(tmp_path / "picture.svg")
    ET.parse(tmp_path / "picture.svg")  # noqa: S314 - our own file
    timeline.to_perfetto(tmp_path / "trace")
    assert len(timeline.to_columns()) > len(NAMES)
    page = timeline._repr_html_()
    assert "<script>" not in page
    assert "<svg onload" not in page
    lines = str(timeline.summary()).split("\n")
    assert all(line.isprintable() and len(line) < 1000 for line in lines)


class Strange(Coroutine[None, None, int]):
    """A coroutine of another library's, which tells its name badly."""

    def __init__(self, *, refuses: bool) -> None:
        self._refuses = refuses
        self._sent = 0

    def __getattribute__(self, name: str) -> Any:
        if name == "__qualname__":
            if self._refuses:
                raise LookupError(name)
            return 5
        return super().__getattribute__(name)

    def send(self, value: None) -> None:
        assert value is None
        self._sent += 1
        if self._sent > 2:
            raise StopIteration(7)

    def throw(self, *arguments: Any) -> None:
        raise arguments[0]

    def close(self) -> None:
        pass

    def __await__(self) -> Generator[None, None, int]:
        raise NotImplementedError


@pytest.mark.parametrize("refuses", [False, True])
async def test_a_coroutine_with_a_strange_name_is_traced(*, refuses: bool) -> None:
    async with observe.trace() as timeline:
        assert await asyncio.create_task(Strange(refuses=refuses)) == 7
    assert any("Strange" in lane.coroutine for lane in timeline.lanes)


class _Refusing:
    """An awaitable that lets nobody read its attributes, as a proxy outside of its context."""

    def __init__(self, future: asyncio.Future[int]) -> None:
        self._futures = [future]
        self._future = future

    def __await__(self) -> Any:
        return self

    def __next__(self) -> asyncio.Future[int]:
        if not self._futures:
            raise StopIteration(self._future.result())
        future = self._futures.pop()
        future._asyncio_future_blocking = True
        return future

    def __iter__(self) -> Any:
        return self

    def throw(self, *error: Any) -> None:
        """End the wait of a task that is cancelled."""
        raise error[0]

    def __getattr__(self, name: str) -> Any:
        raise LookupError(name)


class _RefusingFuture(asyncio.Future[int]):
    @property
    def _callbacks(self) -> Any:
        raise LookupError

    @property
    def _children(self) -> Any:
        raise LookupError


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
async def test_what_a_task_awaits_may_refuse_to_be_read() -> None:
    loop = asyncio.get_running_loop()

    async def work(future: asyncio.Future[int]) -> int:
        result: int = await _Refusing(future)
        return result

    futures = [_RefusingFuture(), _RefusingFuture(), loop.create_future(), loop.create_future()]
    earlier = [loop.create_task(work(future), name="earlier") for future in futures[::2]]
    pending = loop.create_task(work(loop.create_future()), name="earlier")
    await asyncio.sleep(0)
    async with observe.trace() as timeline:
        later = [loop.create_task(work(future), name="later") for future in futures[1::2]]
        still_pending = loop.create_task(work(_RefusingFuture()), name="later")
        await asyncio.sleep(0.001)
        for number, future in enumerate(futures):
            future.set_result(number)
        assert await asyncio.gather(*earlier, *later) == [0, 2, 1, 3]
    assert loop.get_task_factory() is None
    names = [lane.name for lane in timeline.lanes]
    assert (names.count("earlier"), names.count("later")) == (3, 3)
    for task in (pending, still_pending):
        task.cancel()
    await asyncio.wait([pending, still_pending])


async def test_a_module_with_a_strange_name_is_traced() -> None:
    names: dict[str, Any] = {"__name__": 5, "asyncio": asyncio}
    text = "async def work():\n    await asyncio.create_task(asyncio.sleep(0.001))"
    exec(text, names)  # noqa: S102 - as a notebook does
    async with observe.trace() as timeline:
        await asyncio.create_task(names["work"]())
    assert [lane.coroutine for lane in timeline.lanes][1:] == ["work", "sleep"]


def test_an_interrupt_within_our_own_code_is_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[type[BaseException]] = []

    def interrupted(*_: Any, **__: Any) -> Any:
        monkeypatch.undo()
        raise KeyboardInterrupt

    async def work() -> None:
        try:
            await asyncio.sleep(0.01)
        except BaseException as error:
            seen.append(type(error))
            raise

    async def main() -> None:
        async with observe.trace():
            monkeypatch.setattr(trace_module, "explain_wait", interrupted)
            await asyncio.create_task(work())

    loop = asyncio.new_event_loop()
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(main())
        (task,) = asyncio.all_tasks(loop)
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(task)
    finally:
        loop.close()
    assert seen == [KeyboardInterrupt]


async def test_a_start_that_fails_leaves_the_loop_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.get_running_loop()
    tracer = observe.trace()

    def refuse(factory: object) -> None:
        raise NotImplementedError(factory)

    with monkeypatch.context() as patch:
        patch.setattr(loop, "set_task_factory", refuse)
        with pytest.raises(NotImplementedError):
            tracer.start()
    async with tracer as timeline:
        await asyncio.create_task(asyncio.sleep(0))
    assert len(timeline.lanes) == 2
