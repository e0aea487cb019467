"""Traces change nothing in the program, and end as they began."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import inspect
import sys
import traceback
import warnings
import weakref
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from colonnade import InterfaceError, observe

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

pytestmark = pytest.mark.every_loop

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")

needs_eager_tasks = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="eager tasks came with Python 3.12"
)


def eager_task_factory() -> Any:
    """Python's own factory, which the running loop has from now on."""
    # Type checkers look at the oldest Python.
    factory = vars(asyncio)["eager_task_factory"]
    loop = asyncio.get_running_loop()
    takes = inspect.signature(factory).parameters.values()
    if type(loop).__module__ == "uvloop" and all(each.kind != each.VAR_KEYWORD for each in takes):
        pytest.skip("uvloop passes eager_start, which this Python's factory does not take")
    loop.set_task_factory(factory)
    return factory


async def factories_keep_names() -> bool:
    """Whether a task without a name gets one: under any factory, Python 3.13.0 calls it None."""
    loop = asyncio.get_running_loop()
    loop.set_task_factory(lambda loop, work, **options: asyncio.Task(work, loop=loop, **options))
    task = asyncio.create_task(asyncio.sleep(0))
    loop.set_task_factory(None)
    await task
    return task.get_name() != "None"


async def seen_from_inside(log: list[Any], name: str) -> str:
    task = asyncio.current_task()
    assert task is not None
    variable.set(variable.get() + name)
    given_name = "" if task.get_name().startswith("Task-") else task.get_name()
    log.append((given_name, variable.get(), task.cancelling()))
    coroutine: Any = task.get_coro()
    log.append((type(coroutine).__name__, coroutine.cr_code.co_name, coroutine.cr_running))
    # Below an eager task are the frames of its makers, and ours among them.
    log.append(task.get_stack()[-1].f_code.co_name)
    await asyncio.sleep(0)
    return name


async def fails(log: list[Any]) -> None:
    try:
        await asyncio.sleep(0)
        raise LookupError("a failure")
    finally:
        log.append("cleaned")


async def waits_until_cancelled(log: list[Any]) -> None:
    try:
        await asyncio.get_running_loop().create_future()
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        assert task is not None
        log.append((error.args, task.cancelling(), task.uncancel()))
        raise


async def numbers(count: int) -> AsyncIterator[int]:
    try:
        for number in range(count):
            await asyncio.sleep(0)
            yield number
    finally:
        await asyncio.sleep(0)


async def drains(log: list[Any]) -> None:
    log.append([number async for number in numbers(3)])
    generator = numbers(3)
    log.append(await anext(generator))
    await generator.aclose()  # type: ignore[attr-defined]
    with pytest.raises(StopAsyncIteration):
        await anext(generator)


def frames_of(error: BaseException) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


async def use_tasks(log: list[Any]) -> None:
    variable.set("start")
    plain = asyncio.create_task(seen_from_inside(log, "a"), name="named")
    coroutine: Any = plain.get_coro()
    log.append((plain.get_name(), coroutine.__qualname__, "seen_from_inside" in repr(plain)))
    log.append(await plain)
    own = contextvars.copy_context()
    own.run(variable.set, "own")
    log.append(await asyncio.create_task(seen_from_inside(log, "b"), context=own))
    log.append((variable.get(), own[variable]))
    answers = await asyncio.gather(seen_from_inside(log, "c"), fails(log), return_exceptions=True)
    log.append([answers[0], type(answers[1]), frames_of(answers[1])])  # type: ignore[arg-type]


async def use_ends(log: list[Any]) -> None:
    cancelled = asyncio.create_task(waits_until_cancelled(log))
    await asyncio.sleep(0)
    cancelled.cancel("enough")
    await asyncio.wait([cancelled])
    log.append((cancelled.cancelled(), cancelled.cancelling()))
    never_begun = asyncio.create_task(fails(log))
    never_begun.cancel()
    await asyncio.wait([never_begun])
    log.append(never_begun.cancelled())
    shielded = asyncio.create_task(seen_from_inside(log, "d"), name="shielded")
    outer = asyncio.ensure_future(asyncio.shield(shielded))
    outer.cancel()
    log.append(await shielded)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await waits_until_cancelled(log)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(waits_until_cancelled(log), 0.001)


async def use_groups(log: list[Any]) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(fails(log), name="member")
            group.create_task(waits_until_cancelled(log))
    except ExceptionGroup as errors:
        log.append([str(error) for error in errors.exceptions])
    async with anyio.create_task_group() as members:
        members.start_soon(seen_from_inside, log, "e", name="of anyio")
        with anyio.move_on_after(0.001) as scope:
            await anyio.sleep_forever()
        members.cancel_scope.cancel()
    log.append(scope.cancelled_caught)
    log.append(await anyio.to_thread.run_sync(lambda: 3))
    await asyncio.create_task(drains(log))


