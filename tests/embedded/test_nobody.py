"""Root without user namespaces: the server runs as `nobody`, whose files root does not trust."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from colonnade import embedded, sync
from colonnade.embedded import _directory, _server
from colonnade.embedded._account import Account
from colonnade.embedded._errors import EmbeddedServerError
from tests.support.processes import is_alive

pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only root has another account for it"
)


def _nobody() -> Account:
    found = pwd.getpwnam("nobody")
    return Account("nobody", uid=found.pw_uid, gid=found.pw_gid)


def _started() -> embedded.Server:
    with mock.patch.object(_server, "current_account", _nobody):
        return embedded.start()


def _as_nobody(*command: str) -> int:
    account = _nobody()
    done = subprocess.run(command, user=account.uid, group=account.gid, check=False)
    return done.returncode


def test_nobody_cannot_replace_what_root_opens() -> None:
    with _started() as server:
        with sync.connect(server.dsn) as connection:
            assert connection.fetchval("SELECT 1") == 1
        folder = server.socket_dir.parent
        target = folder.parent / "made-by-root"
        for name in ("owner", "server.log"):
            assert (folder / name).stat().st_uid == 0
            assert _as_nobody("ln", "-sf", str(target), str(folder / name)) != 0
        assert _as_nobody("mv", str(server.socket_dir), str(folder / "away")) != 0
        # Another start sweeps, and neither follows anything nor takes the server for an orphan.
        _directory.sweep(folder.parent)
        assert not target.exists()
        assert is_alive(server.pid)
        assert server.is_running


def test_a_folder_that_nobody_owns_is_left_alone() -> None:
    account = _nobody()
    base = _directory.base_directory(account)
    folder = base / "s-trap0000"
    folder.mkdir()
    target = base / "made-by-root"
    try:
        (folder / "owner").symlink_to(target)
        os.chown(folder, account.uid or 0, account.gid or 0)
        _directory.sweep(base)
        assert not target.exists()
        assert folder.exists()
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("kind", ["symbolic", "hard"])
def test_links_in_what_nobody_has_filled_are_refused(tmp_path: Path, kind: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of root")
    filled = tmp_path / "filled"
    (filled / "deep").mkdir(parents=True)
    link = filled / "deep" / "postgresql.conf"
    if kind == "hard":
        link.hardlink_to(secret)
    else:
        link.symlink_to(secret)
    with pytest.raises(EmbeddedServerError, match="neither a file of its own nor a folder"):
        _nobody().take_back(filled)


def test_an_orphan_of_nobody_is_removed() -> None:
    program = (
        "import os, sys\n"
        "from unittest import mock\n"
        "from tests.embedded.test_nobody import _started\n"
        "server = _started()\n"
        "print(server.socket_dir.parent, flush=True)\n"
        "sys.stdin.read()\n"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    folder = Path(owner.stdout.readline().strip())
    assert folder.is_dir()
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    _directory.sweep(folder.parent)
    assert not folder.exists()


def test_the_account_gets_a_whole_folder(tmp_path: Path) -> None:
    account = _nobody()
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").touch()
    account.take(tmp_path / "a")
    assert {path.stat().st_uid for path in (tmp_path / "a").rglob("*")} == {account.uid}
    account.take_back(tmp_path / "a")
    assert {path.stat().st_uid for path in (tmp_path / "a").rglob("*")} == {0}
