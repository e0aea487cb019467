"""pgvector-python: its asyncpg codecs, and its SQLAlchemy types on both colours of engine."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.libraries.answers import DRIVER, DSN, answer, engine_url, stand_in_for_asyncpg

stand_in_for_asyncpg()

import asyncpg  # noqa: E402
import numpy as np  # noqa: E402
import sqlalchemy as sa  # noqa: E402
from pgvector import HalfVector, SparseVector, Vector  # noqa: E402
from pgvector.asyncpg import register_vector  # noqa: E402
from pgvector.sqlalchemy import HALFVEC, SPARSEVEC, VECTOR  # noqa: E402
from sqlalchemy.ext.asyncio import create_async_engine  # noqa: E402

_META = sa.MetaData()
_ITEMS = sa.Table(
    "items",
    _META,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("v", VECTOR(3)),
    sa.Column("h", HALFVEC(3)),
    sa.Column("s", SPARSEVEC(5)),
)
_ROWS = [
    {"id": 1, "v": [1, 2, 3], "h": [1, 2, 3], "s": SparseVector([0, 1.5, 0, 2, 0])},
    {"id": 2, "v": np.array([4.5, 5, 6]), "h": [4.5, 5, 6], "s": SparseVector({0: 1}, 5)},
    {"id": 3, "v": None, "h": None, "s": None},
]


def shown(value: object) -> object:
    """A value of pgvector's or a driver's classes, converted to plain Python."""
    if isinstance(value, Vector | HalfVector | SparseVector):
        return [type(value).__name__, [float(part) for part in value.to_list()]]
    return value


def ask(connection: sa.Connection) -> None:
    """Write, read, measure distances."""
    _META.drop_all(connection)
    _META.create_all(connection)
    connection.execute(_ITEMS.insert(), _ROWS)
    connection.execute(_ITEMS.insert(), {**_ROWS[0], "id": 4})
    found = connection.execute(sa.select(_ITEMS).order_by(_ITEMS.c.id))
    answer("rows", [[shown(value) for value in row] for row in found])
    for name in ("l2_distance", "cosine_distance", "max_inner_product"):
        distance = getattr(_ITEMS.c.v, name)([1, 2, 4])
        found = connection.execute(sa.select(_ITEMS.c.id, distance).order_by(distance).limit(2))
        answer(name, [list(row) for row in found])
    mean = connection.scalar(sa.select(sa.func.avg(_ITEMS.c.v)))
    answer("avg", shown(mean))


async def with_codecs() -> None:
    """As with asyncpg."""
    connection = await asyncpg.connect(DSN)
    answer("text", await connection.fetchval("SELECT '[1,2,3]'::vector"))
    answer("sent as text", await connection.fetchval("SELECT ($1::vector)::text", "[1,2,3.5]"))
    await register_vector(connection)
    for kind in ("[1,2,3]'::vector", "[1,2.5,3]'::halfvec", "{1:1.5,3:2}/5'::sparsevec"):
        answer(kind, shown(await connection.fetchval(f"SELECT '{kind}")))
    for value in (np.array([1, 2, 3.5]), [1, 2, 3.5], Vector([1, 2, 3.5])):
        answer("sent", await connection.fetchval("SELECT ($1::vector)::text", value))
    array = await connection.fetchval("SELECT ARRAY['[1,2]'::vector, '[3,4]']")
    answer("array", [shown(value) for value in array])
    await connection.close()


def connected() -> Any:
    """A PEP 249 connection that accepts vectors; psycopg's needs pgvector's adapter for it."""
    if DRIVER == "colonnade":
        from colonnade import dbapi

        return dbapi.connect(DSN, extension_types=True)
    import psycopg
    from pgvector.psycopg import register_vector as register

    connection = psycopg.connect(DSN)
    register(connection)
    return connection


def sent(value: Any) -> Any:
    """A vector in the driver's form: ours accepts lists and arrays, but not pgvector's classes."""
    is_own = isinstance(value, Vector | HalfVector)
    return value.to_list() if is_own and DRIVER == "colonnade" else value


def floats(value: Any) -> list[float] | None:
    """The numbers of a vector of any class."""
    if value is None:
        return None
    return [float(part) for part in (value.to_list() if hasattr(value, "to_list") else value)]


def with_placeholders() -> None:
    """As with psycopg."""
    connection = connected()
    cursor = connection.cursor()
    cursor.execute("DROP TABLE IF EXISTS things")
    cursor.execute("CREATE TABLE things (id serial, v vector(3), h halfvec(3))")
    for value in (np.array([1, 2, 3.5]), Vector([4, 5, 6]), None):
        cursor.execute("INSERT INTO things (v) VALUES (%s)", (sent(value),))
    cursor.execute("INSERT INTO things (h) VALUES (%s)", (sent(HalfVector([1, 2, 3.5])),))
    rows = [(np.array([7, 8, 9]),), (np.array([0.5, 0, -1]),)]
    cursor.executemany("INSERT INTO things (v) VALUES (%s)", rows)
    cursor.execute("SELECT id, v, h FROM things ORDER BY id")
    found = [[number, floats(v), floats(h)] for number, v, h in cursor.fetchall()]
    answer("things", found)
    near = np.array([1, 2, 4])
    cursor.execute("SELECT id FROM things ORDER BY v <-> %s LIMIT 2", (near,))
    answer("nearest", cursor.fetchall())
    cursor.execute("SELECT avg(v) FROM things")
    answer("mean", floats(cursor.fetchone()[0]))
    connection.commit()
    connection.close()


async def on_an_async_engine() -> None:
    """SQLAlchemy's types, on asyncpg and on our own dialect."""
    engine = create_async_engine(engine_url("postgresql+asyncpg"))
    async with engine.begin() as connection:
        await connection.run_sync(ask)
    await engine.dispose()


async def prepare() -> None:
    connection = await asyncpg.connect(DSN)
    await connection.execute("CREATE EXTENSION vector")
    await connection.close()


asyncio.run(prepare())
asyncio.run(with_codecs())
with_placeholders()
asyncio.run(on_an_async_engine())
# asyncpg's dialect by its own name, with asyncpg or Colonnade as its module.
_shim = create_async_engine(engine_url("postgresql+asyncpg", "postgresql+asyncpg"))


async def on_the_shim() -> None:
    async with _shim.begin() as connection:
        await connection.run_sync(ask)
    await _shim.dispose()


asyncio.run(on_the_shim())
_engine = sa.create_engine(engine_url("postgresql+psycopg"))
with _engine.begin() as _connection:
    ask(_connection)
_engine.dispose()
