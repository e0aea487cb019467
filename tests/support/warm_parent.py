"""The process that `warm` forks: `python -m tests.support.warm_parent SOCKET MODULE...`.

A forked child leaves `_become_children` and goes on as the program, at the place where an
interpreter would. So its end is the interpreter's: errors, exit status, threads, what it flushes.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import io
import json
import os
import runpy
import signal
import socket
import sys
import termios
import types
from pathlib import Path
from typing import Any, BinaryIO, cast

_BYTES_MAX = 1 << 17
_STREAMS = (("stdin", "rb"), ("stdout", "wb"), ("stderr", "wb"))
_DESCRIPTORS_MAX = 1024


def _become_children(link: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Fork a child for each request; returns only in those, with their requests."""
    while True:
        request, files, *_ = socket.recv_fds(link, _BYTES_MAX, len(_STREAMS))
        if not request:
            sys.exit()
        between = os.fork()
        if between == 0:
            # The child of a process that ends goes to the one that asked: see `_adopting`.
            pid = os.fork()
            if pid == 0:
                return json.loads(request), files
            link.send(str(pid).encode())
            os._exit(0)
        os.waitpid(between, 0)
        for file in files:
            os.close(file)
        link.send(b"adopted")


def _be_its_own(
    files: list[int],
    folder: str,
    environment: dict[str, str],
    starts_session: bool,
    terminal: int | None,
) -> None:
    """Take on what a process has of its own, and leave what the parent had."""
    if starts_session:
        os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(len(files), _DESCRIPTORS_MAX)
    if terminal is not None:
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _open_streams() -> None:
    """Open the standard streams anew: whether they are terminals decides about their buffers."""
    for number, (name, mode) in enumerate(_STREAMS):
        old = getattr(sys, name)
        # PYTHONUNBUFFERED is about both outputs.
        is_unbuffered = old.write_through
        buffering = 0 if is_unbuffered else -1
        file = open(number, mode, buffering, closefd=False)  # noqa: SIM115 - never closed
        new = io.TextIOWrapper(
            cast("BinaryIO", file),
            encoding=old.encoding,
            errors=old.errors,
            newline="\n",
            line_buffering=not is_unbuffered and (name == "stderr" or file.isatty()),
            write_through=is_unbuffered,
        )
        new.mode = mode[0]  # type: ignore[misc]
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def _run(words: list[str]) -> None:
    """Run a program with the words that an interpreter is given, as its main module."""
    option, what, *arguments = words
    sys.path[0] = "" if option == "-c" else str(Path.cwd())
    sys.argv[:] = [option, *arguments]
    sys.orig_argv[:] = [sys.executable, *words]
    main = types.ModuleType("__main__")
    given = {"__annotations__", "__builtins__"} & globals().keys()
    main.__dict__.update({name: globals()[name] for name in given})
    sys.modules["__main__"] = main
    if option == "-m":
        runpy._run_module_as_main(what)  # type: ignore[attr-defined]  # as an interpreter
    else:
        code = compile(what, "<string>", "exec", dont_inherit=True)
        exec(code, main.__dict__)  # noqa: S102 - it is what -c asks for


if __name__ == "__main__":
    # It is the children that the terminal's Ctrl-C is for.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for module in sys.argv[2:]:
        importlib.import_module(module)
    threads = list(Path("/proc/self/task").iterdir())
    assert len(threads) == 1, f"the imports {sys.argv[2:]} have started threads: {threads}"
    # A collection, and the last one is at the end, would copy the pages of what it looks at.
    gc.collect()
    gc.freeze()
    program, descriptors = _become_children(socket.socket(fileno=int(sys.argv[1])))
    program_words = program.pop("words")
    _be_its_own(descriptors, **program)
    _open_streams()
    _run(program_words)
