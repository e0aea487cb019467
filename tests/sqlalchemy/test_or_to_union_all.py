"""A select with an OR, and its conversion to a UNION ALL, have the same rows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings, strategies as st
from sqlalchemy.dialects import postgresql as pg
from sqlalchemy.orm import (
    Bundle,
    DeclarativeBase,
    Mapped,
    Session,
    aliased,
    mapped_column,
    relationship,
    selectinload,
    with_loader_criteria,
)

import colonnade
from colonnade.sqlalchemy import or_to_union_all


class Base(DeclarativeBase):
    """The tables of these tests."""


class Owner(Base):
    __tablename__ = "union_owner"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None]
    rank: Mapped[int | None]
    items: Mapped[list[Item]] = relationship()


class Item(Base):
    __tablename__ = "union_item"

    id: Mapped[int] = mapped_column(primary_key=True)
    owner_id: Mapped[int | None] = mapped_column(sa.ForeignKey("union_owner.id"))
    size: Mapped[int | None]
    word: Mapped[str | None]
    is_red: Mapped[bool | None]


OWNER = Owner.__table__
ITEM = Item.__table__


@pytest.fixture(scope="module")
def connection(url: sa.URL) -> Iterator[sa.Connection]:
    """A transaction with rows that have repeated values and NULLs."""
    engine = sa.create_engine(url)
    chance = random.Random(7)

    def maybe(*values: Any) -> Any:
        return chance.choice([None, *values])

    with engine.connect() as connection:
        Base.metadata.create_all(connection)
        owners = [{"id": n, "name": maybe("a", "B", "c"), "rank": maybe(1, 2)} for n in range(6)]
        connection.execute(sa.insert(Owner), owners)
        connection.execute(
            sa.insert(Item),
            [
                {
                    "id": n,
                    "owner_id": maybe(0, 1, 2, 3),
                    "size": maybe(0, 1, 2, 3),
                    "word": maybe("x", "X", "y", ""),
                    "is_red": maybe(True, False),
                }
                for n in range(120)
            ],
        )
        yield connection
        connection.rollback()
    engine.dispose()


def rows(connection: sa.Connection, statement: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in connection.execute(statement)]


def assert_same(connection: sa.Connection, select: sa.Select[Any], *, in_order: bool) -> str:
    rewritten = or_to_union_all(select)
    before, after = connection.execute(select), connection.execute(rewritten)
    assert list(after.keys()) == list(before.keys())
    expected, found = before.all(), after.all()
    assert found == expected if in_order else Counter(found) == Counter(expected)
    text = str(rewritten.compile(dialect=connection.dialect))
    assert " UNION " in text
    return text


# Any select

ATOMS = st.sampled_from(
    [
        ITEM.c.size == 1,
        ITEM.c.size > 1,
        ITEM.c.size != 2,
        ITEM.c.size.in_([0, 3]),
        ITEM.c.size.not_in([0, 3]),
        ITEM.c.size.between(1, 2),
        ITEM.c.size.is_(None),
        ITEM.c.size + 1 > ITEM.c.owner_id,
        ITEM.c.word == "x",
        sa.func.lower(ITEM.c.word) == "x",
        ITEM.c.word.like("%"),
        ITEM.c.word.is_distinct_from("x"),
        ITEM.c.is_red,
        ~ITEM.c.is_red,
        ITEM.c.is_red.is_not(sa.true()),
        sa.exists().where(OWNER.c.id == ITEM.c.owner_id, OWNER.c.rank == 1).correlate(ITEM),
        ITEM.c.owner_id.in_(sa.select(OWNER.c.id).where(OWNER.c.name == "a")),
        sa.text("union_item.size = 2 OR union_item.word = 'y'"),
        sa.text("union_item.size > 1"),
    ]
)


def joined(parts: list[Any], operator: int) -> Any:
    return (sa.or_, sa.and_)[operator](*parts)


CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: (
        st.builds(joined, st.lists(inner, min_size=2, max_size=3), st.integers(0, 1))
        | inner.filter(lambda it: not isinstance(it, sa.TextClause)).map(sa.not_)
    ),
    max_leaves=5,
)
CERTAIN = ATOMS.filter(lambda it: not isinstance(it, sa.TextClause))


@settings(
    max_examples=250,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    alternatives=st.lists(CONDITIONS, min_size=2, max_size=4),
    shared=st.lists(CERTAIN, max_size=2),
    is_joined=st.booleans(),
    is_distinct=st.booleans(),
    terms=st.lists(st.integers(0, 4), max_size=3),
    limit=st.none() | st.integers(0, 30),
    offset=st.none() | st.integers(0, 30),
)
def test_the_rows_are_the_same(  # noqa: PLR0917 - hypothesis passes them by name
    alternatives: list[Any],
    shared: list[Any],
    is_joined: bool,
    is_distinct: bool,
    terms: list[int],
    limit: int | None,
    offset: int | None,
    connection: sa.Connection,
) -> None:
    columns: list[Any] = [ITEM.c.size, ITEM.c.word, (ITEM.c.size * 2).label("twice")]
    select = sa.select(*columns).where(*shared, sa.or_(*alternatives))
    if is_joined:
        select = select.add_columns(OWNER.c.rank, OWNER.c.id).join_from(ITEM, OWNER, isouter=True)
    if is_distinct:
        select = select.distinct()
    order = [ITEM.c.size.desc(), ITEM.c.word, sa.desc("twice"), ITEM.c.size.asc().nulls_first()]
    order += [] if is_distinct else [ITEM.c.is_red.desc().nulls_last()]
    chosen = [order[index % len(order)] for index in terms]
    # Order by every column, so that tied rows are equal.
    ties = range(1, 6 if is_joined else 4)
    everything = [*chosen, *(sa.literal_column(str(number)) for number in ties)]
    is_cut = limit is not None or offset is not None
    ordered = select.order_by(*everything).limit(limit).offset(offset) if is_cut else select
    text = assert_same(connection, ordered, in_order=is_cut)
    assert text.count("UNION") >= 1
    if chosen:
        assert_same(connection, select.order_by(*chosen), in_order=False)


def test_what_is_refused_of_texts_is_refused() -> None:
    condition = sa.or_(ITEM.c.size == 1, ITEM.c.size == 2)
    select = sa.select(ITEM.c.id).where(sa.text("is_red or size = 3"), condition)
    with pytest.raises(colonnade.InterfaceError, match="may contain another"):
        or_to_union_all(select)
    or_to_union_all(sa.select(ITEM.c.id).where(sa.text("is_red"), condition))


# Parameters


def test_every_value_is_sent_once(connection: sa.Connection) -> None:
    shared = ITEM.c.owner_id.in_(range(50))
    select = sa.select(ITEM.c.id).where(
        shared, sa.or_(ITEM.c.size == 1, ITEM.c.word == "x", ITEM.c.size > 2)
    )
    sent: list[Any] = []

    def keep(_conn: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        sent.append((statement, values))

    sa.event.listen(connection, "before_cursor_execute", keep)
    try:
        connection.execute(or_to_union_all(select)).all()
    finally:
        sa.event.remove(connection, "before_cursor_execute", keep)
    ((statement, values),) = sent
    assert len(values) == 53
    assert statement.count("UNION ALL") == 2
    assert statement.count("$53") > 1


def test_the_statement_is_compiled_once() -> None:
    def build(size: int) -> Any:
        return or_to_union_all(
            sa.select(ITEM.c.id).where(sa.or_(ITEM.c.size == size, ITEM.c.word == "x"))
        )

    keys = {build(size)._generate_cache_key().key for size in (1, 2)}
    assert len(keys) == 1


# Selected columns


def test_columns_are_found_by_their_objects(connection: sa.Connection) -> None:
    select = sa.select(ITEM).where(sa.or_(ITEM.c.size == 1, ITEM.c.size == 2))
    row = connection.execute(or_to_union_all(select)).first()
    assert row is not None
    assert row._mapping[ITEM.c.size] in {1, 2}


def test_names_that_repeat(connection: sa.Connection) -> None:
    condition = sa.or_(ITEM.c.size == 1, OWNER.c.rank == 1)
    select = sa.select(ITEM.c.id, OWNER.c.id, ITEM.c.id, sa.literal(1), sa.null())
    select = select.join_from(ITEM, OWNER).where(condition)
    assert_same(connection, select.order_by(ITEM.c.id), in_order=True)
    # The order is by a column that is not selected.
    assert_same(connection, select.order_by(ITEM.c.word, OWNER.c.name, ITEM.c.id), in_order=True)


def test_fetch_first_with_ties(connection: sa.Connection) -> None:
    select = sa.select(ITEM.c.size).where(sa.or_(ITEM.c.size == 1, ITEM.c.is_red))
    assert_same(connection, select.order_by(ITEM.c.size).fetch(3, with_ties=True), in_order=True)


def test_a_common_table_expression(connection: sa.Connection) -> None:
    named = sa.select(ITEM).where(ITEM.c.size > 0).cte("named")
    select = sa.select(named.c.id).where(sa.or_(named.c.size == 1, named.c.word == "x"))
    text = assert_same(connection, select.order_by(named.c.id), in_order=True)
    assert text.count("WITH named AS") == 1


def test_a_union_all_is_a_table_for_more(connection: sa.Connection) -> None:
    select = sa.select(ITEM.c.size).where(sa.or_(ITEM.c.size == 1, ITEM.c.word == "x"))
    union: Any = or_to_union_all(select)
    counts = []
    for inner in (select.subquery(), union.subquery()):
        count = sa.select(inner.c.size, sa.func.count()).group_by(inner.c.size).order_by("size")
        counts.append(rows(connection, count))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("is_hidden", [False, True])
def test_objects_of_the_orm(connection: sa.Connection, is_hidden: bool) -> None:
    select = sa.select(Owner).where(sa.or_(Owner.rank == 1, Owner.name == "a"))
    select = select.order_by(sa.func.upper(Owner.name) if is_hidden else Owner.name, Owner.id)
    with Session(connection) as session:
        expected = session.scalars(select).all()
        rewritten = or_to_union_all(select.options(selectinload(Owner.items)))
        found = session.scalars(rewritten).all()
        assert expected
        assert found == expected
        assert all("items" in owner.__dict__ for owner in found)


def test_objects_and_columns_of_the_orm(connection: sa.Connection) -> None:
    other = aliased(Owner)
    select = (
        sa.select(Owner, other, Item.size)
        .join(Item, Item.owner_id == Owner.id)
        .join(other, other.rank == Owner.rank)
        .where(sa.or_(other.name == "a", Item.word == "x", Owner.name.is_(None)))
    )
    with Session(connection) as session:
        expected = Counter(map(tuple, session.execute(select)))
        assert expected
        assert Counter(map(tuple, session.execute(or_to_union_all(select)))) == expected


def test_columns_of_the_orm(connection: sa.Connection) -> None:
    select = (
        sa.select(Item.id, Owner.name).join(Owner).where(sa.or_(Item.size == 1, Owner.rank == 2))
    )
    with Session(connection) as session:
        expected = Counter(session.execute(select).all())
        assert Counter(session.execute(or_to_union_all(select)).all()) == expected


# Errors

EITHER = sa.or_(ITEM.c.size == 1, ITEM.c.word == "x")
SIZE = sa.select(ITEM.c.size).where(EITHER)
DISTINCT_ON: Any = (
    SIZE.ext(pg.distinct_on(ITEM.c.size))
    if hasattr(pg, "distinct_on")
    else SIZE.distinct(ITEM.c.size)  # SQLAlchemy 2.0
)


@pytest.mark.parametrize(
    ("select", "reason"),
    [
        (sa.select(ITEM.c.size), "no or_"),
        (sa.select(ITEM.c.size).where(ITEM.c.size == 1, ITEM.c.word == "x"), "no or_"),
        (sa.select(ITEM.c.size).where(~EITHER), "no or_"),
        (SIZE.group_by(ITEM.c.size), "GROUP BY"),
        (SIZE.having(ITEM.c.size > 1), "HAVING"),
        (DISTINCT_ON, "DISTINCT ON|unknown part"),
        (SIZE.with_for_update(), "FOR UPDATE"),
        (SIZE.prefix_with("/* x */"), "prefixes"),
        (SIZE.suffix_with("/* x */"), "suffixes"),
        (SIZE.with_hint(ITEM, "x"), "hints"),
        (SIZE.with_statement_hint("x"), "hints"),
        (SIZE.add_cte(sa.select(1).cte("other")), "WITH"),
        (SIZE.add_columns(sa.func.count()), r"count\(\) is computed over all its rows"),
        (SIZE.add_columns(sa.func.max(ITEM.c.size) + 1), r"max\(\) is computed over all its rows"),
        (SIZE.add_columns(sa.func.row_number().over()), "window"),
        (SIZE.add_columns(sa.func.lower(ITEM.c.word).over()), "window"),
        (SIZE.add_columns(sa.func.mine(ITEM.c.size)), r"mine\(\) may be an aggregate"),
        (
            SIZE.add_columns(sa.literal_column("count(*)").label("n")),
            "is computed over all its rows",
        ),
        (SIZE.add_columns(sa.text("1")), "selects SQL text"),
        (SIZE.where(sa.func.random() < 1), r"random\(\) may be"),
        (SIZE.where(sa.text("random() < 1")), r"random\(\) may be"),
        (SIZE.where(sa.exists().where(OWNER.c.rank > sa.func.random())), r"random\(\) may be"),
        (SIZE.order_by(sa.text("size + 1")), "ordered by SQL text"),
        (SIZE.order_by("nothing"), "'nothing'"),
        (SIZE.distinct().order_by(ITEM.c.word), "DISTINCT and ordered"),
        (sa.select(ITEM.tablesample(50)).where(EITHER), "TABLESAMPLE"),
        (sa.select(Bundle("b", Item.size)).where(EITHER), "Bundle"),
        (
            sa.select(Item).where(EITHER).options(with_loader_criteria(Item, Item.size > 1)),
            "criteria",
        ),
        (SIZE.options(selectinload(Owner.items)), "options"),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_what_would_have_other_rows_is_refused(select: Any, reason: str) -> None:
    with pytest.raises(colonnade.InterfaceError, match=reason):
        or_to_union_all(select)


def test_a_function_that_the_caller_knows(connection: sa.Connection) -> None:
    select = SIZE.add_columns(sa.func.pg_catalog.abs(ITEM.c.size), sa.func.chr(65).label("a"))
    assert_same(connection, select, in_order=False)
    strange = SIZE.add_columns(sa.func.sind(ITEM.c.size).label("s"))
    with pytest.raises(colonnade.InterfaceError) as caught:
        or_to_union_all(strange)
    assert "functions={'sind'}" in str(caught.value)
    assert Counter(rows(connection, or_to_union_all(strange, functions={"SIND"}))) == Counter(
        rows(connection, strange)
    )


def test_what_is_no_select() -> None:
    with pytest.raises(TypeError, match="takes a Select, not CompoundSelect"):
        or_to_union_all(sa.union_all(SIZE, SIZE))  # type: ignore[arg-type]
