"""The fixtures of the generated tests, for tests that start threads."""

from __future__ import annotations

from tests.sync.conftest import connection, nothing_left, proxy, tls_server, watch

__all__ = ["connection", "nothing_left", "proxy", "tls_server", "watch"]
