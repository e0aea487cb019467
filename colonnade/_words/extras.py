"""The error of a missing library, with the command that installs it where the program runs.

The command names the libraries of an extra, never this package. So it asks no index for a name that
may be somebody else's there, and it works in the same way after an installation from a checkout,
from a wheel or from an index, without another build.
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_PACKAGE = "colonnade"


@contextlib.contextmanager
def needed_by(user: str, library: str, extra: str | None = None) -> Generator[None, None, None]:
    """Wrap an import: its ImportError says that `user` needs the library and how to install it.

    Without `extra`, the extra that installs the library has the library's name.
    """
    try:
        yield
    except ImportError as error:
        command = how_to_install(extra or library)
        raise ImportError(f"{user} needs {library}: {command}", name=library) from error


def how_to_install(*extras: str) -> str:
    """Return the shell command that installs the libraries of extras for this interpreter."""
    import importlib.util
    import shlex

    declared = _declared()
    wanted = dict.fromkeys(one for extra in extras for one in _requirements(extra, declared))
    if not wanted:
        # Neither installed nor in a checkout: a copy, or a frozen program.
        return f"Colonnade's pyproject.toml has the libraries of the extra {', '.join(extras)}"
    # Not `pip` alone: that may install for another interpreter.
    command = [sys.executable or "python", "-m", "pip", "install"]
    if importlib.util.find_spec("pip") is None:
        own = _checkout() / ".tools" / "bin" / "uv"
        command = [str(own) if own.exists() else "uv", "pip", "install", "--python", command[0]]
    return " ".join([shlex.join(command), *(f'"{one}"' for one in wanted)])


def _requirements(extra: str, declared: list[tuple[str, str]]) -> list[str]:
    found: list[str] = []
    for name, requirement in declared:
        if name != extra:
            continue
        own, _, others = requirement.partition("[")
        if own == _PACKAGE:
            for other in others.rstrip("]").split(","):
                found += _requirements(other.strip(), declared)
        else:
            found.append(requirement)
    return found


def _declared() -> list[tuple[str, str]]:
    """Each extra with one of its requirements, in the order of pyproject.toml within an extra."""
    from importlib import metadata

    try:
        lines = metadata.requires(_PACKAGE) or []
    except metadata.PackageNotFoundError:
        return _declared_by_the_checkout()
    parts = [line.partition(";") for line in lines]
    return [(marker.split("==")[1].strip(" '\""), one.strip()) for one, _, marker in parts]


def _declared_by_the_checkout() -> list[tuple[str, str]]:
    """The same of a checkout that is on the search path and not installed."""
    import tomllib

    try:
        project = tomllib.loads((_checkout() / "pyproject.toml").read_text("utf-8"))["project"]
    except FileNotFoundError:
        return []
    extras = project["optional-dependencies"]
    return [(extra, one) for extra, requirements in extras.items() for one in requirements]


def _checkout() -> Path:
    # Every program loads this module, and few miss a library: pathlib is slow to load.
    from pathlib import Path

    return Path(__file__).parents[2]
