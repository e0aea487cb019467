"""The database's part of a request, in the header `Server-Timing`."""

from __future__ import annotations

import contextvars
import inspect
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from colonnade import tracing
from colonnade._words.shown import class_name
from colonnade.observe.metrics.definitions import PHASES
from colonnade.observe.metrics.summaries import summary_of

if TYPE_CHECKING:
    from colonnade.tracing import PoolEvent

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

# Proxies limit all headers together to 4 or 8 KiB.
_LENGTH_MAX = 1024
_DESCRIPTION_MAX = 80
# Queries that are listed one by one; all are in the sums.
_LISTED_MAX = 20
# Shorter times are shown as nothing.
_SECONDS_MIN = 0.000_005
_NO_BODY = {204, 304}
# The messages that have or name a body; extensions of ASGI send files.
_BODIES = {"http.response.body", "http.response.zerocopysend", "http.response.pathsend"}

_log = logging.getLogger("colonnade.observe")


class ServerTiming:
    """ASGI middleware that tells the client how long a request's queries took.

        app = observe.ServerTiming(app, expose=lambda scope: is_internal(scope["client"]))

    The header has the time until the response began (`total`), the time of all queries (`db`), of
    their phases (`db-server` and so on) and of each query with its operation and tables, all in
    milliseconds. It counts the queries that the request's task runs, or tasks that it started. A
    response without a length has the whole in a trailer, too, if server and client can.

    Times and names of tables are nobody's business by default: `expose` is True, or a function that
    is called with the scope of each HTTP request and says whether this client may see them; if it
    raises, that is logged, and the client sees nothing. Other requests are not watched and cost
    nothing. Raises TypeError for another `expose`.
    """

    def __init__(self, app: App, *, expose: bool | Callable[[Scope], bool] = False) -> None:
        if not callable(app):
            raise TypeError(f"app must be an ASGI application, not {class_name(app)}")
        if inspect.iscoroutinefunction(expose):
            raise TypeError("expose must be a plain function, not a coroutine function")
        if not isinstance(expose, bool) and not callable(expose):
            raise TypeError(f"expose must be a bool or a function, not {class_name(expose)}")
        self._app = app
        self._expose = expose

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http" or not self._may_see(scope):
            await self._app(scope, receive, send)
            return
        account = _Account()
        token = _current.set(account)
        _watch.enter()
        try:
            await self._app(scope, receive, _Answer(scope, send, account).send)
        finally:
            _watch.leave()
            _current.reset(token)

    def _may_see(self, scope: Scope) -> bool:
        """Ask `expose`; a function that fails says no."""
        expose = self._expose
        if not callable(expose):
            return expose
        try:
            return _answered(expose(scope))
        except Exception:  # noqa: BLE001 - the request succeeds without it; it is logged
            _log.exception("expose has failed, so this client sees no Server-Timing")
            return False


def _answered(answer: object) -> bool:
    # A coroutine is true, whatever it would return.
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise TypeError("expose must be a plain function: it has returned an awaitable")
    return bool(answer)


