# Generated from colonnade/_driver/_async/pool/pool.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""The pool: its life, and taking connections from it and giving them back."""

from __future__ import annotations

import enum
import logging
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

from colonnade._core import Record
from colonnade._driver._sync.connect import connect as open_connection
from colonnade._driver._sync.connection import Connection
from colonnade._driver._sync.pool.gather import Gather
from colonnade._driver._sync.pool.holder import PoolConnectionHolder
from colonnade._driver._sync.pool.mirrored import mirrored
from colonnade._driver._sync.pool.options import checked_options
from colonnade._driver._sync.pool.pipeline import PoolPipelineContext
from colonnade._driver._sync.pool.proxy import PoolConnectionProxy
from colonnade._driver._sync.pool.streams import PoolColumnStream
from colonnade._driver.gather.costs import costs_or_new
from colonnade._driver.gather.threads import SharedReads
from colonnade._driver.pool_core.threads import PoolCore, made
from colonnade._driver.transport.forks import tell_in_child
from colonnade._driver.transport.threads import deadline
from colonnade._words.arguments import check_name, check_whole, checked_timeout
from colonnade._words.shown import class_name, shown
from colonnade._words.signatures import check_options
from colonnade.errors import InterfaceError, InterfaceTypeError, InterfaceValueError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from colonnade._driver._sync.pool.lender import LentHolder
    from colonnade._driver._sync.pool.options import Callback, Connect
    from colonnade._driver.gather.costs import QueryCosts
    from colonnade._driver.gather.gathered import Gathered
    from colonnade._driver.gather.plan import Order
    from colonnade._driver.gather.query import Query
    from colonnade._driver.pool_core.stats import PoolStats

logger = logging.getLogger("colonnade.pool")

WARN_AFTER_SECONDS = 60.0


class _State(enum.Enum):
    NEW = "not initialized"
    STARTING = "being initialized"
    OPEN = "open"
    CLOSING = "closing"
    CLOSED = "closed"
    INHERITED = "of the parent process"


_REFUSALS = {
    _State.NEW: "pool is not initialized",
    _State.STARTING: (
        "pool is being initialized, but not yet ready: "
        "likely there is a race between creating a pool and using it"
    ),
    _State.CLOSING: "pool is closing",
    _State.CLOSED: "pool is closed",
    _State.INHERITED: (
        "the pool belongs to the parent process, which made it before it forked: "
        "make a pool in each process, after the fork"
    ),
}


