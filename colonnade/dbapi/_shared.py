"""The state that a connection and its cursors share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from colonnade._driver.exact_dates import make_dates_exact
from colonnade._driver.sql.quoting import quote_identifier, whole_on
from colonnade._pep249.errors import (
    InterfaceError,
    OperationalError,
    ProgrammingError,
    translated,
)
from colonnade._pep249.parameters import adapted, without_naive
from colonnade._pep249.transactions import TransactionOptions
from colonnade.dbapi._guard import Guard

if TYPE_CHECKING:
    from collections.abc import Iterable

    from colonnade import sync
    from colonnade.dbapi._xid import Xid
    from colonnade.dbapi.placeholders import Parameters, Placeholders

__all__ = ["Shared"]


class Shared:
    """The driver's connection, the lock around it, and the state of its transaction.

    Only `cancel`, `lent`, `enter_block` and `leave_block` take the lock; for the other methods, the
    caller holds it.
    """

    __slots__ = (
        "_blocks",
        "autocommit",
        "driver",
        "expects",
        "guard",
        "options",
        "placeholders",
        "refuses_naive",
        "two_phase",
    )

    def __init__(
        self, driver: sync.Connection, placeholders: Placeholders, *, autocommit: bool
    ) -> None:
        make_dates_exact(driver)
        self.driver = driver
        self.guard = Guard()
        self.placeholders = placeholders
        self.autocommit = autocommit
        self.options = TransactionOptions()
        self._blocks = 0
        self.two_phase: tuple[Xid, bool] | None = None
        """The open two-phase transaction, and whether it is prepared."""
        self.refuses_naive = driver.naive_datetimes == "refuse"
        self.expects: Literal["rows", "columns"] = "rows"
        """How the last result was fetched, and how the next one probably will be."""

    def cancel(self) -> None:
        """Ask the server to cancel the running query, from another thread."""
        try:
            self.driver.cancel()
        except Exception as error:
            made = translated(error)
            raise (made or error) from error

    def lent(self) -> sync.Connection:
        """Begin a transaction if needed, and return the driver's connection."""
        with self.guard:
            self.check_open()
            self.begin()
        return self.driver

    def check_open(self) -> None:
        """Raise InterfaceError in a forked child, and OperationalError if it is closed."""
        if self.driver.is_inherited():
            raise InterfaceError(
                "the connection belongs to the parent process, which opened it before it forked: "
                "connect in each process, after the fork"
            )
        if self.driver.is_closed():
            raise OperationalError("the connection is closed")

    def check_idle(self, action: str) -> None:
        """Raise ProgrammingError within a transaction."""
        self.check_open()
        if self.driver.is_in_transaction() or self.two_phase is not None:
            raise ProgrammingError(
                f"cannot {action} within a transaction: commit or roll back first"
            )

    def check_no_block(self, action: str) -> None:
        """Raise ProgrammingError where something else ends the transaction."""
        if self.two_phase is not None:
            raise ProgrammingError(
                f"{action}() cannot be used within a two-phase transaction: use tpc_{action}()"
            )
        if self._blocks:
            raise ProgrammingError(
                f"{action}() cannot be used within a transaction() block, whose end commits or "
                "rolls back"
            )

    def with_values(
        self, query: str, params: Parameters | None
    ) -> tuple[str, list[Any], list[int]]:
        """Return the SQL for the server, the parameters' values and the OIDs of their types."""
        if params is None:
            return query, [], []
        text, found = self.placeholders.translated(query, params)
        return (text, *self.adapted(found))

    def adapted(self, values: Iterable[Any]) -> tuple[list[Any], list[int]]:
        """Return the values for the driver, and the OIDs of their types."""
        made, types = adapted(values)
        return made, without_naive(types) if self.refuses_naive else types

    def begin(self) -> bool:
        """Begin a transaction before a statement, unless in autocommit or in one already.

        Returns whether a transaction was begun.
        """
        if self.two_phase is not None and self.two_phase[1]:
            raise ProgrammingError(
                "the transaction is prepared: end it with tpc_commit() or tpc_rollback() first"
            )
        if self.autocommit or self.driver.is_in_transaction():
            return False
        command = self.options.begin()
        if self.options.may_be_refused:
            self.driver.execute(command)
        else:
            self.driver.begin_ahead(command)
        return True

    def undo(self) -> bool:
        """Roll back a transaction whose only statement was stale; False if it cannot be done."""
        if self.driver.is_closed():
            return False
        self.end("ROLLBACK")
        return True

    def end(self, command: str) -> None:
        """COMMIT or ROLLBACK the open transaction, if there is one."""
        if self.driver.is_in_transaction():
            self.driver.execute(command)

    def enter_block(self, savepoint: str | None) -> tuple[bool, str | None]:
        """Begin a block; return whether it is the outermost one, and its savepoint."""
        with self.guard:
            self.check_open()
            is_outermost = not self.driver.is_in_transaction()
            if is_outermost:
                self.driver.execute(self.options.begin())
            if savepoint is None and not is_outermost:
                savepoint = f"__colonnade_block_{self._blocks}"
            if savepoint is not None:
                (savepoint,) = names = whole_on(self.driver, savepoint)
                self.driver.execute(f"SAVEPOINT {quote_identifier(*names)}")
            self._blocks += 1
            return is_outermost, savepoint

    def leave_block(self, is_outermost: bool, savepoint: str | None, is_kept: bool) -> None:
        """End a block that `enter_block` has begun: keep what it did, or undo it."""
        with self.guard:
            self._blocks -= 1
            if self.driver.is_closed():
                if is_kept:
                    raise OperationalError("the connection was closed within the transaction")
                return
            if is_outermost:
                self.end("COMMIT" if is_kept else "ROLLBACK")
            elif savepoint is not None:
                name = quote_identifier(savepoint)
                undo = "" if is_kept else f"ROLLBACK TO {name}; "
                self.driver.execute(f"{undo}RELEASE {name}")
