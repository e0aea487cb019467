"""The demo from end to end."""

from __future__ import annotations

import re
import signal
import subprocess

import pytest

import colonnade.sync
from tests.cli.program import PROGRAM, environment, run


def schemas(connection: colonnade.sync.Connection) -> list[str]:
    """The schemas that a demo has left on the server."""
    found = connection.fetch(
        "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'colonnade_demo%'"
    )
    return [row[0] for row in found]


def test_with_a_private_server() -> None:
    done = run(None, "demo", "--rounds", "1")
    assert done.returncode == 0, done.stderr
    assert "a private server" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stdout.count("336,776 rows") == 2
    assert "airline='American Airlines Inc.'" in done.stdout
    for name in ("fetch_columns", "fetch"):
        costs = rf"^{name} +[\d,.]+ ms wall time, +[\d,.]+ ms CPU"
        assert re.search(costs, done.stdout, re.MULTILINE)
    profile = colonnade.__build_profile__
    assert (f"measured with a {profile} build" in done.stdout) is (profile != "release")


def test_a_given_server_is_left_as_it_was(dsn: str, connection: colonnade.sync.Connection) -> None:
    done = run(dsn, "demo", "--rounds", "1")
    assert done.returncode == 0, done.stderr
    assert "COLONNADE_DSN" in done.stdout
    assert schemas(connection) == []


@pytest.mark.parametrize("moment", ["Loading", "flights", "the same as rows"])
def test_an_interrupt_leaves_nothing_behind(
    moment: str, dsn: str, connection: colonnade.sync.Connection
) -> None:
    demo = subprocess.Popen(
        [*PROGRAM, "demo", "--rounds", "1000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(dsn, PYTHONUNBUFFERED="1"),
    )
    try:
        assert demo.stdout is not None
        for line in demo.stdout:
            if line.startswith(moment):
                break
        demo.send_signal(signal.SIGINT)
        _, told = demo.communicate(timeout=60)
    finally:
        demo.kill()
        demo.wait()
    assert demo.returncode == 130, told
    assert "interrupted" in told
    assert "Traceback" not in told
    assert schemas(connection) == []


def test_a_server_that_is_not_there() -> None:
    done = run("postgresql://nobody:secret@127.0.0.1:1/none", "demo")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stdout + done.stderr
