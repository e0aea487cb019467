"""SQLAlchemy's asyncpg dialect: Core, ORM, transactions, cursors, types, errors, two engines."""

from __future__ import annotations

import asyncio
import datetime as dt
import decimal
import uuid

import pytest

from tests.libraries.answers import DRIVER, DSN, answer, stand_in_for_asyncpg

stand_in_for_asyncpg()

import asyncpg  # noqa: E402
import sqlalchemy as sa  # noqa: E402
from sqlalchemy.dialects import postgresql as pg  # noqa: E402
from sqlalchemy.ext.asyncio import (  # noqa: E402
    AsyncEngine,
    AsyncSession,
    async_sessionmaker,
    create_async_engine,
)
from sqlalchemy.orm import (  # noqa: E402
    DeclarativeBase,
    Mapped,
    mapped_column,
    relationship,
    selectinload,
)
from sqlalchemy.pool import NullPool  # noqa: E402

UTC = dt.UTC


class Base(DeclarativeBase):
    """The tables of this program."""


class Author(Base):
    __tablename__ = "shim_author"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    books: Mapped[list[Book]] = relationship(back_populates="author")


class Book(Base):
    __tablename__ = "shim_book"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    title: Mapped[str]
    price: Mapped[decimal.Decimal] = mapped_column(sa.Numeric(10, 2))
    tags: Mapped[list[str]] = mapped_column(pg.ARRAY(sa.Text))
    facts: Mapped[dict[str, object]] = mapped_column(pg.JSONB)
    printed: Mapped[dt.datetime] = mapped_column(sa.DateTime(timezone=True))
    sold_in: Mapped[pg.Range[int]] = mapped_column(pg.INT4RANGE)
    author_id: Mapped[int] = mapped_column(sa.ForeignKey("shim_author.id"))
    author: Mapped[Author] = relationship(back_populates="books")


async def core(engine: AsyncEngine) -> None:
    """Core statements, with every kind of parameter and result."""
    table = sa.Table(
        "shim_core",
        sa.MetaData(),
        sa.Column("n", sa.Integer, primary_key=True),
        sa.Column("text", sa.Text),
        sa.Column("at", sa.DateTime),
        prefixes=["TEMPORARY"],
    )
    async with engine.begin() as connection:
        assert await connection.scalar(sa.text("SELECT 1")) == 1
        version = await connection.scalar(sa.text("SHOW server_version_num"))
        assert connection.dialect.server_version_info is not None
        assert str(connection.dialect.server_version_info[0]) == version[:2]
        await connection.run_sync(table.create)
        moment = dt.datetime(2020, 1, 2, 3, 4, 5, 6)
        rows = [{"n": n, "text": f"row {n}", "at": moment} for n in range(500)]
        await connection.execute(table.insert(), rows)
        assert await connection.scalar(sa.select(sa.func.count()).select_from(table)) == 500
        result = await connection.execute(table.update().where(table.c.n < 10).values(text=None))
        assert result.rowcount == 10
        inserted = await connection.execute(
            table.insert().returning(table.c.n), [{"n": 1000}, {"n": 1001}]
        )
        assert sorted(inserted.scalars()) == [1000, 1001]
        found = await connection.execute(
            sa.select(table).where(table.c.n.in_([1, 20])).order_by("n")
        )
        assert [tuple(row) for row in found] == [(1, None, moment), (20, "row 20", moment)]
        stream = await connection.stream(
            sa.select(table.c.n).order_by(table.c.n).execution_options(yield_per=64)
        )
        assert [n async for n in stream.scalars()] == [*range(500), 1000, 1001]


