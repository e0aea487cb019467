"""The release's bill of materials is the sum of its wheels', and none may be missing or wrong."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tools.release import sbom

LOCK = "".join(
    f'[[package]]\nname = "{name}"\nversion = "{version}"\n'
    for name, version in (("arrow", "58.0.0"), ("libc", "0.2.1"), ("memchr", "2.9.0"))
)
PROJECT = {"name": "colonnade", "version": "1.2.3", "license": "Apache-2.0"}


def wheel(folder: Path, name: str, *crates: tuple[str, str], bills: int = 1) -> Path:
    path = folder / f"{name}.whl"
    components = [{"type": "library", "name": n, "version": v} for n, v in crates]
    bill: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "components": components,
    }
    with zipfile.ZipFile(path, "w") as packed:
        for number in range(bills):
            inside = f"colonnade-1.2.3.dist-info/sboms/{number}.cyclonedx.json"
            packed.writestr(inside, json.dumps(bill))
    return path


def test_the_sum_has_each_crate_once(tmp_path: Path) -> None:
    one = wheel(tmp_path, "one", ("memchr", "2.9.0"), ("arrow", "58.0.0"))
    two = wheel(tmp_path, "two", ("arrow", "58.0.0"), ("libc", "0.2.1"))
    bill = sbom.whole([one, two], PROJECT, LOCK)
    assert [part["name"] for part in bill["components"]] == ["arrow", "libc", "memchr"]
    assert bill["metadata"]["component"]["purl"] == "pkg:pypi/colonnade@1.2.3"
    assert bill == sbom.whole([two, one], PROJECT, LOCK)


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(sbom.BillError, match="no wheels"):
        sbom.whole([], PROJECT, LOCK)
    with pytest.raises(sbom.BillError, match="has 0 bills"):
        sbom.whole([wheel(tmp_path, "bare", bills=0)], PROJECT, LOCK)
    old = wheel(tmp_path, "old", ("arrow", "57.0.0"))
    with pytest.raises(sbom.BillError, match=r"old.whl has arrow 57.0.0: Cargo.lock has not"):
        sbom.whole([old], PROJECT, LOCK)
