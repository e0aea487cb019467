"""Connections of the parent in a forked child.

A fork copies every connection, but the server knows only one client: if the child sent or closed
anything, it would affect the parent. So in the child, before anything else runs there, each holder
of a connection's state is told that it is a copy.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Holder(Protocol):
    """An object that must not be used in a forked child."""

    def leave_to_parent(self) -> None:
        """Neither send, nor read, nor wait from now on, and leave the socket unchanged."""


_holders: weakref.WeakSet[Holder] = weakref.WeakSet()


def tell_in_child(holder: Holder) -> None:
    """Call `leave_to_parent` in every child that this process forks while the holder lives."""
    _holders.add(holder)


def _leave_all() -> None:
    for holder in list(_holders):
        holder.leave_to_parent()
    _holders.clear()


# Without fork there is nothing to do.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)
