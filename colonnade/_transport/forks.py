"""What a forked child leaves to its parent.

A fork copies every connection, but the server knows one client only: what the child said or closed
would be the parent's. So whoever holds a part of a talk is told in the child, before anything else
runs there, that it has become a copy.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Holder(Protocol):
    """Whoever is of no use in a forked child."""

    def leave_to_parent(self) -> None:
        """Neither send, nor read, nor wait from now on, and let the socket be as it is."""


_holders: weakref.WeakSet[Holder] = weakref.WeakSet()


def tell_in_child(holder: Holder) -> None:
    """Call `leave_to_parent` in every child that this process forks while the holder lives."""
    _holders.add(holder)


def _leave_all() -> None:
    for holder in list(_holders):
        holder.leave_to_parent()
    _holders.clear()


# Where processes cannot fork, there is nothing to be told.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)
