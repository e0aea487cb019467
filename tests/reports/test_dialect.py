"""SQLAlchemy: reported faults of its dialects and of the ORM."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import postgresql as pg

if TYPE_CHECKING:
    from collections.abc import Iterator


class Day(enum.Enum):
    MON = "mon"
    TUE = "tue"


class Base(orm.DeclarativeBase):
    pass


class Entry(Base):
    __tablename__ = "reports_entries"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    days: orm.Mapped[list[Day]] = orm.mapped_column(pg.ARRAY(sa.Enum(Day, name="reports_day")))
    plain: orm.Mapped[list[Day]] = orm.mapped_column(pg.ARRAY(sa.Enum(Day, native_enum=False)))
    names: orm.Mapped[list[str]] = orm.mapped_column(pg.ARRAY(sa.String(20)))
    documents: orm.Mapped[list[Any]] = orm.mapped_column(pg.ARRAY(pg.JSONB))
    keys: orm.Mapped[list[uuid.UUID]] = orm.mapped_column(pg.ARRAY(sa.Uuid))
    hosts: orm.Mapped[list[Any]] = orm.mapped_column(pg.ARRAY(pg.INET))
    document: orm.Mapped[Any] = orm.mapped_column(pg.JSONB)
    missing: orm.Mapped[Any] = orm.mapped_column(pg.JSONB(none_as_null=True), nullable=True)
    large: orm.Mapped[int] = orm.mapped_column(sa.BigInteger)


def entry(**changes: Any) -> Entry:
    values = {
        "days": [Day.MON, Day.TUE],
        "plain": [Day.TUE],
        "names": ["it's", 'a "b", c'],
        "documents": [{"a": 1}, [1, None]],
        "keys": [uuid.UUID(int=7)],
        "hosts": ["10.0.0.1/8"],
        "document": {"a": "\u00e9"},
        "missing": None,
        "large": 880_194_977_773_281_290,
    }
    return Entry(**{**values, **changes})


@pytest.fixture(params=["colonnade", "psycopg"])
def engine(request: pytest.FixtureRequest, dsn: str) -> Iterator[sa.Engine]:
    """On our dialect, and on psycopg's: the answers are the same."""
    made = sa.create_engine(dsn.replace("postgresql:", f"postgresql+{request.param}:", 1))
    Base.metadata.drop_all(made)
    Base.metadata.create_all(made)
    yield made
    Base.metadata.drop_all(made)
    made.dispose()


@pytest.fixture
def session(engine: sa.Engine) -> Iterator[orm.Session]:
    with orm.Session(engine) as made:
        made.add(entry())
        made.commit()
        yield made


def test_arrays_of_everything(session: orm.Session) -> None:
    """sqlalchemy/sqlalchemy#4901, #5265, #5537, #6182: stored and read as they are."""
    found = session.scalars(sa.select(Entry)).one()
    assert (found.days, found.plain) == ([Day.MON, Day.TUE], [Day.TUE])
    assert found.names == ["it's", 'a "b", c']
    assert found.documents == [{"a": 1}, [1, None]]
    assert found.keys == [uuid.UUID(int=7)]
    assert [str(host) for host in found.hosts] == ["10.0.0.1/8"]


def test_arrays_that_contain(session: orm.Session) -> None:
    """sqlalchemy/sqlalchemy#6023, #6515: `contains` and `any`, with enums of both kinds."""
    for condition in (
        Entry.days.contains([Day.TUE]),
        Entry.plain.contains([Day.TUE]),
        Entry.names.contains(["it's"]),
        sa.literal(Day.MON, sa.Enum(Day, name="reports_day")) == sa.any_(Entry.days),
    ):
        assert session.scalar(sa.select(sa.func.count()).where(condition)) == 1


def test_members_of_a_list(session: orm.Session) -> None:
    """sqlalchemy/sqlalchemy#7097: `in_` of members of an enumeration."""
    first = sa.cast(Entry.days[1], sa.Enum(Day, name="reports_day"))
    asked = sa.select(sa.func.count()).where(first.in_([Day.MON, Day.TUE]))
    assert session.scalar(asked) == 1


