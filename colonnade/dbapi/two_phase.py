"""Two-phase commit."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
from typing import TYPE_CHECKING

from colonnade._driver.sql.quoting import quote_literal
from colonnade._pep249.errors import ProgrammingError
from colonnade._pep249.transactions import check_prepared

if TYPE_CHECKING:
    from colonnade import sync
    from colonnade._pep249.transactions import TransactionOptions
    from colonnade.dbapi._guard import Guard

__all__ = ["TwoPhaseMixin", "Xid"]

_PARTS = 3
_RECOVER = (
    "SELECT gid, prepared, owner::pg_catalog.text, database::pg_catalog.text "
    "FROM pg_catalog.pg_prepared_xacts "
    "ORDER BY prepared, gid"
)


class Xid:
    """A transaction identifier; made by `Connection.xid` and `Connection.tpc_recover`.

    If another program chose an identifier that does not follow PEP 249's three parts, `gtrid` holds
    all of it, and `format_id` and `bqual` are None.
    """

    def __init__(self, format_id: int | None, gtrid: str, bqual: str | None) -> None:
        self.format_id = format_id
        self.gtrid = gtrid
        self.bqual = bqual
        self.prepared: dt.datetime | None = None
        """When the transaction was prepared; None unless `tpc_recover` returned this identifier."""
        self.owner: str | None = None
        """The role that prepared it; None unless `tpc_recover` returned this identifier."""
        self.database: str | None = None
        """The database it belongs to; None unless `tpc_recover` returned this identifier."""

    @classmethod
    def from_string(cls, text: str) -> Xid:
        """Parse PostgreSQL's identifier of a prepared transaction."""
        parts = text.split("_")
        if len(parts) == _PARTS and parts[0].isdecimal():
            try:
                return cls(int(parts[0]), _decoded(parts[1]), _decoded(parts[2]))
            except (binascii.Error, UnicodeDecodeError, ValueError):
                pass
        return cls(None, text, None)

    def __str__(self) -> str:
        """The identifier for PostgreSQL, in the format that psycopg uses."""
        if self.format_id is None or self.bqual is None:
            return self.gtrid
        return f"{self.format_id}_{_encoded(self.gtrid)}_{_encoded(self.bqual)}"

    def _parts(self) -> tuple[int | None, str, str | None]:
        return self.format_id, self.gtrid, self.bqual

    def __getitem__(self, index: int) -> int | str | None:
        """One of the three parts: `format_id`, `gtrid`, `bqual`."""
        return self._parts()[index]

    def __len__(self) -> int:
        return _PARTS

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Xid) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        """The three parts."""
        return f"Xid{self._parts()!r}"


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decoded(text: str) -> str:
    return base64.b64decode(text, validate=True).decode()


class TwoPhaseMixin:
    """PEP 249's connection methods for two-phase commit."""

    _driver: sync.Connection
    _guard: Guard
    _autocommit: bool
    _options: TransactionOptions
    _tpc: tuple[Xid, bool] | None

    def xid(self, format_id: int, gtrid: str, bqual: str) -> Xid:
        """Return a transaction identifier of PEP 249's three parts."""
        return Xid(format_id, gtrid, bqual)

    def tpc_begin(self, xid: Xid | str) -> None:
        """Begin a two-phase transaction.

        Raises ProgrammingError within another transaction, and with autocommit.
        """
        with self._guard:
            self._check_idle("begin a two-phase transaction")
            if self._autocommit:
                raise ProgrammingError("tpc_begin() cannot be used with autocommit")
            self._driver.execute(self._options.begin())
            self._tpc = (xid if isinstance(xid, Xid) else Xid.from_string(xid), False)

    def tpc_prepare(self) -> None:
        """Prepare the transaction; afterwards only `tpc_commit` and `tpc_rollback` are allowed.

        Any error rolls the transaction back. Raises InternalError if the transaction had already
        failed, and ProgrammingError if it is prepared already or `tpc_begin` was not called.
        """
        with self._guard:
            xid, is_prepared = self._checked_tpc("tpc_prepare")
            if is_prepared:
                raise ProgrammingError("the transaction is prepared already")
            try:
                check_prepared(
                    self._driver.execute(f"PREPARE TRANSACTION {quote_literal(str(xid))}")
                )
            except Exception:
                self._tpc = None
                self._end("ROLLBACK")
                raise
            self._tpc = (xid, True)

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
        with self._guard:
            self._check_open()
            rows = self._driver.fetch_plain(_RECOVER)
        found = []
        for gid, prepared, owner, database in rows:
            xid = Xid.from_string(gid)
            xid.prepared, xid.owner, xid.database = prepared, owner, database
            found.append(xid)
        return found

    def _finish_tpc(self, action: str, xid: Xid | str | None) -> None:
        name = f"tpc_{action.lower()}"
        with self._guard:
            if xid is not None:
                self._check_idle(f"use {name}(xid)")
                self._driver.execute(f"{action} PREPARED {quote_literal(str(xid))}")
                return
            begun, is_prepared = self._checked_tpc(name)
            if is_prepared:
                self._driver.execute(f"{action} PREPARED {quote_literal(str(begun))}")
            else:
                self._end(action)
            self._tpc = None

    def _checked_tpc(self, name: str) -> tuple[Xid, bool]:
        self._check_open()
        if self._tpc is None:
            raise ProgrammingError(f"{name}() is for a transaction that tpc_begin() has begun")
        return self._tpc

    def _check_open(self) -> None:
        raise NotImplementedError

    def _check_idle(self, action: str) -> None:
        raise NotImplementedError

    def _end(self, command: str) -> None:
        raise NotImplementedError
