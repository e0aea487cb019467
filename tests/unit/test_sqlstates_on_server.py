"""The list of SQLSTATEs and a server's conditions, which it knows by name."""

from __future__ import annotations

from pathlib import Path

import colonnade.sync
from colonnade.errors import PostgresError, error_class

LIST = Path(__file__).resolve().parents[2] / "tools" / "generate" / "errcodes.tsv"

# PostgreSQL 17 removed the condition with its setting.
GONE = {"snapshot_too_old": 17}


def conditions(version: int) -> dict[str, set[str]]:
    """The conditions of this server's version: name -> its SQLSTATEs (some have two)."""
    known: dict[str, set[str]] = {}
    for line in LIST.read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        code, kind, name, since = [*line.split("\t"), ""][:4]
        if kind == "E" and int(since or 0) <= version < GONE.get(name, version + 1):
            known.setdefault(name, set()).add(code)
    return known


def test_every_condition_is_raised_as_its_class(dsn: str) -> None:
    wrong = {}
    with colonnade.sync.connect(dsn) as connection:
        version = int(connection.fetchval("SHOW server_version_num")) // 10_000
        for name, codes in conditions(version).items():
            try:
                connection.execute(f"DO $$ BEGIN RAISE {name}; END $$")
            except PostgresError as error:
                sqlstate = error.sqlstate or ""
                if sqlstate not in codes or type(error) is not error_class(sqlstate):
                    wrong[name] = repr(error)
    assert wrong == {}
