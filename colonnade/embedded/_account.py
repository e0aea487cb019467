"""The account that PostgreSQL runs as, and its end when its owner is gone.

PostgreSQL refuses to run as root. A normal user starts it directly. For root there are two ways,
and neither creates a user or changes the mode of other programs' folders:

* a user namespace in which root appears as ``nobody``: every file that root can read stays
  readable, and the server's files belong to root;
* if namespaces are forbidden (a container's seccomp profile), the ``nobody`` account itself: it
  becomes the owner of the directories, and programs in directories it cannot enter are copied.
"""

from __future__ import annotations

import functools
import os
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from colonnade.embedded._errors import EmbeddedServerError

if sys.platform != "win32":
    import pwd

_PROBE_SECONDS_MAX = 10.0


@dataclass(frozen=True)
class Account:
    """The identity of the server's processes.

    ``name`` also separates the templates of different identities. ``prefix`` is put before every
    command. ``uid`` and ``gid`` are set only when processes really change their user.
    """

    name: str
    prefix: tuple[str, ...] = ()
    uid: int | None = None
    gid: int | None = None

    def run(self, command: list[str], directory: Path, text: str = "") -> tuple[int, str]:
        """Run a program to its end; return its exit code and everything it printed."""
        done = subprocess.run(
            [*self.prefix, *command],
            input=text.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=directory,
            env=environment(),
            user=self.uid,
            group=self.gid,
            extra_groups=self._extra_groups(),
            start_new_session=True,
            check=False,
        )
        return done.returncode, done.stdout.decode(errors="replace")

    def spawn(
        self, command: list[str], directory: Path, log: int, *, die_with_thread: bool
    ) -> subprocess.Popen[bytes]:
        """Start a server that prints to the descriptor `log`.

        It gets its own session, so a terminal's Ctrl-C does not reach it. With `die_with_thread`
        the kernel interrupts it when the calling *thread* ends.
        """
        guard = _DEATH_SIGNAL if die_with_thread else ()
        return subprocess.Popen(
            [*self.prefix, *guard, *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=directory,
            env=environment(),
            user=self.uid,
            group=self.gid,
            extra_groups=self._extra_groups(),
            start_new_session=True,
        )

    def take(self, path: Path) -> None:
        """Make this account the owner of a file or a whole directory."""
        if self.uid is None or self.gid is None:
            return
        # From the leaves to the root, which keeps the account out meanwhile.
        for parent, directories, files in os.walk(path, topdown=False):
            for name in (*directories, *files):
                os.chown(Path(parent, name), self.uid, self.gid, follow_symlinks=False)
        os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def take_back(self, path: Path) -> None:
        """Make this process's user the owner of a whole directory that the account has filled.

        Raises EmbeddedServerError for a link: root would follow it to files of others.
        """
        if self.uid is None:
            return
        uid, gid = os.geteuid(), os.getegid()
        # From the root to the leaves: nobody else changes a directory that was listed.
        os.chown(path, uid, gid, follow_symlinks=False)
        for parent, directories, files in os.walk(path):
            for name in (*directories, *files):
                entry = Path(parent, name)
                os.chown(entry, uid, gid, follow_symlinks=False)
                found = entry.lstat()
                is_plain = stat.S_ISREG(found.st_mode) and found.st_nlink == 1
                if not (is_plain or stat.S_ISDIR(found.st_mode)):
                    raise EmbeddedServerError(f"{entry} is neither a file of its own nor a folder")

    def can_enter(self, path: Path) -> bool:
        """Whether processes of this account can reach `path`."""
        if self.uid is None:
            return True
        resolved = path.resolve()
        return all(entry.stat().st_mode & stat.S_IXOTH for entry in (resolved, *resolved.parents))

    def _extra_groups(self) -> list[int] | None:
        return None if self.uid is None else []


# The options of setpriv that make the kernel send SIGINT (a fast shutdown) to the server.
_DEATH_SIGNAL = ("setpriv", "--pdeathsig", "INT", "--")


def environment() -> dict[str, str]:
    """Return the environment without variables that change PostgreSQL's behaviour or language."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {**kept, "LC_ALL": "C"}


@functools.cache
def current_account() -> Account:
    """Return the account that servers of this process run as; probed once."""
    if sys.platform == "win32":
        raise EmbeddedServerError(
            "The embedded server runs on Linux and macOS only. Set COLONNADE_DSN to a server."
        )
    if os.geteuid() != 0:
        return Account("user")
    nobody = _nobody()
    namespace = (
        "unshare",
        "--user",
        f"--map-user={nobody.pw_uid}",
        f"--map-group={nobody.pw_gid}",
        "--",
    )
    if _succeeds(*namespace, "true"):
        return Account("namespace", prefix=namespace)
    return Account("nobody", uid=nobody.pw_uid, gid=nobody.pw_gid)


@functools.cache
def has_death_signal() -> bool:
    """Whether the kernel can end the server together with the thread that started it."""
    return shutil.which("setpriv") is not None and _succeeds(*_DEATH_SIGNAL, "true")


if sys.platform != "win32":

    def _nobody() -> pwd.struct_passwd:
        # initdb looks up its own user, so the system must know the identity.
        try:
            return pwd.getpwnam("nobody")
        except KeyError:
            raise EmbeddedServerError(
                "PostgreSQL does not run as root, and this system has no user `nobody` to run it "
                "as instead. Start the program as a normal user, or set COLONNADE_DSN to a server."
            ) from None


def _succeeds(*command: str) -> bool:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_SECONDS_MAX,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
