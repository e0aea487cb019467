"""A pipeline that holds a connection of a pool for its block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade._driver._async.pipeline import Pipeline
    from colonnade._driver._async.pool.lender import Borrow, LentHolder


class PoolPipelineContext:
    """The async context manager that `Pool.pipeline` returns."""

    __slots__ = ("_borrow", "_holder", "_pipeline", "_timeout")

    def __init__(self, borrow: Borrow, timeout: float | None) -> None:
        self._borrow = borrow
        self._timeout = timeout
        self._holder: LentHolder | None = None
        self._pipeline: Pipeline | None = None

    async def __aenter__(self) -> Pipeline:
        """Take a connection, and begin a pipeline on it."""
        if self._pipeline is not None:
            raise InterfaceError("cannot enter context: already in an `async with` block")
        holder = await self._borrow()
        try:
            pipeline = holder.connection.pipeline(timeout=self._timeout)
            await pipeline.__aenter__()
        except BaseException:
            if not holder.give_back():
                holder.finish_in_background()
            raise
        self._holder, self._pipeline = holder, pipeline
        return pipeline

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the pipeline, and give the connection back."""
        holder, self._holder = self._holder, None
        pipeline, self._pipeline = self._pipeline, None
        if holder is None or pipeline is None:
            raise InterfaceError("cannot leave context: not in an `async with` block")
        try:
            await pipeline.__aexit__(kind, error, traceback)
        except BaseException:
            if not holder.give_back():
                holder.finish_in_background()
            raise
        if not holder.give_back():
            if error is None:
                await holder.finish_giving_back(None)
            else:
                # The pool does not wait for abandoned queries: the connection comes back when it is
                # ready.
                holder.finish_in_background()
