"""A private server that can be stopped at any time and started again."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Literal, Self

from colonnade import embedded
from colonnade.embedded._account import current_account
from colonnade.embedded._process import launch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    Mode = Literal["fast", "immediate"]

_SIGNALS = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}
# A crash must lose no confirmed commit; after a crash of a backend, the server restarts itself.
_SETTINGS = {"synchronous_commit": "on", "restart_after_crash": "on"}
_SECONDS_MAX = 30.0


class RestartableServer:
    """A server that keeps its data and port across restarts; a context manager.

    The mode "fast" tells the clients that the server shuts down; "immediate" is like a crash,
    which tells them almost nothing and needs recovery at the next start.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._server = embedded.start(tcp=True, settings={**_SETTINGS, **(settings or {})})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    @property
    def dsn(self) -> str:
        """Its DSN over TCP."""
        return self._server.dsn

    @property
    def directory(self) -> Path:
        """The folder of its data and of `server.log`."""
        return self._server._directory.path

    def stop(self, mode: Mode) -> None:
        """End the server, and wait until it has ended."""
        os.kill(self._server.pid, _SIGNALS[mode])
        give_up = time.monotonic() + _SECONDS_MAX
        while self._server._process.is_alive:
            assert time.monotonic() < give_up, "the server does not stop"
            time.sleep(0.002)
        # Stop the guard too: it has nothing left to watch.
        self._server._process.end()

    def start(self) -> None:
        """Start it again, and wait until it takes connections."""
        server = self._server
        give_up = time.monotonic() + _SECONDS_MAX
        while True:
            account, directory = current_account(), server._directory
            try:
                server._process = launch(server.binaries, account, directory, server.port, give_up)
            except embedded.EmbeddedServerError:
                # Backends of the crashed server may still be running and use its shared memory.
                if time.monotonic() > give_up:
                    raise
            else:
                return

    def restart(self, mode: Mode) -> None:
        """End it, and start it again."""
        self.stop(mode)
        self.start()
