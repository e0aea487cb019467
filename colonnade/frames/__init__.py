"""Data frames to and from PostgreSQL, without async code: `read_sql` and `write_table`.

    frame = colonnade.read_sql("SELECT * FROM flights", "postgresql://localhost/test")
    colonnade.write_table(frame, "flights_copy", "postgresql://localhost/test")

Both accept a DSN, a connection or a pool: `colonnade.frames.Connectable`.
"""

from __future__ import annotations

from colonnade.frames.connectable import Connectable, HasConnection, connection_of
from colonnade.frames.read import read_sql
from colonnade.frames.write import write_table

__all__ = ["Connectable", "HasConnection", "connection_of", "read_sql", "write_table"]
