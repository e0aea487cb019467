"""Struct columns of SQLAlchemy: tables, expressions and mapped classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import (
    LargeBinary,
    Table,
    column,
    create_engine,
    insert,
    select,
    type_coerce,
    update,
)
from sqlalchemy.exc import StatementError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from colonnade.errors import StructError
from colonnade.sqlalchemy import StructType
from colonnade.structs import Struct, struct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine


@struct
class Facts(Struct):
    number: int
    author: str | None = None


@struct
class Other(Struct):
    title: str


class Base(DeclarativeBase):
    pass


class Pull(Base):
    __tablename__ = "struct_type_pulls"

    id: Mapped[int] = mapped_column(primary_key=True)
    data: Mapped[Facts | None] = mapped_column(StructType(Facts))


@pytest.fixture
def engine(dsn: str) -> Iterator[Engine]:
    engine = create_engine(dsn.replace("postgresql:", "postgresql+colonnade:", 1))
    Base.metadata.create_all(engine)
    yield engine
    Base.metadata.drop_all(engine)
    engine.dispose()


def test_mapped_instances(engine: Engine) -> None:
    with Session(engine) as session:
        session.add_all([Pull(id=1, data=Facts(1, "ann")), Pull(id=2, data=None)])
        session.commit()
        first, second = session.scalars(select(Pull).order_by(Pull.id))
        assert (first.data, second.data) == (Facts(1, "ann"), None)
        first.data = Facts(2)
        session.commit()
        assert session.scalars(select(Pull.data).where(Pull.data == Facts(2))).all() == [Facts(2)]
        session.execute(update(Pull).values(data=None))
        assert session.scalars(select(Pull.data)).all() == [None, None]


def test_a_value_of_another_class_is_refused(engine: Engine) -> None:
    with engine.begin() as connection:
        table = Pull.__table__
        assert isinstance(table, Table)
        for value in (Other("x"), b"bytes", {"number": 1}):
            with pytest.raises(StatementError, match="the column holds Facts, not"):
                connection.execute(insert(table), {"id": 1, "data": value})
        assert connection.execute(select(Pull.id)).all() == []


def test_stored_bytes_of_another_struct(engine: Engine) -> None:
    data = type_coerce(column("data"), LargeBinary)
    with engine.begin() as connection:
        for index, blob in enumerate([bytes(Other("x")), b"", bytes(Facts(1))[:-1]]):
            statement = "INSERT INTO struct_type_pulls VALUES ($1, $2)"
            connection.exec_driver_sql(statement, (index, blob))
            query = select(Pull.data).where(Pull.id == index)
            with pytest.raises(StructError, match="Facts"):
                connection.execute(query).all()
        stored = connection.execute(select(data).select_from(Pull).order_by(Pull.id)).scalars()
        assert list(stored) == [bytes(Other("x")), b"", bytes(Facts(1))[:-1]]


def test_what_it_says_of_itself() -> None:
    kind = StructType(Facts)
    assert kind.python_type is Facts
    assert "Facts" in repr(kind)
