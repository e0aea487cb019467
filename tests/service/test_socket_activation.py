"""The service on a socket that systemd holds, by systemd's own tool for trials."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from examples.service.commands import ROOT, free_port, stop, wait_until_ready

if TYPE_CHECKING:
    from pathlib import Path

ACTIVATE = "systemd-socket-activate"
COMMANDS = {
    "gunicorn": "gunicorn --worker-class asgi --workers 2 --no-control-socket",
    "gunicorn with its file": "gunicorn --config examples/service/gunicorn.conf.py",
    "uvicorn": "uvicorn --fd 3",
    "uvicorn with workers": "uvicorn --fd 3 --workers 2",
}


@pytest.mark.parametrize("server", COMMANDS)
def test_a_server_takes_the_socket_it_is_given(
    server: str, service_dsn: str, quick_suppliers: list[str], tmp_path: Path
) -> None:
    activate = shutil.which(ACTIVATE)
    if activate is None:
        pytest.skip(f"{ACTIVATE} is not installed")
    port = free_port()
    variables = {
        "SERVICE_DSN": service_dsn,
        "SERVICE_SUPPLIERS": ",".join(quick_suppliers),
        "SERVICE_BEAT_FOLDER": str(tmp_path),
        "PYTHONPATH": str(ROOT),
    }
    words = [activate, f"--listen=127.0.0.1:{port}"]
    # It passes only what it is told of its environment.
    words += [f"--setenv={name}={value}" for name, value in {**os.environ, **variables}.items()]
    words += [sys.executable, "-m", *COMMANDS[server].split()]
    process = subprocess.Popen(
        [*words, "examples.service.starlette_app:app"], cwd=ROOT, start_new_session=True
    )
    with process, contextlib.ExitStack() as stack:
        stack.callback(stop, process)
        # The first connection starts the server, and is the first that it accepts.
        wait_until_ready(port, process)
        stop(process)
        # uvicorn without workers sends itself the signal again when it has drained.
        assert process.returncode in {0, -signal.SIGTERM}


def test_the_units_of_the_page_are_valid(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    text = (ROOT / "docs/service/deployment.md").read_text("utf-8")
    units = re.findall(r"```ini\n# /etc/systemd/system/(\S+)\n(.*?)```", text, re.DOTALL)
    assert [name for name, _ in units] == ["service.socket", "service.service"]
    for name, unit in units:
        # The server must exist where the unit says.
        (tmp_path / name).write_text(unit.replace("/srv/service/.venv/bin/gunicorn", "/bin/true"))
    words = [analyze, "verify", "--man=no", *(str(tmp_path / name) for name, _ in units)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    # It warns of lines that it ignores, and goes on.
    assert str(tmp_path) not in done.stderr
