# Generated from colonnade/serve/_async/reading.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Reads a table over HTTP, and refuses it if it is not complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._words.signatures import check_options
from colonnade.serve.table_request import (
    Table,
    arrival_errors,
    asked_headers,
    check_client,
    check_is_table,
    http_library,
    is_short,
    refusal,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from colonnade import Columns


def read(
    url: str,
    *,
    client: Any = None,
    method: str = "GET",
    codec: str | None = None,
    max_bytes: int | None = None,
    headers: Mapping[str, str] | None = None,
    **options: Any,
) -> Columns:
    """Request a table, and return it when all of it has arrived.

    `client` is an ``httpx.Client``, which is not closed; without one, a client is made for
    this request. `codec`, "zstd" or "lz4", asks the server to compress the table. `max_bytes` is
    the most memory that the table may take: the bytes that arrive, decompressed and at least one
    for each value, and a fixed price for each message and its columns. With None, the server
    decides. `options` are those of ``client.stream``, such as `params`, `json` and `timeout`.

    Raises IncompleteTableError if the table was cut, or if its server failed, also where it stops
    between two batches, which other readers do not notice. Raises FaultyTableError if the bytes are
    not a table, or one that columns cannot hold, or one of more than `max_bytes`, before the excess
    arrives. Any other status than 2xx is httpx's HTTPStatusError, with the text of the server's
    problem document. Errors of the network are httpx's own, those while the table arrives
    IncompleteTableError.
    """
    if client is None:
        httpx = http_library()
        with httpx.Client() as own:
            return read(
                url,
                client=own,
                method=method,
                codec=codec,
                max_bytes=max_bytes,
                headers=headers,
                **options,
            )
    check_client(client, "Client")
    check_options(read, options, client.stream)
    asked = asked_headers(headers, codec)
    table = Table(max_bytes)
    with client.stream(method, url, headers=asked, **options) as response:
        if not response.is_success:
            if is_short(response):
                response.read()
            raise refusal(response)
        check_is_table(response)
        try:
            for data in response.iter_bytes():
                table.push(data)
        except arrival_errors(response) as error:
            raise table.broken(error) from error
    return table.finish()
