"""Work beside the loop: what would be late is not begun, whether it is known before or not."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from examples.service.beside import Beside, TooLateError, useful_until


async def test_work_whose_turn_comes_too_late_is_not_begun() -> None:
    gate = threading.Event()
    done: list[int] = []
    with Beside() as beside:
        first = asyncio.create_task(beside.run(gate.wait))
        await asyncio.sleep(0)
        useful_until.set(time.monotonic() + 0.05)
        second = asyncio.create_task(beside.run(done.append, 2))
        await asyncio.sleep(0.1)
        gate.set()
        assert await first is True
        with pytest.raises(TooLateError):
            await second
        useful_until.set(time.monotonic() + 60)
        await beside.run(done.append, 3)
    assert done == [3]


async def test_a_line_that_is_too_long_is_refused_on_arrival() -> None:
    with Beside() as beside:
        for _ in range(20):
            await beside.run(time.sleep, 0.02)
        gate = threading.Event()
        waiting = [asyncio.create_task(beside.run(gate.wait)) for _ in range(10)]
        await asyncio.sleep(0)
        # Ten pieces of some ten milliseconds or more each.
        useful_until.set(time.monotonic() + 0.05)
        with pytest.raises(TooLateError):
            await beside.run(time.sleep, 0)
        useful_until.set(time.monotonic() + 600)
        patient = asyncio.create_task(beside.run(time.sleep, 0))
        gate.set()
        await asyncio.gather(*waiting, patient)
        # Nobody is before it, so it is tried, however short its time.
        useful_until.set(time.monotonic() + 0.05)
        await beside.run(time.sleep, 0)


async def test_an_error_of_the_work_arrives() -> None:
    with Beside() as beside:
        with pytest.raises(ZeroDivisionError):
            await beside.run(divmod, 1, 0)
        assert await beside.run(divmod, 7, 2) == (3, 1)