class Pool:
    """Connections that are kept and shared; made by `create_pool`.

    The query methods take a connection for one call; `acquire` lends one for as long as needed.
    Callers that wait for a connection are served by priority, deadline and arrival.
    """

    def __init__(
        self,
        *connect_args: Any,
        init_size: int | None = None,
        min_size: int = 10,
        max_size: int = 10,
        max_queries: int = 50_000,
        max_inactive_connection_lifetime: float = 300.0,
        max_lifetime: float | None = None,
        max_waiting: int | None = None,
        connect: Connect | None = None,
        setup: Callback | None = None,
        init: Callback | None = None,
        reset: Callback | None = None,
        costs: QueryCosts | None = None,
        connection_class: type[Connection] = Connection,
        record_class: type[Record | tuple[Any, ...]] = Record,
        **connect_kwargs: Any,
    ) -> None:
        self._options = checked_options(
            init_size=init_size,
            min_size=min_size,
            max_size=max_size,
            max_queries=max_queries,
            max_inactive_connection_lifetime=max_inactive_connection_lifetime,
            max_lifetime=max_lifetime,
            max_waiting=max_waiting,
            connect=connect,
            setup=setup,
            init=init,
            reset=reset,
            connection_class=connection_class,
            record_class=record_class,
        )
        self._connect_args: tuple[Any, ...] = connect_args
        self._connect_kwargs: dict[str, Any] = connect_kwargs
        self.costs: QueryCosts = costs_or_new(costs)
        """The expected times of the queries, learned from each `gather`."""
        self._shared_reads = SharedReads()
        self._state = _State.NEW
        self._pool_core: PoolCore[PoolConnectionHolder] | None = None

    # Life

    def __enter__(self) -> Self:
        """Open the first connections."""
        return self._start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the pool."""
        self.close()

    def close(self) -> None:
        """Close the pool, after every connection was given back.

        Calls that wait for a connection are still served; new ones fail. A warning is logged after
        60 seconds. If the closing itself is cancelled or fails, the pool is terminated.
        """
        if self._state in {_State.CLOSED, _State.INHERITED}:
            return
        if self._state in {_State.NEW, _State.STARTING}:
            self._refuse()
        pool_core = self._opened_core()
        self._state = _State.CLOSING
        try:
            pool_core.drain(WARN_AFTER_SECONDS, self._warn_of_close)
            pool_core.close()
        except BaseException:
            self.terminate()
            raise
        self._state = _State.CLOSED

    def terminate(self) -> None:
        """Close every connection at once; operations under way fail."""
        if self._state in {_State.CLOSED, _State.INHERITED}:
            return
        if self._state in {_State.NEW, _State.STARTING}:
            self._refuse()
        self._state = _State.CLOSED
        self._opened_core().terminate()

    def is_closing(self) -> bool:
        """Whether the pool is closed or closing, or belongs to the parent of a forked process."""
        return self._state in {_State.CLOSING, _State.CLOSED, _State.INHERITED}

    def expire_connections(self) -> None:
        """Mark every open connection to be replaced before it is lent again."""
        if self._pool_core is not None:
            self._pool_core.expire()

    def set_connect_args(self, dsn: str | None = None, **connect_kwargs: Any) -> None:
        """Use these arguments from the next connection on.

        Open connections are kept; `expire_connections` replaces them.
        """
        if dsn is not None:
            check_name("dsn", dsn)
        self._connect_args = (dsn,)
        self._connect_kwargs = connect_kwargs

    # Connections

    def acquire(self, *, timeout: float | None = None, priority: int = 0) -> PoolConnectionProxy:
        """A connection, until it is given back: by `release`, or by the end of a `with`.

        `timeout` limits the wait, in seconds. The next free connection goes to the waiting caller
        of the highest `priority`; among equals, to the one whose `timeout` ends first, and then to
        the one that came first. At least every fourth goes to the caller that has waited longest.

        Raises PoolExhaustedError if `max_waiting` callers of `create_pool` wait already, none of
        them of a lower priority; TypeError if `priority` is no int.
        """
        if timeout is not None:
            timeout = checked_timeout(timeout)
        if type(priority) is not int:
            check_whole("priority", priority)
        return self._lent(timeout, priority)

    def release(self, connection: PoolConnectionProxy, *, timeout: float | None = None) -> None:
        """Give a connection back, and reset it to its initial state.

        The reset is sent with the next query, without waiting for it, unless a transaction was left
        open, a run-time parameter was changed, a query is being cancelled, or the reset is a user's
        own. `timeout`, in seconds, limits such a wait; by default the limit of the `acquire`
        applies. Giving back twice does nothing.
        """
        is_lent = type(connection) is PoolConnectionProxy
        if not is_lent or connection.pool_core is not self._pool_core:
            refusal = InterfaceValueError if is_lent else InterfaceTypeError
            raise refusal(
                f"Pool.release() received invalid connection: "
                f"{shown(connection)} is not a member of this pool"
            )
        timeout = checked_timeout(timeout)
        holder = connection.holder
        if holder is not None and not holder.give_back():
            holder.finish_giving_back(holder.timeout if timeout is None else timeout)

    # The query and COPY methods of Connection, each with a connection for the call alone

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
    fetch_plain_columns = mirrored(Connection.fetch_plain_columns)
    fetch_result = mirrored(Connection.fetch_result)
    fetchmany_result = mirrored(Connection.fetchmany_result)
    hold_result = mirrored(Connection.hold_result)
    write_table = mirrored(Connection.write_table)

    def iter_columns(self, query: str, *args: object, **options: Any) -> PoolColumnStream:
        """Run a query, and iterate over its result in `Columns`, as `Connection.iter_columns`.

        A connection is taken for the first batch, and given back when the stream ends.
        """
        return PoolColumnStream(self._borrow, query, args, options)

    def pipeline(self, *, timeout: float | None = None) -> PoolPipelineContext:
        """Send several queries together, as `Connection.pipeline`, in a `with` block.

        A connection is taken at the beginning of the block, and given back at its end. `timeout`,
        in seconds, limits each wait for answers; None means the connection's `command_timeout`.
        """
        return PoolPipelineContext(self._borrow, timeout)

    def gather(
        self,
        queries: Mapping[str, Query[Any]],
        *,
        deadline: float | None = None,
        on_error: Literal["raise", "return"] = "raise",
        limit: int | None = None,
        order: Order = "longest-first",
        priority: int = 0,
    ) -> Gathered:
        """Ask several queries at the same time, each on a connection of its own, and wait for all.

        The queries have names and are made by `Query.columns`, `Query.rows`, `Query.row` and
        `Query.value`; the result maps the names to their results, in the same order. Each query
        is a transaction of its own. Short ones may be sent together on one connection.

        `deadline` limits the whole, in seconds: the server ends the queries that still run
        (`statement_timeout`, sent with each query), and the results that are there are given. The
        error of the others is `DeadlineError`, which tells how far each had come. With a deadline,
        statements that refuse to run in a transaction block, such as VACUUM, fail, and so do
        procedures that commit.

        With `on_error="raise"`, the first error stops all other queries and is raised, with a note
        that names its query. With "return", it is in the result's `errors`, and the others go on.

        `limit` is the number of connections used at once; None means `max_size`. The query that is
        expected to take longest is sent first, if its statement has run often enough for `costs`
        to tell, or if it has a `cost`; unknown ones come before those. `order="given"` keeps the
        order of `queries`. `priority` is that of `acquire`, for each connection.

        Raises TypeError or ValueError for arguments of a wrong class or value, and InterfaceError
        for a shared query whose arguments cannot be compared.
        """
        most = self._options.max_size
        gather = Gather(self._borrow, self.costs, self._shared_reads, most, priority)
        return gather.results(queries, deadline, on_error, limit, order)

    # Figures

    def get_size(self) -> int:
        """The number of open connections."""
        return 0 if self._pool_core is None else self._pool_core.size

    def get_init_size(self) -> int:
        """The number of connections that the pool opens at first."""
        return self._options.init_size

    def get_min_size(self) -> int:
        """The number of connections that the pool keeps open."""
        return self._options.min_size

    def get_max_size(self) -> int:
        """The maximum number of connections."""
        return self._options.max_size

    def get_idle_size(self) -> int:
        """The number of idle connections."""
        return 0 if self._pool_core is None else self._pool_core.idle

    def get_stats(self) -> PoolStats:
        """The current sizes, and the counts since the pool was made."""
        return self._opened_core().stats()

    def __repr__(self) -> str:
        """The number of connections and of waiting callers."""
        pool_core = self._pool_core
        if pool_core is None or self._state in {_State.CLOSED, _State.INHERITED}:
            return f"<{type(self).__name__} {self._state.value}>"
        closing = " closing" if self._state is _State.CLOSING else ""
        return (
            f"<{type(self).__name__}{closing} size={pool_core.size} idle={pool_core.idle} "
            f"waiting={pool_core.waiting} min_size={self._options.min_size} "
            f"max_size={self._options.max_size}>"
        )

    def leave_to_parent(self) -> None:
        """Called in a forked child: refuse all methods except those that end the pool."""
        self._state = _State.INHERITED
        self._opened_core().leave_to_parent()

    # Inside

    def _start(self) -> Self:
        if self._state is _State.STARTING:
            raise InterfaceError("pool is being initialized in another task")
        if self._state is not _State.NEW:
            return self
        self._state = _State.STARTING
        self._pool_core = PoolCore(self._options, self._connect, PoolConnectionHolder, self)
        tell_in_child(self)
        try:
            self._pool_core.start()
        except BaseException:
            self._pool_core = None
            self._state = _State.NEW
            raise
        self._state = _State.OPEN
        return self

    def _connect(self) -> Connection:
        options = self._options
        connection = options.connect(
            *self._connect_args,
            connection_class=options.connection_class,
            record_class=options.record_class,
            **self._connect_kwargs,
        )
        if not isinstance(connection, Connection):
            expected = options.connection_class
            raise InterfaceTypeError(
                "expected pool connect callback to return an instance of "
                f"'{expected.__module__}.{expected.__qualname__}', "
                f"got '{class_name(connection)}'"
            )
        return connection

    def _lent(self, timeout: float | None, priority: int) -> PoolConnectionProxy:
        """A proxy, after the user's `setup`."""
        setup = self._options.setup
        if setup is None:
            holder = self._take_idle() or self._waited(priority, timeout)
            return holder.lend(timeout)
        try:
            with deadline(timeout):
                pool_core = self._opened_core()
                holder = self._take_idle() or pool_core.wait(priority, timeout)
                proxy = holder.lend(timeout)
                try:
                    setup(proxy)
                except BaseException:
                    # The proxy stays with its connection, and reports that it is closed.
                    holder.pool_core.discard(holder, "setup")
                    raise
        except TimeoutError as error:
            self._note_timeout(error, timeout)
            raise
        return proxy

    def _note_timeout(self, error: TimeoutError, timeout: float | None) -> None:
        """Add the pool's state to a failed wait's error, unless the error has another text."""
        if error.args or timeout is None:
            return
        self._opened_core().timed_out(timeout)
        stats = self.get_stats()
        opening = f", opening {stats.opening}" if stats.opening else ""
        sizes = f"size {stats.size}, busy {stats.busy}{opening}, waiting {stats.waiting}"
        error.args = (f"no connection was free within {timeout:g} s: {sizes}",)

    def _borrow(self, priority: int = 0, timeout: float | None = None) -> LentHolder:
        """A connection without a proxy, unless the user's `setup` needs one.

        `priority` and `timeout` are those of `acquire`, already checked.
        """
        if self._options.setup is not None:
            holder = (self._lent(timeout, priority)).holder
            if holder is None:
                raise InterfaceError("the pool's setup callback has given its connection back")
            return holder
        return self._take_idle() or self._waited(priority, timeout)

    def _waited(self, priority: int, timeout: float | None) -> PoolConnectionHolder:
        pool_core = self._opened_core()
        if timeout is None:
            return pool_core.wait(priority)
        try:
            with deadline(timeout):
                return pool_core.wait(priority, timeout)
        except TimeoutError as error:
            self._note_timeout(error, timeout)
            raise

    def _take_idle(self) -> PoolConnectionHolder | None:
        pool_core = self._pool_core
        if self._state is not _State.OPEN or pool_core is None:
            self._refuse()
        return pool_core.take()

    def _opened_core(self) -> PoolCore[PoolConnectionHolder]:
        if self._pool_core is None:
            raise InterfaceError(_REFUSALS[_State.NEW])
        return self._pool_core

    def _refuse(self) -> NoReturn:
        raise InterfaceError(_REFUSALS[self._state])

    def _warn_of_close(self) -> None:
        logger.warning(
            "Pool.close() is taking over %d seconds to complete. "
            "Check if you have any unreleased connections left. "
            "Use asyncio.wait_for() to set a timeout for Pool.close(). %r",
            WARN_AFTER_SECONDS,
            self,
        )


