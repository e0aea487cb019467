"""A forked program is what an interpreter would run: the same program says the same of itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.support import warm

IMPORTS = ("json", "signal")
SEEN = """
    import json
    import os
    import signal
    import sys
    import threading

    streams = (sys.stdin, sys.stdout, sys.stderr)
    print(json.dumps({
        "arguments": [sys.argv, sys.orig_argv, sys.path, sys.executable, __name__, __file__],
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "descriptors": [fd for fd in range(64) if os.path.exists(f"/proc/self/fd/{fd}")],
        "threads": [threading.active_count(), len(os.listdir("/proc/self/task"))],
        "main": [sys.modules["__main__"].__dict__ is globals(), sorted(globals())],
        "signals": [str(signal.getsignal(number)) for number in signal.valid_signals()],
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "streams": [
            (each.mode, each.encoding, each.errors, each.line_buffering, each.isatty())
            for each in streams
        ],
        "session": [os.getsid(0) == os.getpid(), os.getppid()],
        "group": os.getpgid(0) == os.getpgid(os.getppid()),
    }))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A module that tells what it sees."""
    (tmp_path / "seen.py").write_text(textwrap.dedent(SEEN), "utf-8")
    return tmp_path


@pytest.mark.parametrize("starts_session", [False, True])
def test_it_sees_what_an_interpreter_gives(program: Path, starts_session: bool) -> None:
    words = [sys.executable, "-m", "seen", "a", "--b", "\udcff"]
    options: dict[str, Any] = {
        "cwd": program,
        "env": {**os.environ, "ONLY": "ü\udcff"},
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "start_new_session": starts_session,
    }
    with subprocess.Popen(words, **options) as fresh:
        expected = fresh.communicate()[0]
    with warm.Popen[bytes](words, imports=IMPORTS, **options) as forked:
        assert forked._parent is not None
        assert json.loads(forked.communicate()[0]) == json.loads(expected)


@pytest.mark.parametrize(
    "code",
    [
        "print(__name__, sorted(globals()))",
        "import sys; print(sys.argv, sys.path[0]); sys.exit(7)",
        "import sys; sys.exit('words')",
        "import atexit; atexit.register(print, 'at the end')",
        "import os; os.kill(os.getpid(), 9)",
        "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
        "import sys; sys.stdout.close(); import os; os.write(2, b'still')",
        "import threading as t; t.Timer(0.01, print, ['a thread']).start()",
        "print(input())",
    ],
)
def test_it_ends_as_an_interpreter_does(code: str) -> None:
    words = [sys.executable, "-c", code, "a"]
    fresh = subprocess.run(words, input="given\n", capture_output=True, text=True, check=False)
    forked = warm.run(words, imports=IMPORTS, input="given\n", capture_output=True, text=True)
    assert (forked.returncode, forked.stdout) == (fresh.returncode, fresh.stdout)
    assert forked.stderr.splitlines()[-1:] == fresh.stderr.splitlines()[-1:]


def test_it_is_a_child_that_can_be_signalled() -> None:
    code = "import os, time; print(os.getpid(), os.getppid(), flush=True); time.sleep(600)"
    words = [sys.executable, "-c", code]
    with warm.Popen[str](words, imports=IMPORTS, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().split() == [str(process.pid), str(os.getpid())]
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait() == -signal.SIGTERM


def test_what_a_fork_cannot_give_starts_an_interpreter(tmp_path: Path) -> None:
    code = "import sys; print(sys.path[1:2], sys.flags.isolated)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    for words, env, said in (
        ([sys.executable, "-c", code], environment, f"[{str(tmp_path)!r}] 0\n"),
        ([sys.executable, "-I", "-c", code], None, "1\n"),
    ):
        done = warm.run(words, imports=IMPORTS, env=env, capture_output=True, text=True)
        assert done.stdout.endswith(said)


def test_imports_that_start_threads_are_refused() -> None:
    with pytest.raises((AssertionError, ConnectionError)):
        warm.run([sys.executable, "-c", ""], imports=("pyarrow.fs",))
