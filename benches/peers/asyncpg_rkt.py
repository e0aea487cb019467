"""asyncpg-rkt, a fork of asyncpg: the result as blocks of NumPy arrays.

Its callers must give the dtypes of the arrays. Here the types come from the statement and the
lengths of texts from the data, before the measurement.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import Any

from benches.measure.measurement import Fetched

TITLE = "asyncpg-rkt blocks"
KIND = "columns"
REQUIRES = ("asyncpg", "numpy")
#: The fork is a package named asyncpg, and needs an older NumPy.
ENVIRONMENT = ("asyncpg-rkt==0.27.3", "numpy==1.23.5")

_FIXED = {
    "bool": "?",
    "int2": "i2",
    "int4": "i4",
    "int8": "i8",
    "float4": "f4",
    "float8": "f8",
    "date": "M8[D]",
    "timestamp": "M8[us]",
    "timestamptz": "M8[us]",
    "time": "m8[us]",
}
#: The fork needs as many characters of space as a text has bytes.
_LETTERS = {"text": "U", "bytea": "S"}


def unavailable() -> str | None:
    """Return a reason unless the fork is installed; asyncpg itself has the same import name."""
    try:
        importlib.metadata.version("asyncpg-rkt")
    except importlib.metadata.PackageNotFoundError:
        return "not installed: asyncpg-rkt"
    return None


class Connection:
    """A connection, and the query with the dtypes of its arrays."""

    def __init__(self, bare: Any) -> None:
        self.bare = bare
        self.shaped = ""


async def connect(dsn: str) -> Connection:
    """Import the driver and connect."""
    return Connection(await importlib.import_module("asyncpg").connect(dsn))


async def prepare(connection: Connection, sql: str) -> None:
    """Describe the arrays."""
    numpy: Any = importlib.import_module("numpy")
    statement = await connection.bare.prepare(sql)
    fields = []
    for attribute in statement.get_attributes():
        kind = attribute.type.name
        if kind in _LETTERS:
            letter = _LETTERS[kind]
            longest = await connection.bare.fetchval(
                f'SELECT max(octet_length("{attribute.name}")) FROM ({sql}) AS q'
            )
            fields.append((attribute.name, f"{letter}{longest or 1}"))
        else:
            fields.append((attribute.name, _FIXED.get(kind, "O")))
    dtype = numpy.dtype(fields, metadata={"blocks": True})
    connection.shaped = importlib.import_module("asyncpg.rkt").set_query_dtype(sql, dtype)


async def fetch(connection: Connection, _: str) -> Fetched:
    """Fetch the whole result."""
    blocks, nulls = await connection.bare.fetch(connection.shaped)
    columns = [blocks[name] for name in blocks.dtype.names]
    return Fetched((blocks, nulls), len(columns[0]), sum(column.nbytes for column in columns))


async def close(connection: Connection) -> None:
    """Close the connection."""
    await connection.bare.close()