def create_pool(
    dsn: str | None = None,
    *,
    init_size: int | None = None,
    min_size: int = 10,
    max_size: int = 10,
    max_queries: int = 50_000,
    max_inactive_connection_lifetime: float = 300.0,
    max_lifetime: float | None = None,
    max_waiting: int | None = None,
    connect: Connect | None = None,
    setup: Callback | None = None,
    init: Callback | None = None,
    reset: Callback | None = None,
    costs: QueryCosts | None = None,
    connection_class: type[Connection] = Connection,
    record_class: type[Record | tuple[Any, ...]] = Record,
    **connect_kwargs: Any,
) -> Pool:
    """Make a pool of connections, for use in `with`, or to be closed at the end.

    In asyncio, awaiting it or entering its block initializes the pool. It opens `init_size`
    connections at first (None: `min_size`), at most `max_size` later. Those above `min_size` that
    are idle for `max_inactive_connection_lifetime` seconds are closed (0: never); if connections
    were lost and fewer than `min_size` are left, new ones are opened. A connection is replaced
    after `max_queries` queries, and after about `max_lifetime` seconds (None: never). If
    `max_waiting` callers wait for a connection, a further one gets PoolExhaustedError at once, or
    takes the place of one of lower priority (None: any number waits).

    `init` is called with each new connection, `setup` with each one that is lent; `reset` with each
    one that is given back, instead of running `get_reset_query`. `connect` is called instead of
    `colonnade.sync.connect`, with `dsn`, `connection_class`, `record_class`, in asyncio `loop`, and
    `connect_kwargs`, which are those of `colonnade.sync.connect`.

    `costs` has the expected times of queries for `Pool.gather`; None means a new one.

    Raises ValueError or TypeError for invalid sizes, lifetimes and classes.
    """
    if connect is None:
        check_options(create_pool, connect_kwargs, open_connection)
    pool = Pool(
        dsn,
        init_size=init_size,
        min_size=min_size,
        max_size=max_size,
        max_queries=max_queries,
        max_inactive_connection_lifetime=max_inactive_connection_lifetime,
        max_lifetime=max_lifetime,
        max_waiting=max_waiting,
        connect=connect,
        setup=setup,
        init=init,
        reset=reset,
        costs=costs,
        connection_class=connection_class,
        record_class=record_class,
        **connect_kwargs,
    )
    return made(pool)
