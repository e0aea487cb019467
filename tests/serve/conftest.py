"""The JavaScript packages that tests run."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent / "browser"
# Git ignores it. It is not the folder of the sources, so that Python's tools do not search it.
INSTALLED = Path(__file__).resolve().parents[2] / "build" / "browser-tests"


@pytest.fixture(scope="session")
def node_project() -> Path:
    """A folder with the locked packages and our modules, in which Node.js runs scripts."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    INSTALLED.mkdir(parents=True, exist_ok=True)
    # Processes that test at the same time share the folder.
    with (INSTALLED / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_installed():
            for name in ("package.json", "package-lock.json"):
                shutil.copy(SOURCES / name, INSTALLED)
            _install()
        for source in SOURCES.glob("*.js"):
            shutil.copy(source, INSTALLED)
    return INSTALLED


def _is_installed() -> bool:
    """Whether the packages are those of the lock file."""
    lock = INSTALLED / "package-lock.json"
    return (
        (INSTALLED / "node_modules" / "@uwdata" / "flechette").is_dir()
        and lock.exists()
        and lock.read_bytes() == (SOURCES / "package-lock.json").read_bytes()
    )


def _install() -> None:
    command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    try:
        done = subprocess.run(
            command, cwd=INSTALLED, capture_output=True, text=True, timeout=120, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip("npm ci did not end within two minutes")
    if done.returncode != 0:
        pytest.skip(f"npm ci failed: {done.stderr.strip().splitlines()[-1:]}")