class _Account:
    """The times of one request; several tasks and threads may add to it."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._lock = threading.RLock()
        self._count = 0
        self._seconds = 0.0
        self._phases: dict[str, float] = dict.fromkeys(PHASES, 0.0)
        self._listed: list[tuple[str, float]] = []

    def add_query(self, text: str, seconds: float, phases: Mapping[str, float]) -> None:
        """Add a query; the wait for the pool is added by the pool itself."""
        with self._lock:
            self._count += 1
            self._seconds += seconds
            for phase, spent in phases.items():
                self._phases[phase] += spent
            if len(self._listed) < _LISTED_MAX:
                self._listed.append((text, seconds))

    def add_pool_wait(self, seconds: float) -> None:
        """Add a wait for a connection."""
        with self._lock:
            self._phases["pool_wait"] += seconds

    def header(self) -> bytes:
        """The value of the header, of at most `_LENGTH_MAX` characters."""
        with self._lock:
            count, seconds = self._count, self._seconds
            phases, listed = dict(self._phases), list(self._listed)
        parts = [_metric("total", time.perf_counter() - self._began)]
        queries = "1 query" if count == 1 else f"{count} queries"
        parts.append(_metric("db", seconds, queries))
        for phase, spent in phases.items():
            if spent >= _SECONDS_MIN:
                parts.append(_metric("db-" + phase.replace("_", "-"), spent))
        length = sum(len(part) + 2 for part in parts)
        shown = 0
        for number, (text, spent) in enumerate(listed, 1):
            part = _metric(f"q{number}", spent, summary_of(text))
            # There must be room for the rest.
            length += len(part) + 2
            if length > _LENGTH_MAX - 50:
                break
            parts.append(part)
            seconds -= spent
            shown = number
        if shown < count:
            parts.append(_metric("rest", max(0.0, seconds), f"{count - shown} more"))
        return ", ".join(parts).encode("ascii")


class _Watch:
    """Adds the queries and waits of exposed requests to their accounts, while there are any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests = 0

    def enter(self) -> None:
        """A request begins."""
        with self._lock:
            self._requests += 1
            if self._requests == 1:
                tracing.add_tracer(self)
                tracing.add_pool_observer(self)

    def leave(self) -> None:
        """A request has ended."""
        with self._lock:
            self._requests -= 1
            if not self._requests:
                tracing.remove_tracer(self)
                tracing.remove_pool_observer(self)

    def query_started(
        self, name: str, attributes: Mapping[str, tracing.Attribute]
    ) -> tuple[_Account, str, float] | None:
        """Keep the account of the request that runs the query."""
        del name
        account = _current.get()
        if account is None:
            return None
        return account, str(attributes["db.query.text"]), time.perf_counter()

    def query_ended(
        self,
        span: tuple[_Account, str, float] | None,
        attributes: Mapping[str, tracing.Attribute],
        error: BaseException | None,
    ) -> None:
        """Add the query to its request."""
        if span is None:
            return
        account, text, began = span
        seconds = time.perf_counter() - began
        phases: dict[str, float] = {}
        if error is None and "colonnade.send" in attributes:
            # The wait for the pool is told by the pool; a stream's caller may work in between.
            phases = {phase: float(attributes[f"colonnade.{phase}"]) for phase in PHASES[1:]}
            seconds = sum(phases.values())
        account.add_query(text, seconds, phases)

    def pool_event(self, pool: Any, event: PoolEvent, seconds: float) -> None:
        """Add a wait to its request."""
        del pool
        account = _current.get()
        if account is not None and event in {"acquired", "timed_out"}:
            account.add_pool_wait(seconds)


_current: contextvars.ContextVar[_Account | None] = contextvars.ContextVar(
    "colonnade.observe.server_timing", default=None
)
_watch = _Watch()


class _Answer:
    """Passes an application's messages on, with the header, and the trailer if there can be one."""

    def __init__(self, scope: Scope, send: Send, account: _Account) -> None:
        self._send = send
        self._account = account
        extensions: Mapping[str, Any] = scope.get("extensions") or {}
        accepted = [value.lower() for name, value in scope["headers"] if name.lower() == b"te"]
        self._can_trail = (
            "http.response.trailers" in extensions
            and scope["method"] != "HEAD"
            and any(b"trailers" in value for value in accepted)
        )
        self._trails = False
        self._is_apps_trailer = False

    async def send(self, message: Message) -> None:
        """Pass a message on."""
        kind = message["type"]
        if kind == "http.response.start":
            message = self._started(message)
        elif kind == "http.response.trailers" and not message.get("more_trailers", False):
            message = {**message, "headers": [*message.get("headers", ()), self._line()]}
        await self._send(message)
        is_end = kind in _BODIES and not message.get("more_body", False)
        if is_end and self._trails and not self._is_apps_trailer:
            await self._send({"type": "http.response.trailers", "headers": [self._line()]})

    def _started(self, message: Message) -> Message:
        headers = [*message.get("headers", ()), self._line()]
        self._is_apps_trailer = bool(message.get("trailers", False))
        names = {bytes(name).lower() for name, _ in headers}
        self._trails = (
            self._can_trail and b"content-length" not in names and message["status"] not in _NO_BODY
        )
        if not self._trails:
            return {**message, "headers": headers}
        headers.append((b"trailer", b"server-timing"))
        return {**message, "headers": headers, "trailers": True}

    def _line(self) -> tuple[bytes, bytes]:
        return b"server-timing", self._account.header()


def _metric(name: str, seconds: float, description: str = "") -> str:
    """One metric of the header, its description as a quoted string of printable ASCII."""
    metric = f"{name};dur={seconds * 1e3:.2f}"
    if not description:
        return metric
    if len(description) > _DESCRIPTION_MAX:
        description = description[: _DESCRIPTION_MAX - 3] + "..."
    plain = "".join(letter if " " <= letter <= "~" else "?" for letter in description)
    quoted = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'{metric};desc="{quoted}"'
