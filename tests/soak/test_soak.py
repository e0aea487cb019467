"""Short soaks; `make soak` runs them at full size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.soak import gathers, interrupts, tasks, threads
from tests.soak.books import TABLES, Books, WrongResultError
from tests.soak.storm import Weather
from tests.support.restarts import RestartableServer

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.thorough

SEED = 2026
ROUNDS = [(Weather.CALM, 250), (Weather.STORM, 150), (Weather.RESTART, 150)]


@pytest.fixture(scope="module")
def restartable() -> Iterator[RestartableServer]:
    with RestartableServer() as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute(TABLES.encode())
        yield server


@pytest.mark.filterwarnings("ignore::colonnade.errors.InterfaceWarning")
async def test_tasks(restartable: RestartableServer, monkeypatch: pytest.MonkeyPatch) -> None:
    # The soak changes this, so restore it for other tests.
    monkeypatch.setattr("sys.unraisablehook", None)
    soak = tasks.Soak(restartable, SEED)
    await soak.run(ROUNDS, print)
    assert soak.tally.total == sum(count for _, count in ROUNDS)
    assert soak.tally.outcomes["cancelled"] > 50
    assert soak.tally.faults["pg_terminate_backend"] > 0


def test_threads(restartable: RestartableServer) -> None:
    soak = threads.Soak(restartable, SEED)
    soak.run(ROUNDS, print)
    assert soak.tally.total == sum(count for _, count in ROUNDS)
    assert soak.tally.faults["Connection.cancel"] > 20


@pytest.mark.parametrize("mode", interrupts.MODES)
def test_ctrl_c(restartable: RestartableServer, mode: str) -> None:
    done = interrupts.soak(restartable.dsn, mode, 100, SEED, 60.0)
    assert done["outcomes"]["interrupted"] > 0
    assert done["outcomes"]["its own result"] > 0


async def test_gathers(restartable: RestartableServer) -> None:
    soak = gathers.Tasks(restartable.dsn, SEED)
    await soak.run(200, print)
    assert soak.tally.outcomes["cancelled"] >= 200
    assert soak.tally.checks["connections without statement_timeout"] > 0


def test_gathers_of_threads(restartable: RestartableServer) -> None:
    soak = gathers.Threads(restartable.dsn, SEED)
    soak.run(100, print)
    assert soak.tally.total == 100
    assert soak.tally.outcomes["broken off by DivisionByZeroError"] > 0


# The oracle itself


def test_an_audit_finds_what_is_missing_and_what_is_too_much(
    restartable: RestartableServer,
) -> None:
    insert = "INSERT INTO soak_rows VALUES (%s, 1)"
    with psycopg.connect(restartable.dsn, autocommit=True) as connection:
        books = Books()
        token = books.token()
        books.may_write(token, 2)
        assert books.audit(restartable.dsn) == 1
        books.may_write(token, 2)
        connection.execute(insert, (token,))
        with pytest.raises(WrongResultError, match=r"1 rows of token \d+ are there, not \[0, 2\]"):
            books.audit(restartable.dsn)
        connection.execute("TRUNCATE soak_rows")
        books.has_written(token, 2)
        with pytest.raises(WrongResultError, match=r"0 rows of token \d+ are there, not \[2\]"):
            books.audit(restartable.dsn)
        connection.execute(insert, (books.token(),))
        with pytest.raises(WrongResultError, match="rows that no operation has written"):
            books.audit(restartable.dsn)
