"""The driver needs no module, signal or function that Linux alone or Unix alone has.

No machine with macOS or Windows runs these tests, so one is imitated: an import of what Windows
lacks fails. What runs there is listed in docs/reference/support.md.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Everything but what is made for Unix: `observe.Beat`, `observe top`, resumable datasets.
MODULES = (
    *("colonnade", "colonnade.sync", "colonnade.dbapi", "colonnade.frames", "colonnade.sqlalchemy"),
    *(
        "colonnade.adbc",
        "colonnade.datasets",
        "colonnade.formats",
        "colonnade.groups",
        "colonnade.jobs.sync",
    ),
    *("colonnade.parallel", "colonnade.rkt", "colonnade.rows", "colonnade.serve"),
    *("colonnade.structs", "colonnade.cli", "colonnade.cli.app", "colonnade.pytest_plugin"),
    *("colonnade.cli.query.command", "colonnade.cli.export.command", "colonnade.cli.doctor"),
    *("colonnade.observe.loop.monitor", "colonnade.observe.timeline.trace"),
    *(
        "colonnade._driver.transport.threads",
        "colonnade._driver.transport.asyncio",
        "colonnade._driver._async.connect",
    ),
    *("colonnade._driver._sync.connect", "colonnade._driver.transport.low_water"),
)
PROGRAM = """
import importlib, os, signal, sys
# These use the machine's own modules, and are not ours.
import asyncio, getpass, multiprocessing, pathlib, selectors, shutil, socket, ssl, subprocess
import tempfile
for name in ("click", "rich.console", "sqlalchemy.ext.asyncio", "pytest", "pyarrow", "pandas"):
    importlib.import_module(name)
# Asks for the name of the system, which is still Linux, before each such import.
import colonnade.embedded

class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name in {"fcntl", "grp", "pwd", "resource", "syslog", "termios", "tty"}:
            raise ModuleNotFoundError(f"{name} is not to be had here")

sys.meta_path.insert(0, Lacking())
for name in ("fcntl", "grp", "pwd", "resource", "syslog", "termios", "tty"):
    sys.modules.pop(name, None)
for module, names in (
    (signal, "SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGQUIT SIGTSTP SIGUSR1 SIGWINCH"),
    (os, "fork geteuid getuid mkfifo O_CLOEXEC O_DIRECTORY O_NOCTTY O_NOFOLLOW O_NONBLOCK"),
    (os, "register_at_fork uname"),
    (socket, "AF_UNIX SO_REUSEPORT"),
):
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except Exception as error:
        print(f"{name}: {error}")
"""


def test_modules_import_without_what_unix_has() -> None:
    run = [sys.executable, "-c", PROGRAM, *MODULES]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
