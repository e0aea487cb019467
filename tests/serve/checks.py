"""Checks of every framework under every web server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from colonnade._core.formats import arrow_poison
from colonnade.errors import IncompleteTableError
from tests.serve.cases import ROWS

if TYPE_CHECKING:
    from tests.serve.conversation import Conversation

#: How long a query may run on without a client, in seconds. It takes less than one where nothing
#: else runs; a query that is not cancelled takes a minute.
SOON = 10.0
STATUSES = {"argument": 400, "exhausted": 503, "slow": 504, "mistake": 500}


def check_whole_table(talk: Conversation) -> None:
    columns = talk.read("whole")
    assert len(columns) == ROWS
    assert columns["i"][-1] == ROWS


def check_answers_without_rows(talk: Conversation) -> None:
    head = talk.request("whole", "HEAD")
    assert (head.response.status_code, head.body) == (200, b"")
    known = talk.request("whole", **{"if-none-match": head.response.headers["etag"]})
    assert (known.response.status_code, known.body) == (304, b"")
    refused = talk.request("whole", accept="text/html")
    assert refused.response.status_code == 406
    assert "?format=arrow" in json.loads(refused.body)["detail"]
    small = talk.request("small")
    assert small.response.headers["content-length"] == str(len(small.body))


def check_statuses(talk: Conversation) -> None:
    for case, status in STATUSES.items():
        received = talk.request(case)
        assert (case, received.response.status_code) == (case, status)
        # A mistake of the application is the framework's to tell, and nobody else's to know.
        assert b"missing" not in received.body
        if status != 500:
            assert json.loads(received.body)["status"] == status
            assert ("retry-after" in received.response.headers) == (status == 503)


def check_error_amid_a_table(talk: Conversation, case: str) -> None:
    received = talk.request(case)
    assert received.response.status_code == 200
    assert received.is_broken
    # A reset of HTTP/2 can overtake the last bytes.
    is_overtaken = received.response.http_version == "HTTP/2"
    assert is_overtaken or received.body.endswith(arrow_poison())
    with pytest.raises(IncompleteTableError):
        talk.read(case)


def check_clients_that_go_away(talk: Conversation) -> None:
    assert talk.leave_amid("endless") < SOON
    assert talk.leave_before("sleeping") < SOON


def check_stalled_reader(talk: Conversation, case: str = "stalled") -> None:
    """Its query ends while it takes nothing; what it reads later is no whole table."""
    received = talk.stall_amid(case)
    assert received.response.status_code == 200
    assert received.is_broken
