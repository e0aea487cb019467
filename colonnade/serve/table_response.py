"""`TableResponse`: a table as the answer to an HTTP request, as an ASGI application."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

from colonnade._words.arguments import (
    check_count,
    check_mapping,
    check_name,
    check_values,
    checked_timeout,
)
from colonnade._words.shown import class_name, shown
from colonnade.errors import InterfaceError
from colonnade.formats import named
from colonnade.formats.dialects import OF_HTTP, Dialects
from colonnade.formats.streams import STREAMS
from colonnade.serve.answer import Answer
from colonnade.serve.batches import (
    ENCODED_PART_BYTES,
    PART_BYTES,
    Parts,
    begun,
    check_source,
    close,
    known_size,
)
from colonnade.serve.body import Body
from colonnade.serve.connected import while_connected
from colonnade.serve.negotiation import chosen, unknown_values
from colonnade.serve.problems import Problem, problem_of
from colonnade.serve.request import Request
from colonnade.serve.stall_limit import STALL_TIMEOUT_S

if TYPE_CHECKING:
    from colonnade.formats.dialects import Csv, Numbers
    from colonnade.formats.streams import StreamFormat
    from colonnade.serve.batches import BatchSource
    from colonnade.serve.negotiation import Choice

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

#: The header that tells the number of rows, where it is known before they are sent.
ROWS_HEADER = b"table-rows"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FIELD = re.compile(r"[\t -~\xa0-\xff]*")
#: They follow from the format and the other arguments.
_OWN_HEADERS = {
    *("content-disposition", "content-encoding", "content-length", "content-type"),
    *("etag", "table-rows", "transfer-encoding", "vary"),
}
#: A table that is in memory and not larger is sent in one message, with its length.
_WHOLE_BYTES_MAX = 1 << 20


class TableResponse:
    """A table as the answer to an HTTP request.

    The client chooses the format, by its Accept header or by ``?format=``, among `formats`, the
    default first: "arrow", "parquet", "json", "ndjson" and "csv". By default, these are all of them
    in this order, without Parquet if pyarrow is not installed.

    `numbers` and `csv` are the dialects of NDJSON and CSV for a client that names none in its
    request: "javascript", where a number that JavaScript would round is a string, or "exact", as in
    files; "rfc4180", or "copy" for PostgreSQL's COPY. The media type names the dialect.

    `source` is `Columns`, a list of them, a stream such as ``pool.iter_columns(...)``, or a
    function without arguments that returns or awaits one of these. A function is called only if the
    client needs the rows: not for a request that is answered by 304 or 406, nor for HEAD. A stream
    is sent once: a response that answers several requests needs a function.

    `etag` names the version of the data, for example the text of a number that changes with them;
    the answer's weak ETag is made of it and of the format. `filename`, without an ending, makes a
    browser save the table. `headers` are added to those of the response.

    The first batch is fetched before the status is sent, so an error of the query is a real status:
    400 for a bad argument, 504 for a timeout, 503 where the database or the pool is full. An
    error after that breaks the connection, and readers of Arrow streams meet a message that they
    refuse. `json_rows_max` bounds a result in JSON columns, which must be in memory as a whole; a
    larger one is refused with 406.

    A reader that takes nothing for `stall_timeout` seconds is cut off: the query is cancelled, its
    connection is free, and the answer is broken off. None waits for ever.

    FastAPI requires the class of this name in `colonnade.serve.starlette`.

    Raises TypeError or ValueError for wrong arguments, UnknownFormatError (a ValueError) for an
    unknown format or dialect, InterfaceError for a format whose package is not installed.
    """

    # Without a `__dict__`, a framework that does not know the class raises an error. FastAPI would
    # otherwise answer 200 with the attributes as JSON.
    __slots__ = (
        *("_etag", "_filename", "_headers", "_is_begun"),
        *("_json_rows_max", "_offers", "_source", "_stall_timeout"),
    )

    def __init__(
        self,
        source: BatchSource,
        *,
        formats: Sequence[str] | None = None,
        numbers: Numbers = OF_HTTP.numbers,
        csv: Csv = OF_HTTP.csv,
        etag: str | None = None,
        filename: str | None = None,
        headers: Mapping[str, str] | None = None,
        json_rows_max: int = 1_000_000,
        stall_timeout: float | None = STALL_TIMEOUT_S,
    ) -> None:
        check_source(source)
        self._source = source
        self._is_begun = False
        offers = _all_offers() if formats is None else _offers(formats)
        dialects = asdict(Dialects(numbers, csv))
        self._offers = [offer.preferring(dialects) for offer in offers]
        for name, text in (("etag", etag), ("filename", filename)):
            if text is not None:
                check_name(name, text)
        if filename is not None:
            _check_filename(filename)
        self._etag = etag
        self._filename = filename
        check_mapping("headers", headers)
        self._headers = [_header(name, value) for name, value in (headers or {}).items()]
        check_count("json_rows_max", json_rows_max)
        self._json_rows_max = json_rows_max
        self._stall_timeout = checked_timeout(stall_timeout, "stall_timeout")
        if self._stall_timeout is not None and self._stall_timeout <= 0:
            wanted = "stall_timeout must be more than 0 seconds, or None"
            raise ValueError(f"{wanted}, not {shown(stall_timeout)}")

    def __repr__(self) -> str:
        """The class of the source, and the formats on offer."""
        formats = ", ".join(str(offer) for offer in self._offers)
        return f"<TableResponse of {class_name(self._source)}: {formats}>"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, as an ASGI application."""
        if scope["type"] != "http":
            raise InterfaceError(f"a table answers HTTP requests, not {shown(scope['type'])}")
        await while_connected(receive, self._serve(scope, send))

    async def _serve(self, scope: Scope, send: Send) -> None:
        answer = await self.answer(scope)
        await answer.send(send)

    async def answer(self, scope: Scope) -> Answer:
        """Begin the answer to the request of an ASGI scope: status, headers, and the body to send.

        An answer that is not sent must be closed.
        """
        request = Request.of(scope)
        choice = chosen(request.query, request.accept, self._offers)
        if choice is None:
            await self._close_source()
            known = ", ".join(f"{offer.media_type} (?format={offer})" for offer in self._offers)
            told = unknown_values(request.query, request.accept, self._offers)
            detail = told or f"this table is offered as {known}"
            return self._refused(Problem(HTTPStatus.NOT_ACCEPTABLE, detail))
        headers = [*self._headers, (b"vary", b"accept")]
        tag = self._tag(choice)
        if tag is not None:
            headers.append((b"etag", tag))
            if request.knows(tag):
                await self._close_source()
                return self._answer(HTTPStatus.NOT_MODIFIED, headers)
        headers += self._headers_of_body(choice)
        if request.is_head:
            await self._close_source()
            return self._answer(HTTPStatus.OK, headers)
        try:
            return self._answer(HTTPStatus.OK, headers, await self._body(choice))
        except Exception as error:
            problem = problem_of(error)
            if problem is None:
                raise
            return self._refused(problem)

    def _answer(
        self,
        status: HTTPStatus,
        headers: list[tuple[bytes, bytes]],
        body: Body | bytes | None = None,
    ) -> Answer:
        return Answer(status, headers, body, self._stall_timeout)

    async def _close_source(self) -> None:
        """End a stream whose rows no client needs, unless another request is reading it."""
        if isinstance(self._source, AsyncIterator) and not self._is_begun:
            self._is_begun = True
            await close(self._source)

    async def _body(self, choice: Choice) -> Body | bytes:
        if isinstance(self._source, AsyncIterator):
            if self._is_begun:
                raise InterfaceError(
                    "the stream of this response was read for another request: a response for "
                    "several requests needs a function that begins the query"
                )
            self._is_begun = True
        batches = await begun(self._source)
        is_at_end = choice.format.is_at_end
        encoder = choice.format.open(choice.parameters)
        part_bytes = PART_BYTES if choice.shares_memory else ENCODED_PART_BYTES
        body = Body(Parts(batches, part_bytes), encoder, self._json_rows_max if is_at_end else None)
        try:
            await body.begin()
            # JSON columns are in memory as a whole anyway.
            size = (0, body.nbytes) if is_at_end else known_size(batches)
            if size is not None and size[1] <= _WHOLE_BYTES_MAX:
                return await body.whole()
        except BaseException:
            await body.aclose()
            raise
        return body

    def _headers_of_body(self, choice: Choice) -> list[tuple[bytes, bytes]]:
        headers = [(b"content-type", choice.content_type.encode())]
        if choice.is_compressed:
            # Middleware leaves an encoded body alone, so nothing is compressed twice.
            headers.append((b"content-encoding", b"identity"))
        if self._filename is not None:
            headers.append((b"content-disposition", _attachment(self._filename, choice)))
        size = known_size(self._source)
        if size is not None:
            headers.append((ROWS_HEADER, b"%d" % size[0]))
        return headers

    def _refused(self, problem: Problem) -> Answer:
        headers = [*problem.headers, (b"vary", b"accept")]
        return self._answer(problem.status, headers, problem.body)

    def _tag(self, choice: Choice) -> bytes | None:
        """The weak tag of this version in this format, of the same length for every `etag`."""
        if self._etag is None:
            return None
        text = f"{self._etag}\n{choice.content_type}".encode("utf-8", "surrogatepass")
        return b'W/"%s"' % hashlib.blake2b(text, digest_size=16).hexdigest().encode()


