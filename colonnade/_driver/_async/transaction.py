"""Transactions, and savepoints within them."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Literal

from colonnade._driver._async.resource import ConnectionResource, guarded
from colonnade._driver.transport.asyncio import whole_block
from colonnade._driver.transport.closed_error import closed_error
from colonnade._words.arguments import ArgumentTypeError, check_name, check_switch
from colonnade._words.shown import shown
from colonnade.errors import InterfaceError, PostgresError

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade._driver._async.connection_base import ConnectionBase
    from colonnade._driver._async.conversation import Conversation, OpenTransaction

    Isolation = Literal["read_committed", "read_uncommitted", "repeatable_read", "serializable"]

_LEVELS = ("read_committed", "read_uncommitted", "repeatable_read", "serializable")
# A time limit for queries must not prevent the rollback of an interrupted transaction, which also
# waits for the end of a cancelled query.
_ROLLBACK_SECONDS_MIN = 10.0


class _State(enum.Enum):
    NEW = "new"
    STARTED = "started"
    COMMITTED = "committed"
    ROLLED_BACK = "rolledback"
    FAILED = "failed"


_REFUSALS = {
    _State.NEW: "not yet started",
    _State.STARTED: "already started",
    _State.COMMITTED: "already committed",
    _State.ROLLED_BACK: "already rolled back",
    _State.FAILED: "in error state",
}


@whole_block
class Transaction(ConnectionResource):
    """A transaction, or a savepoint within another one; made by `Connection.transaction`.

    As an async context manager it commits at the end of the block, and rolls back if an exception
    leaves it. Without a block, use `start`, `commit` and `rollback`.
    """

    def __init__(
        self,
        conversation: Conversation,
        isolation: Isolation | None = None,
        *,
        readonly: bool = False,
        deferrable: bool = False,
    ) -> None:
        given: object = isolation
        if given is not None and not (isinstance(given, str) and given in _LEVELS):
            levels = ", ".join(map(repr, _LEVELS))
            msg = f"isolation is expected to be either of {{{levels}}}, got {shown(given)}"
            raise ValueError(msg) if isinstance(given, str) else ArgumentTypeError(msg)
        super().__init__(conversation)
        self.isolation: str | None = isolation
        self._readonly = readonly
        self._deferrable = deferrable
        self._state = _State.NEW
        self.is_managed = False
        # Set at the start of a savepoint; None for the transaction itself.
        self._savepoint: str | None = None

    @guarded
    async def start(self) -> None:
        """Begin the transaction, or set the savepoint."""
        conversation = self._conversation
        if self._state is not _State.NEW:
            self._refuse("start")
        # Only then is it known whether a cancelled query has left a transaction open.
        await conversation.transport.settled()
        outer = conversation.transaction
        if outer is None:
            if conversation.is_in_transaction:
                msg = "cannot use Connection.transaction() in a manually started transaction"
                raise InterfaceError(msg)
            conversation.transaction = self
        else:
            await self._check_isolation(outer)
            conversation.savepoint_count += 1
            self._savepoint = f"__colonnade_savepoint_{conversation.savepoint_count}__"
        try:
            await self._connection.execute(self._start_command())
        except BaseException as error:
            self._end(_State.FAILED)
            # If the savepoint was set after all, it holds nothing and ends with its transaction.
            if self._savepoint is None and not isinstance(error, InterfaceError):
                await self._give_up(error)
            raise
        self._state = _State.STARTED

    @guarded
    async def commit(self) -> None:
        """Commit the transaction, or release the savepoint.

        If this fails, everything since the start is rolled back.
        """
        self._check_by_hand("commit")
        try:
            await self._commit()
        except InterfaceError:
            raise  # Nothing was sent.
        except BaseException as error:
            await self._abandon(error)
            raise

    @guarded
    async def rollback(self) -> None:
        """Undo everything since the start."""
        self._check_by_hand("rollback")
        self._check_started("rollback")
        try:
            await self._connection.execute(self._rollback_command())
        except InterfaceError:
            raise  # Nothing was sent.
        except BaseException as error:
            self._end(_State.FAILED)
            if not isinstance(error, PostgresError):
                await self._give_up(error)
            raise
        self._end(_State.ROLLED_BACK)

    async def __aenter__(self) -> None:
        """Start; nothing is bound, as in asyncpg."""
        if self.is_managed:
            msg = "cannot enter context: already in an `async with` block"
            raise InterfaceError(msg)
        await self.start()
        self.is_managed = True

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Commit, or roll back if an exception leaves the block."""
        self.is_managed = False
        if error is not None:
            self._check_started("rollback")
            await self._roll_back_after(error)
            return
        self._check_connection("__aexit__")
        try:
            await self._commit()
        except BaseException as failure:
            await self._abandon(failure)
            raise

    def __repr__(self) -> str:
        """Its state and its options."""
        words = [f"state:{self._state.value}"]
        if self.isolation:
            words.append(self.isolation)
        if self._readonly:
            words.append("readonly")
        if self._deferrable:
            words.append("deferrable")
        return f"<colonnade.Transaction {' '.join(words)} {id(self):#x}>"

    # Inside

    def _check_by_hand(self, action: str) -> None:
        if self.is_managed:
            msg = f"cannot manually {action} from within an `async with` block"
            raise InterfaceError(msg)

    def _check_started(self, action: str) -> None:
        if self._state is not _State.STARTED:
            self._refuse(action)

    def _refuse(self, action: str) -> None:
        msg = f"cannot {action}; the transaction is {_REFUSALS[self._state]}"
        raise InterfaceError(msg)

    async def _check_isolation(self, outer: OpenTransaction) -> None:
        if not self.isolation:
            return
        level = outer.isolation
        if not level:
            # The session's default, or the level of a SET TRANSACTION.
            shown = await self._connection.fetch_plain("SHOW transaction_isolation")
            level = str(shown[0][0]).replace(" ", "_")
        if level != self.isolation:
            msg = (
                "nested transaction has a different isolation level: "
                f"current {self.isolation!r} != outer {level!r}"
            )
            raise InterfaceError(msg)

    # Query loggers and tracers see these texts, which match asyncpg's to the semicolon.

    def _start_command(self) -> str:
        if self._savepoint is not None:
            return f"SAVEPOINT {self._savepoint};"
        words = ["BEGIN"]
        if self.isolation:
            words.append(f"ISOLATION LEVEL {self.isolation.replace('_', ' ').upper()}")
        if self._readonly:
            words.append("READ ONLY")
        if self._deferrable:
            words.append("DEFERRABLE")
        return " ".join(words) + ";"

    def _rollback_command(self) -> str:
        if self._savepoint is None:
            return "ROLLBACK;"
        # ROLLBACK TO keeps the savepoint: a loop of failures would accumulate them.
        return f"ROLLBACK TO {self._savepoint}; RELEASE SAVEPOINT {self._savepoint};"

    async def _commit(self) -> None:
        self._check_started("commit")
        if self._savepoint is not None:
            await self._connection.execute(f"RELEASE SAVEPOINT {self._savepoint};")
            self._end(_State.COMMITTED)
            return
        status = await self._connection.execute("COMMIT;")
        # After an error that the block has caught, the server answers COMMIT by rolling back.
        self._end(_State.ROLLED_BACK if status == "ROLLBACK" else _State.COMMITTED)

    def _end(self, state: _State) -> None:
        self._state = state
        if self._conversation.transaction is self:
            self._conversation.transaction = None

    def _rollback_timeout(self) -> float | None:
        limit = self._conversation.command_timeout
        return None if limit is None else max(limit, _ROLLBACK_SECONDS_MIN)

    async def _roll_back_after(self, error: BaseException) -> None:
        """Roll back for an exception, which propagates; no transaction silently stays open."""
        session = self._conversation.session
        if self._is_orphaned() or session.is_closed:
            # The pool or the server has already rolled back.
            self._end(_State.ROLLED_BACK)
            return
        try:
            self._conversation.end_stream()
            command, limit = self._rollback_command(), self._rollback_timeout()
            await self._connection.execute(command, timeout=limit)
        except BaseException as failure:
            self._end(_State.FAILED)
            if isinstance(failure, PostgresError) and not session.is_closed:
                raise
            self._close_connection(error, failure)
            if not isinstance(failure, Exception):
                raise
        else:
            self._end(_State.ROLLED_BACK)

    async def _abandon(self, error: BaseException) -> None:
        """End what an interruption has left open, even one while starting or ending."""
        is_open = self._state in {_State.NEW, _State.STARTED}
        is_own = self._conversation.transaction is self
        if is_own or (is_open and self._savepoint):
            if is_open:
                self._state = _State.FAILED
            await self._give_up(error)
            # Last, so that an interruption before it repeats the rollback.
            self._end(self._state)

    async def _give_up(self, error: BaseException) -> None:
        """Roll back what an interrupted command may have left open."""
        conversation = self._conversation
        if conversation.session.is_closed:
            return
        try:
            conversation.end_stream()
            async with conversation.operation(self._rollback_timeout()):
                if conversation.is_in_transaction:
                    await conversation.script(self._rollback_command())
        except PostgresError:
            # The savepoint no longer exists. This has failed the enclosing transaction, so nothing
            # of it can be committed.
            pass
        except BaseException as failure:
            self._close_connection(error, failure)
            if not isinstance(failure, Exception):
                raise

    def _close_connection(self, error: BaseException, failure: BaseException) -> None:
        """The last way to end a transaction: the connection's next user must not be in it."""
        self._conversation.transport.abort()
        error.add_note(f"The connection was closed because its rollback failed: {failure!r}")


def transaction(
    self: ConnectionBase,
    *,
    isolation: Isolation | None = None,
    readonly: bool = False,
    deferrable: bool = False,
) -> Transaction:
    """A transaction, for use as an async context manager or explicitly.

    `isolation` is "read_committed", "read_uncommitted", "repeatable_read" or "serializable";
    None leaves it to the session. A transaction within another one is a savepoint: its
    `isolation` has to be the outer one's or None, and the other options are ignored.
    """
    if self.conversation.session.is_closed:
        raise closed_error(self.conversation.session)
    check_switch("readonly", readonly)
    check_switch("deferrable", deferrable)
    return Transaction(self.conversation, isolation, readonly=readonly, deferrable=deferrable)


async def begin_ahead(self: ConnectionBase, command: str = "BEGIN") -> None:
    """Begin a transaction together with the next query, without a round trip of its own.

    `command` may have options, but none that the server could refuse: a failure closes the
    connection. Raises InterfaceError if a transaction is already open.
    """
    check_name("command", command)
    async with self.conversation.operation(None):
        if not self.conversation.session.begin_ahead(command):
            msg = "a transaction is open already"
            raise InterfaceError(msg)
