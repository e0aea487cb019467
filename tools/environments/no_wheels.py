"""Lists the locked packages that have wheels, but none for the running Python.

Building them would need compilers and other libraries and often take hours, so they are left out
of the environment of that Python. Standard input is the requirements from `uv export`.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename


def main() -> None:
    """Print their names, one per line."""
    fitting = frozenset(sys_tags())
    lock = tomllib.loads(Path("uv.lock").read_text(encoding="utf-8"))
    wheels = {
        (package["name"], package["version"]): package.get("wheels", [])
        for package in lock["package"]
    }
    needed = [Requirement(line) for line in sys.stdin.read().splitlines()]
    for requirement in needed:
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        (pinned,) = requirement.specifier
        urls = [wheel["url"] for wheel in wheels[requirement.name, pinned.version]]
        names = [url.rpartition("/")[2] for url in urls]
        if names and not any(parse_wheel_filename(name)[3] & fitting for name in names):
            print(requirement.name)


if __name__ == "__main__":
    main()
