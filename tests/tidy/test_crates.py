"""Licences and sources of the wheel's crates, checked by `deny.toml` without cargo-deny."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
_SECONDS_MAX = 120


@pytest.fixture(scope="module")
def crates() -> list[dict[str, Any]]:
    """All crates of the lock file except our own."""
    command = ["cargo", "metadata", "--locked", "--format-version=1"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=_SECONDS_MAX)
    return [each for each in json.loads(done.stdout)["packages"] if each["source"] is not None]


def is_allowed(expression: str, allowed: set[str]) -> bool:
    """Whether a licence expression can be met with the allowed licences."""
    plain = re.sub(r"[()]", "", expression).replace("/", " OR ")
    return all(
        any(choice.strip() in allowed for choice in part.split(" OR "))
        for part in plain.split(" AND ")
    )


def test_licences(crates: list[dict[str, Any]]) -> None:
    allowed = set(tomllib.loads((ROOT / "deny.toml").read_text("utf-8"))["licenses"]["allow"])
    others = {each["name"]: each["license"] for each in crates}
    assert others
    assert {
        name: licence
        for name, licence in others.items()
        if not is_allowed(licence or "none", allowed)
    } == {}


def test_sources(crates: list[dict[str, Any]]) -> None:
    registry = "registry+https://github.com/rust-lang/crates.io-index"
    assert {each["name"] for each in crates if each["source"] != registry} == set()


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("GPL-3.0", False),
        ("GPL-3.0 OR MIT", True),
        ("(GPL-3.0 OR MIT) AND Zlib", True),
        ("MIT AND GPL-3.0", False),
        ("Apache-2.0/MIT", True),
    ],
)
def test_expressions(expression: str, *, expected: bool) -> None:
    assert is_allowed(expression, {"MIT", "Zlib"}) == expected
