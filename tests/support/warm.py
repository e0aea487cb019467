"""Python programs that start in milliseconds: forks of a process that has imported their modules.

A test that is about what a program does, and not about how an interpreter starts, runs it so:
`warm.run([sys.executable, "-m", "colonnade.cli", ...], imports=("colonnade.cli.app",), ...)`. The
child is a process of the test's own, with arguments, environment, folder, files, session and
signals as they are given. Whatever a fork cannot give, such as another option of the interpreter,
starts an interpreter instead, and so does every program under coverage or outside Linux.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import json
import os
import socket
import subprocess
import sys
import termios
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, AnyStr, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).resolve().parents[2]
# The variables that an interpreter and the C library read when they start.
_READ_AT_START = ("PYTHON", "LC_", "LANG", "TZ", "LD_", "MALLOC", "COVERAGE")
_OPTIONS = {"stdin", "stdout", "stderr", "text", "cwd", "env", "start_new_session"}
_PR_SET_CHILD_SUBREAPER = 36
_BYTES_MAX = 1 << 17


class Popen(subprocess.Popen[AnyStr]):
    """Like `subprocess.Popen`; `terminal` is the descriptor of the child's controlling terminal."""

    def __init__(
        self,
        words: Sequence[str | os.PathLike[str]],
        *,
        imports: tuple[str, ...],
        terminal: int | None = None,
        **options: Any,
    ) -> None:
        self._parent = None
        if _can_fork(words, options):
            self._parent = _Parent.of(imports)
            self._program = {
                "words": [os.fsdecode(word) for word in words[1:]],
                "folder": os.fsdecode(options.get("cwd") or Path.cwd()),
                "environment": _variables(options.get("env")),
                "starts_session": options.get("start_new_session", False),
                "terminal": terminal,
            }
        elif terminal is not None:
            options["preexec_fn"] = lambda: fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        super().__init__(words, **options)

    def _execute_child(self, words: Sequence[str], *rest: Any) -> None:
        """Fork where the class executes; all else of it works as it is."""
        if self._parent is None:
            super()._execute_child(words, *rest)  # type: ignore[misc]
            return
        ends = rest[9:15]
        files = [own if end == -1 else end for own, end in enumerate((ends[0], ends[3], ends[5]))]
        self.pid = self._parent.fork(self._program, files)
        self._child_created = True
        self._close_pipe_fds(*ends)  # type: ignore[attr-defined]


def run(
    words: Sequence[str | os.PathLike[str]],
    *,
    input: str | bytes | None = None,  # noqa: A002 - as `subprocess.run` calls it
    capture_output: bool = False,
    timeout: float | None = None,
    check: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """Like `subprocess.run`."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Popen[Any](words, **options) as process:
        try:
            out, error = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(words, process.returncode, out, error)
    if check:
        done.check_returncode()
    return done


def _can_fork(words: Sequence[object], options: Mapping[str, Any]) -> bool:
    """Whether a fork is as good as an interpreter."""
    return (
        sys.platform == "linux"
        and "coverage" not in sys.modules
        and words[0] == sys.executable
        and words[1] in ("-c", "-m")
        and _OPTIONS.issuperset(options)
        and _read_at_start(_variables(options.get("env"))) == _read_at_start(_variables(None))
    )


def _variables(given: Mapping[Any, Any] | None) -> dict[str, str]:
    chosen = os.environ if given is None else given
    return {os.fsdecode(name): os.fsdecode(value) for name, value in chosen.items()}


def _read_at_start(variables: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name.startswith(_READ_AT_START)}


class _Parent:
    """The process that forks, with its imports done. It ends with the process that started it."""

    _all: ClassVar[dict[tuple[str, ...], _Parent]] = {}
    _lock = threading.Lock()

    @classmethod
    def of(cls, imports: tuple[str, ...]) -> _Parent:
        """The only one with these imports."""
        with cls._lock:
            if imports not in cls._all:
                cls._all[imports] = cls(imports)
            return cls._all[imports]

    def __init__(self, imports: tuple[str, ...]) -> None:
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * _BYTES_MAX)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.warm_parent", str(theirs.fileno()), *imports],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                # The threads of a library would not be in a fork.
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )
        atexit.register(self._end)

    def fork(self, program: dict[str, Any], files: list[int]) -> int:
        """Fork a child of this process, and return its identifier."""
        with self._lock, _adopting():
            socket.send_fds(self._link, [json.dumps(program).encode()], files)
            pid = self._link.recv(_BYTES_MAX)
            # Now the process between the two has ended, so the child is one of this process.
            if not self._link.recv(_BYTES_MAX):
                raise AssertionError("no program can be forked: see the standard error output")
            return int(pid)

    def _end(self) -> None:
        self._link.close()
        self._process.wait()


@contextlib.contextmanager
def _adopting() -> Iterator[None]:
    """Meanwhile, a descendant whose parent ends becomes a child of this process."""
    system = ctypes.CDLL(None)
    system.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        system.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
