"""Ctrl-C at every step at which the interpreter can handle it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType


def interrupted(work: Callable[[], Any], step: int, rooms: Sequence[str]) -> bool:
    """Interrupt at this step of the code in these folders; return whether there was such a step.

    A signal handler runs at the beginning of a function, and after a call has returned.
    """
    left = step

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal left
        if event in {"call", "c_return"} and any(
            room in frame.f_code.co_filename for room in rooms
        ):
            left -= 1
            if left == 0:
                sys.setprofile(None)
                raise KeyboardInterrupt

    sys.setprofile(profile)
    try:
        work()
    except KeyboardInterrupt:
        pass
    finally:
        sys.setprofile(None)
    return left <= 0
