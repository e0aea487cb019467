"""Two-phase commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._driver.sql.quoting import quote_literal
from colonnade._pep249.errors import ProgrammingError
from colonnade._pep249.transactions import check_prepared
from colonnade.dbapi._xid import Xid

if TYPE_CHECKING:
    from colonnade.dbapi._shared import Shared

__all__ = ["TwoPhaseMixin"]

_RECOVER = (
    "SELECT gid, prepared, owner::pg_catalog.text, database::pg_catalog.text "
    "FROM pg_catalog.pg_prepared_xacts "
    "ORDER BY prepared, gid"
)


class TwoPhaseMixin:
    """PEP 249's connection methods for two-phase commit."""

    _shared: Shared

    def xid(self, format_id: int, gtrid: str, bqual: str) -> Xid:
        """Return a transaction identifier of PEP 249's three parts."""
        return Xid(format_id, gtrid, bqual)

    def tpc_begin(self, xid: Xid | str) -> None:
        """Begin a two-phase transaction.

        Raises ProgrammingError within another transaction, and with autocommit.
        """
        with self._shared.guard:
            self._shared.check_idle("begin a two-phase transaction")
            if self._shared.autocommit:
                raise ProgrammingError("tpc_begin() cannot be used with autocommit")
            self._shared.driver.execute(self._shared.options.begin())
            self._shared.two_phase = (xid if isinstance(xid, Xid) else Xid.from_string(xid), False)

    def tpc_prepare(self) -> None:
        """Prepare the transaction; afterwards only `tpc_commit` and `tpc_rollback` are allowed.

        Any error rolls the transaction back. Raises InternalError if the transaction had already
        failed, and ProgrammingError if it is prepared already or `tpc_begin` was not called.
        """
        with self._shared.guard:
            xid, is_prepared = self._checked_tpc("tpc_prepare")
            if is_prepared:
                raise ProgrammingError("the transaction is prepared already")
            try:
                check_prepared(
                    self._shared.driver.execute(f"PREPARE TRANSACTION {quote_literal(str(xid))}")
                )
            except Exception:
                self._shared.two_phase = None
                self._shared.end("ROLLBACK")
                raise
            self._shared.two_phase = (xid, True)

    def tpc_commit(self, xid: Xid | str | None = None) -> None:
        """Commit the transaction, whether it was prepared or not.

        With `xid`, commit that recovered transaction; raises ProgrammingError within another one.
        """
        self._finish_tpc("COMMIT", xid)

    def tpc_rollback(self, xid: Xid | str | None = None) -> None:
        """Roll the transaction back; with `xid`, that recovered transaction."""
        self._finish_tpc("ROLLBACK", xid)

    def tpc_recover(self) -> list[Xid]:
        """Return the identifiers of all prepared transactions of the server."""
        with self._shared.guard:
            self._shared.check_open()
            rows = self._shared.driver.fetch_plain(_RECOVER)
        found = []
        for gid, prepared, owner, database in rows:
            xid = Xid.from_string(gid)
            xid.prepared, xid.owner, xid.database = prepared, owner, database
            found.append(xid)
        return found

    def _finish_tpc(self, action: str, xid: Xid | str | None) -> None:
        name = f"tpc_{action.lower()}"
        with self._shared.guard:
            if xid is not None:
                self._shared.check_idle(f"use {name}(xid)")
                self._shared.driver.execute(f"{action} PREPARED {quote_literal(str(xid))}")
                return
            begun, is_prepared = self._checked_tpc(name)
            if is_prepared:
                self._shared.driver.execute(f"{action} PREPARED {quote_literal(str(begun))}")
            else:
                self._shared.end(action)
            self._shared.two_phase = None

    def _checked_tpc(self, name: str) -> tuple[Xid, bool]:
        self._shared.check_open()
        if self._shared.two_phase is None:
            raise ProgrammingError(f"{name}() is for a transaction that tpc_begin() has begun")
        return self._shared.two_phase
