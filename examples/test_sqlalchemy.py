"""Test SQLAlchemy models, blocking and asynchronous, each test with a database of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from colonnade.sqlalchemy import fetch_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Base(DeclarativeBase):
    """The tables of this program."""


class Sale(Base):
    """One line of a receipt."""

    __tablename__ = "sale"

    id: Mapped[int] = mapped_column(primary_key=True)
    shop: Mapped[str]
    price: Mapped[float]


def create_tables(dsn: str) -> None:
    """Fill the template database: with tables, and with a row that all tests need."""
    engine = sa.create_engine(dsn.replace("postgresql://", "postgresql+colonnade://", 1))
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        session.add(Sale(shop="corner", price=1.5))
        session.commit()
    engine.dispose()


@pytest.fixture(scope="session")
def colonnade_template() -> Callable[[str], None]:
    """Have the plugin call `create_tables` once; each test gets a copy of the result."""
    return create_tables


@pytest.fixture
def session(colonnade_sqlalchemy_url: str) -> Iterator[Session]:
    """Open a session that may commit: nobody else sees this database."""
    engine = sa.create_engine(colonnade_sqlalchemy_url)
    with Session(engine) as session:
        yield session
    engine.dispose()


def test_columns(session: Session) -> None:
    """Committed objects come back as columns."""
    session.add_all(Sale(shop="market", price=n / 4) for n in range(100))
    session.commit()
    columns = fetch_columns(session, sa.select(Sale.shop, Sale.price))
    assert len(columns) == 101


def test_only_the_template(session: Session) -> None:
    """The sales of the other test are not here."""
    assert session.scalars(sa.select(Sale.shop)).all() == ["corner"]


@pytest.mark.asyncio
async def test_asynchronously(colonnade_sqlalchemy_url: str) -> None:
    """The same URL is good for an asynchronous engine."""
    engine = create_async_engine(colonnade_sqlalchemy_url)
    async with AsyncSession(engine) as session:
        session.add(Sale(shop="market", price=2.5))
        await session.commit()
        assert await session.scalar(sa.select(sa.func.sum(Sale.price))) == 4.0
    await engine.dispose()
