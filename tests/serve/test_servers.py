"""Tables in every framework under every web server, as processes of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from colonnade import sync
from tests.serve import checks
from tests.serve.conversation import FRAMEWORKS, Conversation
from tests.serve.web_servers import COMMANDS, COMMANDS_HTTP2, WebServer, web_server

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.thorough

ALL = [(name, False) for name in COMMANDS] + [(name, True) for name in COMMANDS_HTTP2]


@pytest.fixture(
    scope="module", params=ALL, ids=[f"{name}-http{1 + is_http2}" for name, is_http2 in ALL]
)
def running(
    request: pytest.FixtureRequest, dsn: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WebServer]:
    name, is_http2 = request.param
    folder = tmp_path_factory.mktemp(name)
    with web_server(name, is_http2=is_http2, dsn=dsn, folder=folder) as server:
        yield server


@pytest.fixture(scope="module", params=FRAMEWORKS)
def talk(request: pytest.FixtureRequest, running: WebServer, dsn: str) -> Iterator[Conversation]:
    with sync.connect(dsn) as database:
        yield Conversation(running, request.param, database)


def test_a_whole_table_arrives(talk: Conversation) -> None:
    checks.check_whole_table(talk)


def test_answers_without_rows(talk: Conversation) -> None:
    checks.check_answers_without_rows(talk)


def test_errors_before_the_first_batch_are_statuses(talk: Conversation) -> None:
    checks.check_statuses(talk)


@pytest.mark.parametrize("case", ["midway", "killed", "late"])
def test_an_error_amid_a_table_breaks_it_off(talk: Conversation, case: str) -> None:
    checks.check_error_amid_a_table(talk, case)


def test_a_query_without_a_client_is_cancelled(talk: Conversation) -> None:
    checks.check_clients_that_go_away(talk)


@pytest.mark.parametrize("framework", ["plain", "quart"])
def test_a_stalled_reader_is_cut_off(running: WebServer, dsn: str, framework: str) -> None:
    """By our own loop over the pieces, and by Quart's."""
    with sync.connect(dsn) as database:
        checks.check_stalled_reader(Conversation(running, framework, database))
