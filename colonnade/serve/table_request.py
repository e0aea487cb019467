"""The request for a table, and the checks of its response, for coroutines and for threads."""

from __future__ import annotations

import importlib
import json
import sys
from typing import TYPE_CHECKING, Any

from colonnade import Columns
from colonnade._core.formats import ArrowStreamReader
from colonnade._words.arguments import check_choice, check_count
from colonnade._words.extras import how_to_install
from colonnade._words.shown import full_name, shown
from colonnade.errors import FaultyTableError, IncompleteTableError, InterfaceError
from colonnade.formats.streams import STREAMS

if TYPE_CHECKING:
    from collections.abc import Mapping

_MEDIA_TYPE = next(form.media_type for form in STREAMS if form.name == "arrow")
#: Both have the same classes.
_LIBRARIES = ("httpx", "httpx2")
#: The client of either colour: the block that it is for, and the call for the other's.
_CLIENTS = {
    "AsyncClient": ("__aenter__", "colonnade.serve.sync.read"),
    "Client": ("__enter__", "colonnade.serve.read"),
}
#: The encodings of HTTP that are accepted: one of these makes at most a thousand bytes of one.
_ENCODINGS = ("identity", "gzip", "deflate")
#: A longer problem document, or one of unknown length, is not read.
_PROBLEM_BYTES_MAX = 1 << 16
#: The most of a server's text that an error repeats.
_TOLD_LENGTH_MAX = 500


class Table:
    """The batches of a response so far."""

    def __init__(self, max_bytes: int | None) -> None:
        if max_bytes is not None:
            check_count("max_bytes", max_bytes)
        self._reader = ArrowStreamReader(sys.maxsize if max_bytes is None else max_bytes)
        self._parts: list[Columns] = []

    def push(self, data: bytes) -> None:
        """Take the next bytes."""
        for batch in self._reader.push(data):
            # Of batches without rows, the first one has the columns; a server may send any number.
            if batch.num_rows or not self._parts:
                self._parts.append(Columns(batch))

    def finish(self) -> Columns:
        """Return the whole table; raises IncompleteTableError if there is more."""
        self._reader.finish()
        try:
            return Columns.concat(self._parts)
        except ValueError as error:
            raise FaultyTableError(f"the batches do not make one table: {error}") from None

    def broken(self, error: Exception) -> FaultyTableError | IncompleteTableError:
        """The error for a lost connection, or for an invalid content encoding."""
        rows = self._reader.num_rows
        # Of httpx's errors, or httpx2's.
        if type(error).__name__ == "DecodingError":
            return FaultyTableError(f"the content encoding is invalid after {rows} rows: {error}")
        return IncompleteTableError(f"the connection was lost after {rows} rows: {error}")


def check_is_table(response: Any) -> None:
    """Raise FaultyTableError for a response that is no table, or in an unknown encoding."""
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != _MEDIA_TYPE:
        raise FaultyTableError(
            f"the server answered with {_printable(media_type) or 'no content type'} instead of "
            f"{_MEDIA_TYPE}"
        )
    if not _is_encoding_known(response):
        raise FaultyTableError(
            "the table has the content encoding "
            f"{shown(response.headers['content-encoding'])}; known are {', '.join(_ENCODINGS)}"
        )


def check_client(client: Any, wanted: str) -> None:
    """Raise TypeError for a client that is not like httpx's class of this name."""
    block, other = _CLIENTS[wanted]
    # A session of requests has a switch of this name.
    streams = callable(getattr(client, "stream", None))
    if streams and hasattr(client, block):
        return
    hint = f": {other} takes it" if streams else ""
    raise TypeError(f"client must be an httpx.{wanted}, not {full_name(type(client))}{hint}")


def asked_headers(headers: Mapping[str, str] | None, codec: str | None) -> dict[str, str]:
    """The headers of the request; the caller's own win."""
    accept = _MEDIA_TYPE
    if codec is not None:
        known = next(form.parameters["codecs"] for form in STREAMS if form.name == "arrow")
        check_choice("codec", codec, known)
        # A server that does not know the codec sends the table without.
        accept = f"{_MEDIA_TYPE};codecs={codec}, {_MEDIA_TYPE};q=0.5"
    return {"accept": accept, "accept-encoding": ", ".join(_ENCODINGS[1:]), **(headers or {})}


def _is_encoding_known(response: Any) -> bool:
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    return encoding in _ENCODINGS


def is_short(response: Any) -> bool:
    """Whether the whole body can be read at once, even from a hostile server."""
    length = response.headers.get("content-length", "")
    return (
        len(length) <= len(str(_PROBLEM_BYTES_MAX))
        and length.isdecimal()
        and int(length) <= _PROBLEM_BYTES_MAX
        and _is_encoding_known(response)
    )


def refusal(response: Any) -> Exception:
    """The exception for a status that is not 2xx."""
    text = f"the server answered {response.status_code} {_printable(response.reason_phrase)}"
    try:
        detail = json.loads(response.content)["detail"] if is_short(response) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        detail = None
    if isinstance(detail, str):
        text += f": {_printable(detail)}"
    error: type[Exception] = _library_of(response).HTTPStatusError
    return error(text, request=response.request, response=response)  # type: ignore[call-arg]


def _printable(text: str) -> str:
    """A server's text, cut, and without characters that would upset a terminal."""
    text = text[:_TOLD_LENGTH_MAX]
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def arrival_errors(response: Any) -> tuple[type[Exception], ...]:
    """The errors of httpx while a body arrives."""
    library = _library_of(response)
    return library.TransportError, library.DecodingError


def _library_of(response: Any) -> Any:
    """The package of the client that the caller chose."""
    return importlib.import_module(type(response).__module__.partition(".")[0])


def http_library() -> Any:
    """The installed package of httpx's classes. Raises InterfaceError if there is none."""
    for name in _LIBRARIES:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    raise InterfaceError(
        "reading tables over HTTP needs httpx",
        hint=f"install it with: {how_to_install('serve')}",
    )
