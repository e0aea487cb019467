"""SQLModel: models, relations, sessions of both colours, errors."""

# ruff: noqa: I002 - SQLModel reads a relation's annotations while it creates the class.
import asyncio
import datetime as dt
import decimal
import uuid
from typing import Optional

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine
from sqlmodel import Field, Relationship, Session, SQLModel, create_engine, select
from sqlmodel.ext.asyncio.session import AsyncSession

from tests.libraries.answers import answer, answer_error, engine_url


class Team(SQLModel, table=True):
    id: Optional[int] = Field(default=None, primary_key=True)  # noqa: UP045 - SQLModel reads it
    name: str = Field(index=True, unique=True)
    heroes: list["Hero"] = Relationship(back_populates="team")


class Hero(SQLModel, table=True):
    id: Optional[int] = Field(default=None, primary_key=True)  # noqa: UP045
    name: str
    key: uuid.UUID = uuid.UUID(int=7)
    born: Optional[dt.date] = None  # noqa: UP045
    at: dt.datetime = dt.datetime(2024, 2, 29, 1, 2, 3, 4, tzinfo=dt.UTC)
    price: decimal.Decimal = Field(default=0, max_digits=8, decimal_places=3)
    patience: dt.timedelta = dt.timedelta(days=3, microseconds=1)
    weight: float = 0.1
    is_kind: bool = True
    photo: bytes = b"\0\xff"
    team_id: Optional[int] = Field(default=None, foreign_key="team.id")  # noqa: UP045
    team: Optional[Team] = Relationship(back_populates="heroes")  # noqa: UP045


engine = create_engine(engine_url("postgresql+psycopg"))
SQLModel.metadata.create_all(engine)
with Session(engine) as session:
    team = Team(name="Columns")
    session.add(team)
    heroes = [Hero(name=f"hero {n}", price=decimal.Decimal(n), team=team) for n in range(4)]
    session.add_all(heroes)
    session.commit()
    for hero in session.exec(select(Hero).order_by(sa.text("id"))):
        answer("hero", hero.model_dump())
    joined = select(Hero.name, Team.name).join(Team).where(Hero.price > 1)
    answer("joined", sorted(tuple(row) for row in session.exec(joined)))
    hero = session.exec(select(Hero).where(Hero.name == "hero 2")).one()
    hero.name, hero.team = "renamed", None
    session.add(hero)
    session.commit()
    session.refresh(team)
    answer("left", sorted(one.name for one in team.heroes))
    session.add(Team(name="Columns"))
    answer_error("twice", session.commit)
    session.rollback()


async def in_tasks() -> None:
    """The asynchronous session."""
    tasks = create_async_engine(engine_url("postgresql+asyncpg"))
    async with AsyncSession(tasks) as asynchronous:
        found = await asynchronous.exec(select(Hero.name).order_by(Hero.name))
        answer("names", list(found))
        asynchronous.add(Hero(name="late"))
        await asynchronous.commit()
        counted = await asynchronous.exec(select(sa.func.count()).select_from(Hero))
        answer("count", counted.one())
    await tasks.dispose()


asyncio.run(in_tasks())
engine.dispose()
