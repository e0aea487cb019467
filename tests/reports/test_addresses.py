"""Addresses of servers: the parts of a URI, and the secrets that must not leave it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import psycopg.conninfo
import pytest
import sqlalchemy as sa

from colonnade._driver.connection_options import ConnectionOptions, TlsArguments, resolve
from colonnade.errors import ClientConfigurationError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variables and files of the caller's."""
    for name in list(os.environ):
        if name.startswith("PG"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


def read(dsn: str) -> ConnectionOptions:
    return resolve(dsn, {}, None, TlsArguments(None, None))


#: A URI, and the password in it, as libpq reads it.
PASSWORDS = (
    ("MagicStack/asyncpg#1159", "postgresql://u:a%23b@h/d", "a#b"),
    ("rust-postgres/rust-postgres#453", "postgresql://u:$Pa$ssword@h/d", "$Pa$ssword"),
    ("eduardolat/pgbackweb#3", "postgresql://u:p%40ss@h/d", "p@ss"),
    ("ankane/pghero#280", "postgresql://u:100%25@h/d", "100%"),
    ("brianc/node-postgres#3557", "postgresql://u:a%3Ab%3Fc@h/d", "a:b?c"),
    ("jackc/pgx#1120", "postgresql://u:a/b@h/d", "a/b"),
    ("MagicStack/asyncpg#637", "postgresql://u:%5B%5D@h/d", "[]"),
)


@pytest.mark.parametrize(("reports", "dsn", "password"), PASSWORDS)
def test_signs_in_a_password(reports: str, dsn: str, password: str) -> None:
    """MagicStack/asyncpg#1159 and others: as libpq, or a named error; never another host."""
    assert reports
    try:
        theirs: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        theirs = {}
    try:
        found = read(dsn)
    except ClientConfigurationError as error:
        assert password not in str(error)  # noqa: PT017
        return
    assert found.info.password == theirs.get("password", password) == password
    assert (found.info.user, found.info.database) == ("u", "d")
    assert [str(place.address) for place in found.endpoints] == ["h:5432"]


@pytest.mark.parametrize("folder", ["%2Ftmp", "%2Fcloudsql%3Aproject%3Aregion"])
def test_a_socket_in_the_place_of_the_host(folder: str) -> None:
    """porsager/postgres#346, transact-rs/sqlx#687: a folder in percent signs."""
    dsn = f"postgresql://foo:bar@{folder}/my_db"
    theirs = psycopg.conninfo.conninfo_to_dict(dsn)
    (place,) = read(dsn).endpoints
    assert str(place.address) == f"{theirs['host']}/.s.PGSQL.5432"


def test_the_scheme_of_a_library(dsn: str) -> None:
    """MagicStack/asyncpg#1151: SQLAlchemy's scheme is a named error for the driver."""
    for scheme in ("postgresql+asyncpg", "postgresql+psycopg", "jdbc:postgresql"):
        with pytest.raises(ClientConfigurationError) as refused:
            read(dsn.replace("postgresql:", f"{scheme}:", 1).replace("@", ":s3cret@"))
        assert "s3cret" not in str(refused.value)


def test_parameters_of_other_libraries() -> None:
    """MagicStack/asyncpg#598, #436, #593: Prisma's `schema=` and JDBC's `currentSchema=`."""
    for option in ("schema=app", "sslmod=require"):
        with pytest.raises(ClientConfigurationError, match=option.partition("=")[0]):
            read(f"postgresql://u:s3cret@h/d?{option}")


def test_an_url_of_sqlalchemy(dsn: str) -> None:
    """rustprooflabs/pgosm-flex#386: signs in a password, through an engine's URL."""
    url = sa.make_url(dsn).set(drivername="postgresql+colonnade", password="p@s:s/w%o#r?d")
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT 1")).scalar() == 1
    assert "p@s" not in repr(engine)
    engine.dispose()


SECRET = "s3cret"
REFUSED = (
    f"DATABASE_URL=postgresql://app:{SECRET}@db.example.org/prod?sslmode=require",
    f"url=postgresql://app:{SECRET}@db.example.org/prod?sslmode=require",
    f"postgresql:/app:{SECRET}@db.example.org/prod?sslmode=require",
    f"app:{SECRET}@db.example.org/prod?sslmode=require",
    f"postgresql//app:{SECRET}@db.example.org/prod?sslmode=require",
)


@pytest.mark.parametrize("dsn", REFUSED)
def test_no_uri(dsn: str) -> None:
    """MagicStack/asyncpg#1159, varied: refused before anything is sent, without the password."""
    with pytest.raises(ClientConfigurationError) as refused:
        read(dsn)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("blank", [" ", "\n", "\t "])
def test_blanks_around(blank: str) -> None:
    """As asyncpg: blanks before and after do not count."""
    found = read(f"{blank}postgresql://app:{SECRET}@db.example.org/prod{blank}")
    assert [str(place.address) for place in found.endpoints] == ["db.example.org:5432"]