async def orm(engine: AsyncEngine, sessions: async_sessionmaker[AsyncSession]) -> None:
    """Objects, relations, and every type of a column written and read back."""
    async with engine.begin() as connection:
        # Remove tables that an earlier run may have left.
        await connection.run_sync(Base.metadata.drop_all)
        await connection.run_sync(Base.metadata.create_all)
    printed = dt.datetime(2020, 1, 2, tzinfo=UTC)
    async with sessions.begin() as session:
        book = Book(
            title="Columns",
            price=decimal.Decimal("12.50"),
            tags=["a", "b"],
            facts={"pages": 10, "none": None},
            printed=printed,
            sold_in=pg.Range(1, 10),
        )
        session.add(Author(name="Vitruvius", books=[book]))
    async with sessions() as session:
        query = sa.select(Author).options(selectinload(Author.books)).where(Author.name != "x")
        author = (await session.scalars(query)).one()
        (book,) = author.books
        assert isinstance(book.id, uuid.UUID)
        assert (book.price, book.tags) == (decimal.Decimal("12.50"), ["a", "b"])
        assert (book.facts, book.printed) == ({"pages": 10, "none": None}, printed)
        assert book.sold_in == pg.Range(1, 10)
        streamed = await session.stream_scalars(sa.select(Book.title))
        assert await streamed.all() == ["Columns"]


async def transactions(engine: AsyncEngine, sessions: async_sessionmaker[AsyncSession]) -> None:
    """Savepoints, rollbacks, isolation, and errors by their class."""
    async with sessions() as session:
        with pytest.raises(sa.exc.IntegrityError) as caught:
            async with session.begin():
                session.add(Author(name="Vitruvius"))
        cause = caught.value.orig.__cause__ if caught.value.orig is not None else None
        assert isinstance(cause, asyncpg.UniqueViolationError), cause
        assert cause.constraint_name == "shim_author_name_key"
        async with session.begin():
            session.add(Author(name="Alberti"))
            await session.flush()
            savepoint = await session.begin_nested()
            session.add(Author(name="Palladio"))
            await session.flush()
            await savepoint.rollback()
        names = await session.scalars(sa.select(Author.name).order_by(Author.name))
        assert names.all() == ["Alberti", "Vitruvius"]
    serializable = engine.execution_options(isolation_level="SERIALIZABLE")
    async with serializable.connect() as connection:
        assert await connection.scalar(sa.text("SHOW transaction_isolation")) == "serializable"
        await connection.rollback()
    autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")
    async with autocommit.connect() as connection:
        await connection.execute(sa.text("VACUUM"))
        with pytest.raises(sa.exc.ProgrammingError, match="no_such_table"):
            await connection.execute(sa.text("SELECT * FROM no_such_table"))


async def lost_connections(engine: AsyncEngine) -> None:
    """A connection that the server ended is discarded, and the next one works."""
    async with engine.connect() as connection:
        pid = await connection.scalar(sa.text("SELECT pg_backend_pid()"))
        async with engine.connect() as other:
            await other.execute(sa.text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
        with pytest.raises(sa.exc.DBAPIError) as caught:
            await connection.execute(sa.text("SELECT 1"))
        assert caught.value.connection_invalidated
    async with engine.connect() as connection:
        assert await connection.scalar(sa.text("SELECT 2")) == 2


async def listening(engine: AsyncEngine) -> None:
    """The driver's own connection, as applications access it."""
    async with engine.connect() as connection:
        raw = await connection.get_raw_connection()
        driver = raw.driver_connection
        assert isinstance(driver, asyncpg.Connection)
        if DRIVER == "usual":
            return
        columns = await driver.fetch_columns("SELECT generate_series(1, 3) AS n")
        assert columns.to_pydict() == {"n": [1, 2, 3]}


async def main(dsn: str) -> None:
    """Run everything on an engine with a pool, and a part on one without."""
    url = sa.make_url(dsn).set(drivername="postgresql+asyncpg")
    engine = create_async_engine(url, pool_pre_ping=True)
    sessions = async_sessionmaker(engine, expire_on_commit=False)
    await core(engine)
    await orm(engine, sessions)
    await transactions(engine, sessions)
    await lost_connections(engine)
    await listening(engine)
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.drop_all)
    await engine.dispose()
    bare = create_async_engine(url, poolclass=NullPool)
    async with bare.connect() as connection:
        assert await connection.scalar(sa.text("SELECT 3")) == 3
    await bare.dispose()
    answer("done", True)


asyncio.run(main(DSN))
