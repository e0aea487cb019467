"""alembic: operations, a comparison of models with a database, on a blocking engine."""

from __future__ import annotations

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy.dialects import postgresql as pg

from tests.libraries.answers import answer, answer_error, engine_url

_META = sa.MetaData()
sa.Table(
    "users",
    _META,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(80), nullable=False, server_default="nobody"),
    sa.Column("mood", sa.Enum("good", "bad", name="mood")),
    sa.Column("facts", pg.JSONB),
    sa.Column("tags", pg.ARRAY(sa.Text)),
    sa.Column("at", sa.DateTime(timezone=True), server_default=sa.func.now()),
    sa.Index("users_name", "name"),
)


def differences(context: MigrationContext) -> list[str]:
    """The steps of a migration, as text."""
    found: list[str] = []
    for step in compare_metadata(context, _META):
        parts = step if isinstance(step, tuple) else tuple(step[0])
        found.append(f"{parts[0]} {getattr(parts[-1], 'name', None) or ''}".strip())
    return sorted(found)


engine = sa.create_engine(engine_url("postgresql+psycopg"))
with engine.begin() as connection:
    context = MigrationContext.configure(connection)
    op = Operations(context)
    answer("nothing is there", differences(context))
    _META.create_all(connection)
    answer("all is there", differences(context))
    op.add_column("users", sa.Column("age", sa.SmallInteger, comment="in years"))
    op.alter_column("users", "name", type_=sa.Text, nullable=True)
    op.create_check_constraint("users_age", "users", "age > 0")
    op.create_table("notes", sa.Column("id", sa.BigInteger, sa.Identity(), primary_key=True))
    op.create_foreign_key("notes_users", "users", "notes", ["id"], ["id"])
    op.bulk_insert(sa.table("notes", sa.column("id", sa.BigInteger)), [{"id": n} for n in range(3)])
    op.execute("UPDATE notes SET id = id + 10")
    answer("changed", differences(context))
    op.drop_constraint("notes_users", "users", type_="foreignkey")
    op.drop_table("notes")
    op.drop_index("users_name")
    answer("undone in part", differences(context))
with engine.connect() as connection:
    context = MigrationContext.configure(connection)
    answer("version", context.get_current_revision())
    op = Operations(context)
    answer_error("no such table", lambda: op.drop_table("no_such_table"))
engine.dispose()
