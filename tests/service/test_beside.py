"""Work beside the loop: late work is not begun, whether that is known before or not."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time

import pytest

from examples.service.admission.admitted import Admitted, admitted
from examples.service.admission.gate import Gate
from examples.service.beside import Beside, TooLateError


def admit(seconds: float) -> Admitted:
    """Let the rest of the test serve a request whose answer is of use for this long."""
    now = time.monotonic()
    request = Admitted(Gate({}, {}), "/any", now, now + seconds)
    admitted.set(request)
    return request


async def test_work_whose_turn_comes_too_late_is_not_begun() -> None:
    gate = threading.Event()
    done: list[int] = []
    with contextlib.closing(Beside()) as beside:
        first = asyncio.create_task(beside.run(gate.wait))
        await asyncio.sleep(0)
        request = admit(0.05)
        second = asyncio.create_task(beside.run(done.append, 2))
        await asyncio.sleep(0.1)
        gate.set()
        assert await first is True
        with pytest.raises(TooLateError) as caught:
            await second
        assert caught.value.request is request
        admit(60)
        await beside.run(done.append, 3)
    assert done == [3]


async def test_a_line_that_is_too_long_is_refused_on_arrival() -> None:
    with contextlib.closing(Beside()) as beside:
        for _ in range(20):
            await beside.run(time.sleep, 0.02)
        gate = threading.Event()
        waiting = [asyncio.create_task(beside.run(gate.wait)) for _ in range(10)]
        await asyncio.sleep(0)
        # Ten pieces of some ten milliseconds or more each.
        admit(0.05)
        with pytest.raises(TooLateError):
            await beside.run(time.sleep, 0)
        admit(600)
        patient = asyncio.create_task(beside.run(time.sleep, 0))
        gate.set()
        await asyncio.gather(*waiting, patient)
        # Nobody is before it, so it is tried, however short its time.
        admit(0.05)
        await beside.run(time.sleep, 0)


async def test_an_error_of_the_work_arrives() -> None:
    with contextlib.closing(Beside()) as beside:
        with pytest.raises(ZeroDivisionError):
            await beside.run(divmod, 1, 0)
        assert await beside.run(divmod, 7, 2) == (3, 1)
