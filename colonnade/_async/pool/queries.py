"""The methods of a pool that take a connection for one call."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from colonnade._async.connection import Connection
from colonnade._async.pool.pipeline import PoolPipelineContext
from colonnade._async.pool.streams import PoolColumnStream
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from colonnade._async.pool.holder import PoolConnectionHolder
    from colonnade._async.pool.proxy import PoolConnectionProxy
    from colonnade._supply.asyncio import Supply
    from colonnade._supply.options import PoolOptions

P = ParamSpec("P")
R = TypeVar("R")


def mirrored(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[PoolQueriesMixin, P], Coroutine[Any, Any, R]]:
    """A method of Connection as one of the pool: with a connection for this call alone."""
    name = method.__name__

    async def call(pool: PoolQueriesMixin, /, *args: P.args, **kwargs: P.kwargs) -> R:
        holder = await pool._borrow()
        try:
            result: R = await getattr(holder.connection, name)(*args, **kwargs)
        except BaseException:
            # A cancelled query is not waited for: its connection comes back when it is ready.
            if not holder.give_back():
                holder.finish_in_background()
            raise
        if not holder.give_back():
            await holder.finish_giving_back(None)
        return result

    functools.update_wrapper(call, method)
    return call


class PoolQueriesMixin:
    """The query and COPY methods of Connection, each with a connection of the pool.

    The connection is given back as `Pool.release` does it.
    """

    _options: PoolOptions
    _supply: Supply[PoolConnectionHolder] | None

    copy_columns_from_query = mirrored(Connection.copy_columns_from_query)
    copy_columns_from_table = mirrored(Connection.copy_columns_from_table)
    copy_columns_to_table = mirrored(Connection.copy_columns_to_table)
    copy_from_query = mirrored(Connection.copy_from_query)
    copy_from_table = mirrored(Connection.copy_from_table)
    copy_records_to_table = mirrored(Connection.copy_records_to_table)
    copy_to_table = mirrored(Connection.copy_to_table)
    execute = mirrored(Connection.execute)
    executemany = mirrored(Connection.executemany)
    fetch = mirrored(Connection.fetch)
    fetchmany = mirrored(Connection.fetchmany)
    fetchrow = mirrored(Connection.fetchrow)
    fetchval = mirrored(Connection.fetchval)
    fetch_columns = mirrored(Connection.fetch_columns)
    fetch_plain = mirrored(Connection.fetch_plain)
    fetch_result = mirrored(Connection.fetch_result)
    fetchmany_result = mirrored(Connection.fetchmany_result)
    hold_result = mirrored(Connection.hold_result)

    def iter_columns(self, query: str, *args: object, **options: Any) -> PoolColumnStream:
        """Run a query, and iterate over its result in `Columns`, as `Connection.iter_columns`.

        A connection is taken with the first batch, and given back when the stream ends.
        """
        return PoolColumnStream(self, query, args, options)

    def pipeline(self, *, timeout: float | None = None) -> PoolPipelineContext:
        """Queries that are sent together, as `Connection.pipeline`, for an `async with` block.

        A connection is taken at the beginning of the block, and given back at its end. `timeout`,
        in seconds, limits each wait for answers; None means the connection's `command_timeout`.
        """
        return PoolPipelineContext(self, timeout)

    # Inside

    def _take_idle(self) -> PoolConnectionHolder | None:
        raise NotImplementedError

    async def _lent(self, timeout: float | None) -> PoolConnectionProxy:
        raise NotImplementedError

    async def _borrow(self) -> PoolConnectionHolder:
        """A connection without a proxy, unless the user's `setup` wants to see one."""
        if self._options.setup is not None:
            holder = (await self._lent(None))._holder
            if holder is None:
                raise InterfaceError("the pool's setup callback has given its connection back")
            return holder
        holder = self._take_idle()
        if holder is None:
            assert self._supply is not None  # noqa: S101 - what `_take_idle` has made sure of
            holder = await self._supply.wait()
        return holder
