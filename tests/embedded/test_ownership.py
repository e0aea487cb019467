"""A server never outlives its owner, and no other process ends it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from colonnade import embedded
from tests.embedded.owner import ROOT, eventually, owner, spawn
from tests.support.processes import is_alive

ON_MAIN_THREAD = "tell(embedded.start()); sys.stdin.read()"
ON_OTHER_THREAD = """
def work():
    tell(embedded.start())

thread = threading.Thread(target=work)
thread.start()
thread.join()
sys.stdin.read()
"""
WITHOUT_SETPRIV = """
from colonnade.embedded import _process
_process.has_death_signal = lambda: False
tell(embedded.start())
sys.stdin.read()
"""
# Simulates root on a system that forbids user namespaces.
AS_NOBODY = """
from colonnade.embedded import _account
succeeds = _account._succeeds
_account._succeeds = lambda *command: command[0] != "unshare" and succeeds(*command)
tell(embedded.start())
sys.stdin.read()
"""
OUT_OF_REACH = (
    """
from colonnade.embedded import _account
enter = _account.Account.can_enter
_account.Account.can_enter = lambda self, path: path.name != "postgres" and enter(self, path)
"""
    + AS_NOBODY
)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may change its user")


AS_OTHER_USER = ("setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "--")


def _python_of_other_user() -> str:
    """Return an interpreter that can run the package as `nobody`, a user without a home."""
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv")
    for python in (sys.executable, "/usr/bin/python3"):
        command = [*AS_OTHER_USER, python, "-c", "from colonnade import embedded"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        if done.returncode == 0:
            return python
    pytest.skip("another user can run neither this interpreter nor the system's")


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(ON_MAIN_THREAD, id="main-thread"),
        pytest.param(ON_OTHER_THREAD, id="other-thread"),
        pytest.param(WITHOUT_SETPRIV, id="without-setpriv"),
        pytest.param(AS_NOBODY, id="as-nobody", marks=needs_root),
    ],
)
def test_killed_owner_leaves_no_server(code: str) -> None:
    with owner(code) as owned:
        assert owned.is_served()
        owned.process.send_signal(signal.SIGKILL)
        owned.process.wait()
        assert eventually(lambda: not owned.is_served())
        # The next start of any server removes the files.
        embedded.start().stop()
        assert not owned.directory.exists()


def test_next_start_ends_an_orphan() -> None:
    # The owner is killed before its guard runs: only the directory shows that it existed.
    code = """
    from colonnade.embedded import _account, _process
    _process.has_death_signal = lambda: True
    _account._DEATH_SIGNAL = ()
    tell(embedded.start())
    sys.stdin.read()
    """
    with owner(code) as owned:
        owned.process.kill()
        owned.process.wait()
        assert owned.is_served()
        with embedded.start() as other:
            assert eventually(lambda: not owned.is_served())
            assert not owned.directory.exists()
            assert is_alive(other.pid)


def test_terminated_owner_leaves_no_server() -> None:
    with owner(ON_MAIN_THREAD) as owned:
        owned.process.terminate()
        assert owned.process.wait() == -signal.SIGTERM
        assert eventually(lambda: not owned.is_served())


@pytest.mark.parametrize(
    ("ending", "code"),
    [("", 0), ("sys.exit(3)", 3), ("raise KeyboardInterrupt", -signal.SIGINT)],
    ids=["end", "exit", "interrupt"],
)
def test_exit_cleans_up_and_keeps_the_exit_code(ending: str, code: int) -> None:
    with owner(f"tell(embedded.default_server())\n{ending or 'pass'}") as owned:
        assert owned.process.wait() == code
        assert not owned.is_served()
        assert not owned.directory.exists()


def test_forked_child_does_not_stop_the_parents_server() -> None:
    code = """
    server = embedded.start()
    child = os.fork()
    if child == 0:
        assert not server.is_running
        server.stop()
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert server.is_running
    tell(server)
    sys.stdin.read()
    """
    with owner(code) as owned:
        assert owned.is_served()
        with psycopg.connect(owned.dsn) as connection:
            connection.execute("SELECT 1")
        # The child's copies of locks and pipes must not keep the server alive.
        owned.process.kill()
        owned.process.wait()
        assert eventually(lambda: not owned.is_served())


@needs_root
def test_root_without_namespaces_runs_as_nobody() -> None:
    with owner(AS_NOBODY) as owned:
        assert Path(f"/proc/{owned.pid}").stat().st_uid != 0
        with psycopg.connect(owned.dsn) as connection:
            connection.execute("SELECT 1")


@needs_root
def test_binaries_out_of_reach_are_copied() -> None:
    with owner(OUT_OF_REACH) as owned:
        assert "cache" in owned.bin.parts
        with psycopg.connect(owned.dsn) as connection:
            connection.execute("SELECT 1")


@needs_root
def test_other_user_has_servers_of_its_own() -> None:
    python = _python_of_other_user()
    with owner(ON_MAIN_THREAD, command=(*AS_OTHER_USER, python)) as owned:
        assert Path(f"/proc/{owned.pid}").stat().st_uid != 0
        assert owned.directory.stat().st_mode & 0o077 == 0
        with psycopg.connect(owned.dsn) as connection:
            assert connection.execute("SELECT current_user").fetchone() == ("postgres",)


def test_processes_start_at_once_with_no_template_yet(tmp_path: Path) -> None:
    fresh = {"XDG_CACHE_HOME": str(tmp_path)}
    code = "with embedded.start(tcp=True) as server: print(server.pid)"
    processes = [spawn(code, environment=fresh) for _ in range(3)]
    pids = set()
    for process in processes:
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        pids.add(out)
    assert len(pids) == 3
    made = list((tmp_path / "colonnade" / "embedded").glob("template-*[!k]"))
    assert len(made) == 1