PROGRAMS = [use_tasks, use_ends, use_groups]


async def log_of(program: Callable[[list[Any]], Coroutine[Any, Any, None]]) -> list[Any]:
    log: list[Any] = []
    await asyncio.create_task(program(log), name="program")
    return log


@pytest.mark.parametrize("program", PROGRAMS)
async def test_a_traced_program_sees_no_difference(program: Any) -> None:
    if not await factories_keep_names():
        pytest.skip("this Python renames the tasks of every factory")
    untraced = await log_of(program)
    async with observe.trace() as timeline:
        traced = await log_of(program)
    assert traced == untraced
    assert len(timeline.lanes) > 2


@needs_eager_tasks
@pytest.mark.parametrize("program", PROGRAMS)
async def test_eager_tasks_stay_eager(program: Any) -> None:
    factory = eager_task_factory()
    untraced = await log_of(program)
    async with observe.trace():
        traced = await log_of(program)
    assert traced == untraced
    assert asyncio.get_running_loop().get_task_factory() is factory


@needs_eager_tasks
async def test_an_eager_task_interrupts_the_one_that_makes_it() -> None:
    async def inner() -> str:
        return "at once"

    async def outer() -> str:
        return await asyncio.create_task(inner(), name="inner")

    eager_task_factory()
    if not asyncio.create_task(inner()).done():
        pytest.skip("this loop starts no task at once")
    async with observe.trace() as timeline:
        assert await asyncio.create_task(outer(), name="outer") == "at once"
    lanes = {lane.coroutine.rpartition(".")[2]: lane for lane in timeline.lanes}
    assert [one.kind for one in lanes["outer"].intervals if one.kind != "loop_delay"] == [
        "running",
        "task",
        "running",
    ]
    assert "running" in [one.kind for one in lanes["inner"].intervals]
    total = timeline.summary()
    assert total.total.running <= total.wall


async def test_another_factory_makes_the_tasks() -> None:
    class OwnTask(asyncio.Task[Any]):
        pass

    made: list[str] = []

    def factory(loop: Any, coroutine: Any, **options: Any) -> OwnTask:
        made.append(type(coroutine).__name__)
        return OwnTask(coroutine, loop=loop, **options)

    loop = asyncio.get_running_loop()
    loop.set_task_factory(factory)
    async with observe.trace() as timeline:
        task = asyncio.create_task(seen_from_inside([], "x"), name="first")
        assert type(task) is OwnTask
        assert await task == "x"
    assert loop.get_task_factory() is factory
    assert len(made) == 1
    assert "first" in [lane.name for lane in timeline.lanes]


