"""`Xid`: the identifier of a two-phase transaction."""

from __future__ import annotations

import base64
import binascii
import datetime as dt

__all__ = ["Xid"]

_PARTS = 3


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
