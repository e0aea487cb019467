"""Every example runs, prints something, and prints no warnings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
TESTS = [path for path in EXAMPLES if path.name.startswith("test_")]
PROGRAMS = [path for path in EXAMPLES if path not in TESTS]


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", *command],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=FOLDER.parent,
    )


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_runs(path: Path) -> None:
    done = run(path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_passes(path: Path) -> None:
    # Run it as a separate project, without this one's settings.
    settings = ("-c", os.devnull, "-o", "asyncio_default_fixture_loop_scope=function")
    done = run("-m", "pytest", "-W", "error", "-p", "no:cacheprovider", *settings, path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_analytics_answer_as_pandas_does(tmp_path: Path) -> None:
    done = run("-m", "examples.analytics", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "pandas, without HTTP" in done.stdout
    picture = (tmp_path / "analytics-request.svg").read_text("utf-8")
    assert "follow relations" in picture


def test_the_readme_names_each() -> None:
    text = (FOLDER / "README.md").read_text("utf-8")
    assert EXAMPLES
    assert [path.name for path in EXAMPLES if f"`{path.name}`" not in text] == []
