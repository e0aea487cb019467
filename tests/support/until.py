"""Waiting for events in the background."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_SECONDS_MAX = 30.0


async def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds."""
    give_up = time.monotonic() + _SECONDS_MAX
    while not condition():
        assert time.monotonic() < give_up, "the condition did not come true"
        await asyncio.sleep(0.002)
