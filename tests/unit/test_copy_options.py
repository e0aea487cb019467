"""The text of a COPY statement."""

from __future__ import annotations

import pytest

from colonnade._driver.sql.copy_options import check_where, copy_statement, table_target
from colonnade.errors import UnsupportedServerFeatureError


def test_names_and_texts_are_quoted() -> None:
    assert table_target('a "b"', ['c"', "d"], "e.f") == '"e.f"."a ""b""" ("c""", "d")'
    assert table_target("a", [], None) == '"a"'
    options = {"format": "csv", "null": "\\N", "quote": "'", "header": "match", "oids": None}
    assert copy_statement('"a"', "TO STDOUT", options) == (
        """COPY "a" TO STDOUT (FORMAT "csv", NULL E'\\\\N', QUOTE '''', HEADER 'match')"""
    )


def test_lists_of_columns() -> None:
    options = {"force_quote": True, "force_null": ["a", "b"], "force_not_null": "c", "freeze": 1}
    assert copy_statement("t", "FROM STDIN", {**options, "where": "a > 1"}) == (
        'COPY t FROM STDIN (FORCE_QUOTE *, FORCE_NULL ("a", "b"), FORCE_NOT_NULL ("c"), '
        "FREEZE True) WHERE a > 1"
    )


@pytest.mark.parametrize("version", ["11.22", "9.6.24", "11.22 (Debian 11.22-0+deb10u2)"])
def test_a_condition_needs_a_server_that_knows_it(version: str) -> None:
    check_where(None, {"server_version": version})
    with pytest.raises(UnsupportedServerFeatureError, match="needs PostgreSQL 12 or newer"):
        check_where("a > 1", {"server_version": version})


def test_newer_servers_know_conditions() -> None:
    for version in ("12.0", "18.6", "19devel", ""):
        check_where("a > 1", {"server_version": version})
