"""The tables of the tests about columns, and their rows."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import uuid
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Base(DeclarativeBase):
    """The tables of these tests."""


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Thing(Base):
    __tablename__ = "columns_thing"

    id: Mapped[int] = mapped_column(primary_key=True)
    small: Mapped[int | None] = mapped_column(sa.SmallInteger)
    large: Mapped[int | None] = mapped_column(sa.BigInteger)
    is_new: Mapped[bool | None]
    price: Mapped[decimal.Decimal | None] = mapped_column(sa.Numeric(10, 2))
    rough: Mapped[float | None] = mapped_column(sa.Numeric(10, 2, asdecimal=False))
    ratio: Mapped[float | None] = mapped_column(sa.REAL)
    weight: Mapped[float | None] = mapped_column(sa.Double)
    name: Mapped[str | None]
    colour: Mapped[Colour | None] = mapped_column(sa.Enum(Colour, name="columns_colour"))
    shade: Mapped[Colour | None] = mapped_column(sa.Enum(Colour, native_enum=False))
    day: Mapped[dt.date | None]
    clock: Mapped[dt.time | None]
    seen: Mapped[dt.datetime | None]
    moment: Mapped[dt.datetime | None] = mapped_column(sa.DateTime(timezone=True))
    token: Mapped[uuid.UUID | None]
    raw: Mapped[bytes | None]
    facts: Mapped[Any] = mapped_column(pg.JSONB, nullable=True)
    tags: Mapped[list[str] | None] = mapped_column(pg.ARRAY(sa.Text))


def things() -> list[dict[str, Any]]:
    """Three hundred rows; every third one has only NULLs."""
    rows: list[dict[str, Any]] = []
    for n in range(300):
        row: dict[str, Any] = dict.fromkeys(Thing.__table__.c.keys(), None) | {"id": n}
        if n % 3:
            row |= {"small": n % 7, "large": n * 2**33, "is_new": n % 2 == 0, "name": f"name {n}"}
            row |= {
                "price": decimal.Decimal(n) / 4,
                "rough": n / 4,
                "ratio": n / 2,
                "weight": n / 8,
            }
            row |= {"colour": Colour(n % 2 + 1), "shade": Colour(n % 2 + 1)}
            row |= {"day": dt.date(2020, 1, 1) + dt.timedelta(n), "clock": dt.time(1, 2, n % 60)}
            seen = dt.datetime(2020, 1, 1) + dt.timedelta(hours=n)
            row |= {"seen": seen, "moment": seen.replace(tzinfo=dt.UTC), "raw": bytes([n % 256])}
            row |= {"token": uuid.UUID(int=n), "facts": {"n": n}, "tags": [str(n)]}
        rows.append(row)
    return rows