def test_nothing_in_json(session: orm.Session) -> None:
    """sqlalchemy/sqlalchemy#6770: JSON's null, or NULL, as the column says."""
    session.add(entry(document=None))
    session.commit()
    sql = "SELECT document::text, missing IS NULL FROM reports_entries ORDER BY id"
    assert [tuple(row) for row in session.execute(sa.text(sql))] == [
        ('{"a": "\u00e9"}', True),
        ("null", True),
    ]


def test_a_large_integer_in_an_expression(session: orm.Session) -> None:
    """MagicStack/asyncpg#817, sqlalchemy/sqlalchemy#7813: a bigint stays one."""
    large = 880_194_977_773_281_290
    found = session.scalar(
        sa.select(sa.func.array_remove(pg.array([1, large]), sa.cast(large, sa.BigInteger)))
    )
    assert found == [1]
    assert session.scalar(sa.select(Entry.large).where(Entry.large == large)) == large


def test_a_literal(session: orm.Session) -> None:
    """encode/databases#270: a date in the list of a SELECT."""
    day = dt.date(2024, 2, 29)
    assert session.scalar(sa.select(sa.literal(day))) == day
    assert session.scalar(sa.select(sa.literal(dt.timedelta(1)))) == dt.timedelta(1)


def test_names_with_signs(engine: sa.Engine) -> None:
    """pandas-dev/pandas#34211, psycopg/psycopg2#825, sqlalchemy/sqlalchemy#5653: signs."""
    table = sa.Table(
        "reports_signs",
        sa.MetaData(),
        sa.Column("fi%eld", sa.Integer),
        sa.Column("a(b)", sa.Integer),
        sa.Column("c:d", sa.Integer),
        sa.Column("e f", sa.Integer),
    )
    with engine.begin() as connection:
        table.create(connection)
        connection.execute(sa.insert(table), [{"fi%eld": 1, "a(b)": 2, "c:d": 3, "e f": 4}] * 2)
        assert connection.execute(sa.select(table)).all() == [(1, 2, 3, 4)] * 2
        table.drop(connection)


def test_floats_into_typed_columns(dsn: str) -> None:
    """tlocke/pg8000#15, pgjdbc/pgjdbc#1934: exact where a column or a cast says numeric.

    psycopg's dialect sends them as double precision, which the server rounds to 15 digits.
    """
    table = sa.Table(
        "reports_floats", sa.MetaData(), sa.Column("v", sa.Numeric(20, 7)), schema="pg_temp"
    )
    insert = sa.text("INSERT INTO pg_temp.reports_floats VALUES (:v)")
    typed = insert.bindparams(sa.bindparam("v", type_=sa.Numeric))
    value = 1560704964.331047
    stored = {}
    for driver in ("colonnade", "psycopg"):
        engine = sa.create_engine(dsn.replace("postgresql:", f"postgresql+{driver}:", 1))
        with engine.connect() as connection:
            table.create(connection)
            connection.execute(table.insert(), {"v": value})
            connection.execute(table.insert(), [{"v": value}, {"v": value}])
            connection.execute(typed, {"v": value})
            connection.execute(insert, {"v": Decimal(repr(value))})
            connection.execute(insert, {"v": repr(value)})
            stored[driver] = connection.scalars(sa.select(sa.cast(table.c.v, sa.Text))).all()
            connection.rollback()
        engine.dispose()
    assert stored["colonnade"] == ["1560704964.3310470"] * 6
    assert stored["psycopg"] == ["1560704964.3310500"] * 4 + ["1560704964.3310470"] * 2


def test_whole_floats_first(dsn: str) -> None:
    """sqlalchemy/sqlalchemy#9701: the first row's whole number made all rows whole."""
    table = sa.Table("reports_doubles", sa.MetaData(), sa.Column("v", sa.Double), schema="pg_temp")
    engine = sa.create_engine(dsn.replace("postgresql:", "postgresql+colonnade:", 1))
    with engine.connect() as connection:
        table.create(connection)
        sets: list[dict[str, Any]] = [{"v": 1}, {"v": 2.5}, {"v": Decimal("0.25")}]
        connection.execute(table.insert(), sets)
        connection.execute(sa.text("INSERT INTO pg_temp.reports_doubles VALUES (:v)"), sets)
        returned = connection.scalars(table.insert().returning(table.c.v), sets).all()
        assert returned == [1.0, 2.5, 0.25]
        assert connection.scalars(sa.select(table.c.v)).all() == [1.0, 2.5, 0.25] * 3
        connection.rollback()
    engine.dispose()
