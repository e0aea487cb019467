# Generated from tests/async/test_server_facts.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""The server's version and settings, as reported by a connection."""

from __future__ import annotations

import colonnade


def test_the_version_is_that_of_the_server(connection: colonnade.sync.Connection) -> None:
    version = connection.get_server_version()
    assert isinstance(version, colonnade.ServerVersion)
    number = int(connection.fetchval("SELECT current_setting('server_version_num')"))
    assert (version.major, version.minor, version.micro) == (number // 10000, 0, number % 10000)
    assert (version.releaselevel, version.serial) == ("final", 0)


def test_settings_follow_the_server(connection: colonnade.sync.Connection) -> None:
    settings = connection.get_settings()
    assert settings.server_version == settings["server_version"]
    assert settings.client_encoding == "UTF8"
    connection.execute("SET TimeZone = 'Asia/Tokyo'")
    assert settings.TimeZone == connection.get_settings()["TimeZone"] == "Asia/Tokyo"
