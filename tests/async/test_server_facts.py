"""The server's version and settings, as reported by a connection."""

from __future__ import annotations

import colonnade


async def test_the_version_is_that_of_the_server(connection: colonnade.Connection) -> None:
    version = connection.get_server_version()
    assert isinstance(version, colonnade.ServerVersion)
    number = int(await connection.fetchval("SELECT current_setting('server_version_num')"))
    assert (version.major, version.minor, version.micro) == (number // 10000, 0, number % 10000)
    assert (version.releaselevel, version.serial) == ("final", 0)


async def test_settings_follow_the_server(connection: colonnade.Connection) -> None:
    settings = connection.get_settings()
    assert settings.server_version == settings["server_version"]
    assert settings.client_encoding == "UTF8"
    await connection.execute("SET TimeZone = 'Asia/Tokyo'")
    assert settings.TimeZone == connection.get_settings()["TimeZone"] == "Asia/Tokyo"