@functools.cache
def _all_offers() -> Sequence[StreamFormat]:
    return [form for form in STREAMS if form.is_there]


def _offers(names: Sequence[str]) -> Sequence[StreamFormat]:
    if isinstance(names, str):
        raise TypeError(f"formats must be a list of names, not {shown(names)}")
    check_values("formats", names)
    if not names:
        raise ValueError("formats must have at least one name")
    offers = [named(name, STREAMS) for name in names]
    for offer in offers:
        if not offer.is_there:
            raise InterfaceError(f"the format {offer} needs the package {offer.library}")
    return offers


def _header(name: str, value: str) -> tuple[bytes, bytes]:
    """A header of RFC 9110: a token, and printable characters of Latin-1."""
    check_name("a header's name", name)
    check_name("a header's value", value)
    if not _TOKEN.fullmatch(name):
        raise ValueError(f"{shown(name)} is not the name of a header")
    if not _FIELD.fullmatch(value):
        raise ValueError(f"the header {shown(name)} has a character that no header can have")
    if name.lower() in _OWN_HEADERS:
        raise ValueError(f"the header {shown(name)} is the response's own")
    return name.lower().encode("ascii"), value.encode("latin-1")


def _check_filename(name: str) -> None:
    if any("\ud800" <= letter <= "\udfff" for letter in name):
        raise ValueError("filename has half of a surrogate pair, which no header can have")
    if "/" in name or "\\" in name:
        raise ValueError(f"filename must be a name without folders, not {shown(name)}")
    for form in STREAMS:
        if name.lower().endswith(form.ending):
            wanted = "filename must be without an ending, which follows from the format"
            raise ValueError(f"{wanted}, not {shown(name)}")


def _attachment(name: str, choice: Choice) -> bytes:
    """Both forms of a file's name (RFC 6266): plain ASCII, and any characters.

    The plain one has no percent sign, which some browsers decode.
    """
    whole = name + choice.format.ending
    plain = "".join(
        letter if " " <= letter <= "~" and letter not in '"%\\' else "_" for letter in whole
    )
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(whole, safe='')}".encode()