async def test_a_factory_set_meanwhile_stays() -> None:
    loop = asyncio.get_running_loop()

    def newer(loop: Any, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        return asyncio.Task(coroutine, loop=loop, **options)

    trace = observe.trace()
    trace.start()
    loop.set_task_factory(newer)
    with pytest.warns(RuntimeWarning, match="task factory was replaced"):
        trace.stop()
    assert loop.get_task_factory() is newer


async def test_tasks_of_a_trace_that_has_ended_go_on() -> None:
    waiting = asyncio.Event()
    async with observe.trace() as timeline:
        task = asyncio.create_task(waiting.wait(), name="late")
        await asyncio.sleep(0)
    lanes = timeline.lanes
    waiting.set()
    assert await task is True
    assert timeline.lanes is lanes
    late = next(lane for lane in lanes if lane.name == "late")
    assert not late.is_done
    assert late.end == pytest.approx(timeline.duration)


async def test_two_traces_at_once_see_the_same_tasks() -> None:
    log: list[Any] = []
    async with observe.trace() as outer, observe.trace() as inner:
        await asyncio.create_task(seen_from_inside(log, "x"), name="both")
    assert "both" in [lane.name for lane in outer.lanes]
    assert "both" in [lane.name for lane in inner.lanes]
    untraced: list[Any] = []
    await asyncio.create_task(seen_from_inside(untraced, "x"), name="both")
    assert log == untraced


def test_a_loop_that_does_not_run_yet_is_traced() -> None:
    loop = asyncio.new_event_loop()
    try:
        with observe.trace(loop) as timeline:
            loop.run_until_complete(asyncio.sleep(0))
        assert loop.get_task_factory() is None
    finally:
        loop.close()
    (lane,) = timeline.lanes
    assert (lane.coroutine, lane.is_done) == ("sleep", True)
    assert [one.kind for one in lane.intervals][-1] == "running"


async def test_the_tasks_that_were_there_are_followed() -> None:
    turns = 3

    async def earlier(event: asyncio.Event) -> None:
        await event.wait()
        for _ in range(turns):
            await asyncio.sleep(0)
        await asyncio.sleep(0.001)

    event = asyncio.Event()
    order: list[str] = []
    task = asyncio.create_task(earlier(event), name="earlier")
    await asyncio.sleep(0)
    task.add_done_callback(lambda _: order.append("first"))
    async with observe.trace() as timeline:
        task.add_done_callback(lambda _: order.append("second"))
        await asyncio.sleep(0.001)
        event.set()
        await task
    assert order == ["first", "second"]
    lane = next(lane for lane in timeline.lanes if lane.name == "earlier")
    kinds = [one.kind for one in lane.intervals]
    assert kinds[0] == "lock"
    assert "sleep" in kinds
    assert kinds.count("running") == 2 + turns
    assert lane.is_done
    current = timeline.lanes[[lane.is_done for lane in timeline.lanes].index(False)]
    assert {"running", "sleep", "task"} <= {one.kind for one in current.intervals}


async def test_those_who_wait_for_one_future_still_wake_in_order() -> None:
    order: list[str] = []
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def wait(name: str) -> None:
        await future
        order.append(name)

    tasks = [asyncio.create_task(wait(name)) for name in ("a", "b", "c")]
    await asyncio.sleep(0)
    async with observe.trace():
        tasks.append(asyncio.create_task(wait("d")))
        await asyncio.sleep(0)
        future.set_result(None)
        await asyncio.gather(*tasks)
    assert order == ["a", "b", "c", "d"]


async def test_a_trace_keeps_no_task_alive() -> None:
    async def short() -> None:
        await asyncio.sleep(0)

    async with observe.trace() as timeline:
        task = asyncio.create_task(short(), name="gone")
        coroutine = weakref.ref(task.get_coro())
        gone = weakref.ref(task)
        await task
        del task
        # The loop lets go of it after this step.
        await asyncio.sleep(0)
        gc.collect()
        assert gone() is None
        assert coroutine() is None
    assert "gone" in [lane.name for lane in timeline.lanes]


async def test_a_circle_through_a_traced_task_is_collected() -> None:
    class Holder:
        task: asyncio.Task[None]

    async def hold(holder: Holder) -> None:
        await asyncio.get_running_loop().create_future()
        del holder

    async with observe.trace():
        holder = Holder()
        holder.task = asyncio.create_task(hold(holder))
        await asyncio.sleep(0)
        holder.task.cancel()
        await asyncio.wait([holder.task])
        there = weakref.ref(holder)
        del holder
        gc.collect()
        assert there() is None


async def test_beyond_its_limit_a_trace_counts() -> None:
    async with observe.trace(limit=10) as timeline:
        for _ in range(20):
            await asyncio.create_task(asyncio.sleep(0))
    rows = sum(len(lane.intervals) for lane in timeline.lanes)
    assert rows <= 10
    assert timeline.dropped > 0
    assert len(timeline.lanes) < 12
    assert str(timeline.dropped) in str(timeline.summary())


async def test_what_is_no_coroutine_is_refused_as_ever() -> None:
    loop = asyncio.get_running_loop()
    with pytest.raises(TypeError) as untraced:
        await loop.create_task(3)  # type: ignore[arg-type]
    async with observe.trace():
        with pytest.raises(TypeError) as traced:
            await loop.create_task(3)  # type: ignore[arg-type]
    assert str(traced.value) == str(untraced.value)


async def test_a_coroutine_that_is_never_awaited_warns_as_ever() -> None:
    async def forgotten() -> None:
        pass

    def refuse(*_: Any, **__: Any) -> Any:
        raise LookupError("no task today")

    loop = asyncio.get_running_loop()
    loop.set_task_factory(refuse)
    try:
        with observe.trace(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with pytest.raises(LookupError):
                await loop.create_task(forgotten())
            gc.collect()
    finally:
        loop.set_task_factory(None)
    assert any("forgotten" in str(warning.message) for warning in caught)


async def test_starts_and_stops_come_in_pairs() -> None:
    trace = observe.trace()
    with pytest.raises(InterfaceError, match="was not started"):
        trace.stop()
    first = trace.start()
    with pytest.raises(InterfaceError, match="was started already"):
        trace.start()
    assert "running" in repr(first)
    trace.stop()
    assert "ended" in repr(first)
    second = trace.start()
    trace.stop()
    assert second is not first


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match="loop must be an event loop, not int"):
        observe.trace(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="limit must be a whole number"):
        observe.trace(limit="many")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="limit must be 1 or more"):
        observe.trace(limit=0)
    with pytest.raises(RuntimeError, match="no running event loop"):
        observe.trace().start()
