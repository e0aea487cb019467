"""Writes the bill of materials of a release: the crates that are in any of its wheels.

maturin puts a bill in CycloneDX's format into each wheel. This one is their sum, for the release
and its attestation: ``build/release/colonnade-0.1.0.cdx.json``. It fails if a wheel has no bill,
or if a bill names a crate that Cargo.lock does not have in that version.
"""

from __future__ import annotations

import json
import sys
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "release"

Component = dict[str, Any]


class BillError(Exception):
    """A bill is missing or wrong."""


def bill_of(wheel: Path) -> dict[str, Any]:
    """The bill that a wheel has inside."""
    with zipfile.ZipFile(wheel) as packed:
        names = [name for name in packed.namelist() if ".dist-info/sboms/" in name]
        if len(names) != 1:
            raise BillError(f"{wheel.name} has {len(names)} bills of materials instead of one")
        bill: dict[str, Any] = json.loads(packed.read(names[0]))
    if bill.get("bomFormat") != "CycloneDX":
        raise BillError(f"{wheel.name}: {names[0]} is not in CycloneDX's format")
    return bill


def locked(lock: str) -> set[tuple[str, str]]:
    """The crates of a Cargo.lock, with their versions."""
    return {(crate["name"], crate["version"]) for crate in tomllib.loads(lock)["package"]}


def whole(wheels: Iterable[Path], project: dict[str, Any], lock: str) -> dict[str, Any]:
    """The bill of all wheels together, the same for the same wheels."""
    known = locked(lock)
    found: dict[tuple[str, str], Component] = {}
    specification = ""
    for wheel in wheels:
        bill = bill_of(wheel)
        specification = bill["specVersion"]
        for component in bill["components"]:
            crate = (component["name"], component["version"])
            if crate not in known:
                raise BillError(f"{wheel.name} has {crate[0]} {crate[1]}: Cargo.lock has not")
            found.setdefault(crate, component)
    if not found:
        raise BillError("there are no wheels: make wheels builds them")
    subject = {
        "type": "library",
        "name": project["name"],
        "version": project["version"],
        "purl": f"pkg:pypi/{project['name']}@{project['version']}",
        "licenses": [{"expression": project["license"]}],
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": specification,
        "version": 1,
        "metadata": {"component": subject},
        "components": [found[crate] for crate in sorted(found)],
    }


def main() -> None:
    """Write the bill of the wheels in dist."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wheels = sorted((ROOT / "dist").glob("*.whl"))
    try:
        bill = whole(wheels, project, (ROOT / "Cargo.lock").read_text("utf-8"))
    except BillError as error:
        sys.exit(str(error))
    BUILT.mkdir(parents=True, exist_ok=True)
    target = BUILT / f"{project['name']}-{project['version']}.cdx.json"
    target.write_text(json.dumps(bill, indent=2) + "\n", "utf-8")
    print(f"{target.relative_to(ROOT)}: {len(bill['components'])} crates of {len(wheels)} wheels")


if __name__ == "__main__":
    main()
