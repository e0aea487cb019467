"""Loops of both kinds."""

from __future__ import annotations

import asyncio
import importlib.util
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

LOOPS = ["asyncio", "uvloop"]


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest) -> Callable[[Coroutine[Any, Any, T]], T]:
    """A function like `asyncio.run`, for each kind of loop."""
    if request.param == "asyncio":
        return asyncio.run
    if importlib.util.find_spec("uvloop") is None:
        pytest.skip("uvloop is not installed")
    import uvloop

    def run_in_uvloop(main: Coroutine[Any, Any, T]) -> T:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(main)

    return run_in_uvloop
