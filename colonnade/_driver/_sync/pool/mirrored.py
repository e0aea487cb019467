# Generated from colonnade/_driver/_async/pool/mirrored.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""A connection's method as a pool's method, which takes a connection for the call."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade._driver._sync.pool.lender import Lender

P = ParamSpec("P")
R = TypeVar("R")


def mirrored(
    method: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[Lender, P], R]:
    """A method of Connection as a method of the pool: with a connection for this call alone."""
    name = method.__name__

    def call(self: Lender, /, *args: P.args, **kwargs: P.kwargs) -> R:
        holder = self._borrow()
        try:
            result: R = getattr(holder.connection, name)(*args, **kwargs)
        except BaseException:
            # The pool does not wait for a cancelled query: its connection comes back when it is
            # ready.
            if not holder.give_back():
                holder.finish_in_background()
            raise
        if not holder.give_back():
            holder.finish_giving_back(None)
        return result

    functools.update_wrapper(call, method)
    return call
