"""maturin's build backend, which first asks whether cargo is new enough.

An older cargo cannot even read the manifests, and its error names no version that can.

    python tools/environments/build_backend.py

asks the same for make, and whether there is a cargo at all.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]
_GET = (
    "`rustup update stable` brings a newer one. Without rustup: https://rustup.rs, or a package of"
    " the system with at least that version."
)
# maturin does not know that this module passes everything on to it.
os.environ.setdefault("MATURIN_NO_MISSING_BUILD_BACKEND_WARNING", "1")


def complaint() -> str | None:
    """Return what is wrong with the cargo on PATH; None if nothing is, or if there is none."""
    cargo = shutil.which("cargo")
    if cargo is None:
        return None
    said = subprocess.run(
        [cargo, "--version"], cwd=_ROOT, capture_output=True, text=True, check=False
    ).stdout
    found = re.match(r"cargo (\d+\.\d+\S*)", said)
    if found is None or _numbers(found[1]) >= _numbers(_wanted()):
        return None
    return f"Colonnade is built with Rust {_wanted()} or newer, but {cargo} is {found[1]}. {_GET}"


def _wanted() -> str:
    # By hand, for Pythons without tomllib: pip refuses those itself, later.
    manifest = (_ROOT / "Cargo.toml").read_text("utf-8")
    return "".join(re.findall(r'(?m)^rust-version = "([\d.]+)"', manifest))


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")[:2]]


def __getattr__(name: str) -> Any:
    """Look at cargo, and then do as maturin does, in every step of a build."""
    if not name.startswith(("build_", "get_requires_", "prepare_")):
        raise AttributeError(name)
    told = complaint()
    if told is not None:
        sys.exit(told)
    return getattr(importlib.import_module("maturin"), name)


def main() -> None:
    """Exit with a sentence where Rust cannot be used."""
    if shutil.which("cargo") is None:
        sys.exit(
            f"Colonnade is built with Rust {_wanted()} or newer, but there is no cargo on PATH."
            " https://rustup.rs installs it, and so may the system's packages."
        )
    sys.exit(complaint())


if __name__ == "__main__":
    main()
