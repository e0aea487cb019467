"""The server's version in all its forms, and settings that can be read in two ways."""

from __future__ import annotations

import pytest
from asyncpg.serverversion import split_server_version_string

from colonnade._driver.server_facts import ServerSettings, parse_server_version


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("18.6", (18, 0, 6, "final", 0)),
        ("9.6.24", (9, 6, 24, "final", 0)),
        ("16beta1", (16, 0, 0, "beta", 1)),
        ("16rc2", (16, 0, 0, "rc", 2)),
        ("19devel", (19, 0, 0, "devel", 0)),
        ("18beta", (18, 0, 0, "beta", 0)),
        ("9.2alpha0", (9, 2, 0, "alpha", 0)),
        ("8.0.2", (8, 0, 2, "final", 0)),
        ("17", (17, 0, 0, "final", 0)),
        ("17.2 (Debian 17.2-1.pgdg120+1)", (17, 0, 2, "final", 0)),
        ("PostgreSQL 10.1 (Debian)", (10, 0, 1, "final", 0)),
        ("16.4 - Percona Distribution", (16, 0, 4, "final", 0)),
        ("15.4-YB-2.25.1.0-b0", (15, 0, 4, "final", 0)),
        ("13.0.2 CockroachDB", (13, 0, 0, "final", 0)),
        ("9.6.24.7", (9, 6, 24, "final", 0)),
        ("EnterpriseDB 9.6", (9, 6, 0, "final", 0)),
        ("v16", (16, 0, 0, "final", 0)),
    ],
)
def test_versions(text: str, expected: tuple[object, ...]) -> None:
    assert parse_server_version(text) == expected
    assert split_server_version_string(text) == expected


@pytest.mark.parametrize("text", ["", "x", "devel", "9" * 10, "1." + "9" * 5000])
def test_what_is_no_version(text: str) -> None:
    with pytest.raises(ValueError, match="no version of PostgreSQL in"):
        parse_server_version(text)


def test_settings_are_attributes_and_items_and_follow_the_server() -> None:
    reported = {"server_version": "18.6", "TimeZone": "UTC"}
    settings = ServerSettings(lambda: reported)
    assert settings.server_version == settings["server_version"] == "18.6"
    assert settings == {"server_version": "18.6", "TimeZone": "UTC"}
    assert list(settings) == ["server_version", "TimeZone"]
    assert len(settings) == 2
    assert "TimeZone" in dir(settings)
    assert repr(settings) == "<ServerSettings {'server_version': '18.6', 'TimeZone': 'UTC'}>"
    reported["TimeZone"] = "CET"
    assert settings.TimeZone == "CET"
    with pytest.raises(AttributeError, match="not reported a setting 'no_such'"):
        settings.no_such  # noqa: B018
    with pytest.raises(KeyError):
        settings["no_such"]
