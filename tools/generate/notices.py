"""Writes THIRD-PARTY-NOTICES: the licences of the crates linked into the wheel.

Most licences require that their text accompanies the code. If a crate offers several, MIT is
chosen, because it is the simplest to fulfil. Crates only under the Apache licence share the
project's own LICENSE and add their NOTICE. All texts come from the crates' sources.

    python -m tools.generate.notices            write the file
    python -m tools.generate.notices --check    fail when it is not up to date
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "THIRD-PARTY-NOTICES"
WHEEL = "colonnade-python"
PLATFORM = "x86_64-unknown-linux-gnu"
HEAD = """\
The wheel of Colonnade holds code of the crates below, by their licences. Colonnade itself is under
the Apache License, Version 2.0, whose text is in the file LICENSE; where a crate is under that
licence alone, this text is meant. Made by tools/generate/notices.py.
"""
APACHE = "Apache-2.0"


def linked_crates() -> list[dict[str, Any]]:
    """The crates linked into the wheel, by name, without macros and build dependencies."""
    command = ("cargo", "metadata", "--format-version=1", "--locked", "--filter-platform", PLATFORM)
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    metadata = json.loads(told)
    packages = {package["id"]: package for package in metadata["packages"]}
    needs = {
        node["id"]: [
            need["pkg"]
            for need in node["deps"]
            if any(kind["kind"] is None for kind in need["dep_kinds"])
        ]
        for node in metadata["resolve"]["nodes"]
    }
    found: set[str] = set()
    waiting = [key for key, package in packages.items() if package["name"] == WHEEL]
    while waiting:
        key = waiting.pop()
        is_macro = any("proc-macro" in target["kind"] for target in packages[key]["targets"])
        if key not in found and not is_macro:
            found.add(key)
            waiting += needs[key]
    others = (packages[key] for key in found if packages[key]["source"] is not None)
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def texts(package: dict[str, Any]) -> list[str]:
    """The texts for a crate; none if the project's own licence covers it."""
    files = sorted(Path(package["manifest_path"]).parent.iterdir())
    by_name = {file.name.upper(): file for file in files if file.is_file()}
    notices = [file for name, file in by_name.items() if name.startswith("NOTICE")]
    if package["license"] == APACHE:
        return [read(file) for file in notices]
    licences = [file for name, file in by_name.items() if name.startswith("LICENSE")]
    wanted = [file for file in licences if "MIT" in file.name.upper()]
    wanted += [file for file in licences if "UNICODE" in file.name.upper()]
    chosen = [*(wanted or licences), *notices]
    if not chosen:
        raise SystemExit(
            f"{package['name']}: {package['license']}, but no licence text in its sources"
        )
    return [read(file) for file in chosen]


def read(file: Path) -> str:
    """Return a text with this project's line ends, without trailing blanks."""
    lines = (line.rstrip() for line in file.read_text(encoding="utf-8").splitlines())
    return "\n".join(lines).strip("\n")


def page() -> str:
    """The whole file: crates that share their texts stand above them together."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for package in linked_crates():
        name = f"{package['name']} {package['version']} ({package['license']})"
        groups.setdefault(tuple(texts(package)), []).append(name)
    parts = ["\n\n".join(("\n".join(names), *shared)) for shared, names in sorted(groups.items())]
    return f"\n\n{'-' * 80}\n\n".join((HEAD.strip(), *parts)) + "\n"


def main() -> None:
    """Write the file, or compare."""
    parser = argparse.ArgumentParser(
        description="Write the licences of the crates linked into the wheel."
    )
    parser.add_argument("--check", action="store_true", help="fail when the file is out of date")
    wanted = page()
    if parser.parse_args().check:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != wanted:
            sys.exit("THIRD-PARTY-NOTICES is out of date: run make sync")
        return
    PAGE.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main()
