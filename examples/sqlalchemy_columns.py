"""Fetch an SQLAlchemy select as objects and as columns in the same session."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from colonnade import embedded
from colonnade.sqlalchemy import fetch_columns, in_array


class Base(DeclarativeBase):
    """The tables of this program."""


class Sale(Base):
    """One line of a receipt."""

    __tablename__ = "sale"

    id: Mapped[int] = mapped_column(primary_key=True)
    shop: Mapped[str]
    price: Mapped[float]


def main(dsn: str) -> None:
    """Add objects, then fetch them as objects and as columns."""
    engine = sa.create_engine(dsn.replace("postgresql://", "postgresql+colonnade://", 1))
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        session.add_all(Sale(shop=f"shop {n % 3}", price=n / 4) for n in range(3000))
        session.flush()

        dearest = session.scalars(sa.select(Sale).order_by(Sale.price.desc()).limit(1)).one()
        print("an object:", dearest.id, dearest.shop, dearest.price)

        sales = fetch_columns(session, sa.select(Sale.shop, Sale.price))
        print("columns:", sales.to_polars().group_by("shop").mean().sort("shop"))

        # All values are sent as one array parameter.
        some = sa.select(sa.func.count()).where(in_array(Sale.id, range(1, 1001)))
        print("found:", session.scalar(some))
    engine.dispose()


if __name__ == "__main__":
    with embedded.start(tcp=True) as server:
        main(server.dsn)
