"""Server-Timing, as clients of real servers see it."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from typing import TYPE_CHECKING, Any

import h2.config
import h2.connection
import h2.events
import httpx2
import pytest

import colonnade
from colonnade import observe, tracing
from colonnade.observe import server_timing
from tests.observe.timed_app import SERVERS, TimedApp, metrics_of, serving
from tests.support.unused_tls import UNUSED_TLS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.observe.timed_app import Metric

PHASES = {"db-pool-wait", "db-prepare", "db-send", "db-server-wait", "db-transfer", "db-decode"}


@contextlib.asynccontextmanager
async def client_of(
    dsn: str, served_by: str, expose: bool | Callable[[Any], bool] = True
) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a server with two connections to the database."""
    async with colonnade.create_pool(dsn, min_size=2, max_size=2) as pool:
        for count in (1, 2, 3, 4, 300):
            await pool.execute(f"CREATE OR REPLACE VIEW t{count} AS SELECT {count} AS n")
        app = observe.ServerTiming(TimedApp(pool), expose=expose)
        async with (
            serving(served_by, app) as port,
            httpx2.AsyncClient(
                base_url=f"http://127.0.0.1:{port}", timeout=60, verify=UNUSED_TLS
            ) as client,
        ):
            yield client
    assert tracing.active is None
    assert not tracing.pool_observers


async def timing(client: httpx2.AsyncClient, path: str) -> dict[str, Metric]:
    response = await client.get(path)
    assert response.status_code == 200, response.text
    return metrics_of(response.headers["server-timing"])


@pytest.mark.parametrize("served_by", SERVERS)
async def test_queries_and_their_phases_are_told(dsn: str, served_by: str) -> None:
    async with client_of(dsn, served_by) as client:
        found = await timing(client, "/page")
        assert found["db"].description == "1 query"
        assert found["q1"].description == "SELECT pg_class"
        assert {"db-send", "db-server-wait"} <= set(found)
        assert set(found) <= {"total", "db", "q1", "db-loop-delay", *PHASES}
        assert 0 < found["q1"].milliseconds == found["db"].milliseconds
        assert found["db"].milliseconds < found["total"].milliseconds
        parts = sum(metric.milliseconds for name, metric in found.items() if name.startswith("db-"))
        waited = found["db-pool-wait"].milliseconds if "db-pool-wait" in found else 0
        assert parts - waited == pytest.approx(found["db"].milliseconds, abs=0.1)


@pytest.mark.parametrize("served_by", SERVERS)
async def test_the_headers_of_the_application_are_kept(dsn: str, served_by: str) -> None:
    async with client_of(dsn, served_by) as client:
        response = await client.get("/none")
        own, added = response.headers.get_list("server-timing")
        assert own == 'cache;dur=1.5;desc="hit"'
        assert metrics_of(added)["db"] == (0, "0 queries")
        assert response.headers["content-length"] == str(len(response.content))


@pytest.mark.parametrize("served_by", SERVERS)
async def test_tasks_of_a_request_count(dsn: str, served_by: str) -> None:
    async with client_of(dsn, served_by) as client:
        found = await timing(client, "/tasks/6")
        assert found["db"].description == "6 queries"
        assert {found[f"q{number}"].description for number in range(1, 7)} == {"SELECT pg_database"}
        assert found["db"].milliseconds >= 60
        # Two connections for six tasks: four of them waited at least once for 10 ms.
        assert found["db-pool-wait"].milliseconds >= 40


async def test_threads_that_a_request_starts_count(dsn: str) -> None:
    def count_types() -> Any:
        with colonnade.sync.connect(dsn) as connection:
            return connection.fetchval("SELECT count(*) FROM pg_type")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        del scope, receive
        await asyncio.to_thread(count_types)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    timed = observe.ServerTiming(app, expose=True)
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=timed), base_url="http://service"
    ) as client:
        found = await timing(client, "/")
    assert found["db"].description == "1 query"
    assert found["q1"].description == "SELECT pg_type"


async def test_a_request_that_fails_is_watched_no_longer() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        del scope, receive, send
        assert tracing.active is not None
        raise LookupError

    async def unused(*_: Any) -> Any:
        raise AssertionError

    scope = {"type": "http", "method": "GET", "headers": []}
    with pytest.raises(LookupError):
        await observe.ServerTiming(app, expose=True)(scope, unused, unused)
    assert tracing.active is None
    assert not tracing.pool_observers


@pytest.mark.parametrize("served_by", SERVERS)
async def test_requests_at_the_same_time_do_not_mix(dsn: str, served_by: str) -> None:
    async with client_of(dsn, served_by) as client:
        paths = [f"/queries/{count}" for count in (1, 2, 3, 4)] * 5 + ["/none"] * 5
        responses = await asyncio.gather(*map(client.get, paths))
        for path, response in zip(paths, responses, strict=True):
            found = metrics_of(response.headers.get_list("server-timing")[-1])
            count = int(path.removeprefix("/queries/")) if path != "/none" else 0
            assert found["db"].description == ("1 query" if count == 1 else f"{count} queries")
            shown = [found[name].description for name in found if name[0] == "q"]
            assert shown == [f"SELECT t{count}"] * count


async def test_a_failed_query_counts(dsn: str) -> None:
    async with client_of(dsn, "uvicorn") as client:
        found = await timing(client, "/fail")
        assert found["db"].description == "1 query"
        assert found["q1"].milliseconds > 0


async def test_the_header_is_bounded(dsn: str) -> None:
    async with client_of(dsn, "uvicorn") as client:
        response = await client.get("/queries/300")
        header = response.headers["server-timing"]
        found = metrics_of(header)
        assert len(header) <= 1024
        assert found["db"].description == "300 queries"
        shown = sum(1 for name in found if name.startswith("q"))
        assert 5 <= shown <= 20
        assert found["rest"].description == f"{300 - shown} more"
        listed = sum(metric.milliseconds for name, metric in found.items() if name.startswith("q"))
        assert listed + found["rest"].milliseconds == pytest.approx(found["db"].milliseconds, 0.01)


@pytest.mark.parametrize("served_by", SERVERS)
async def test_only_who_may_see_it_gets_it(dsn: str, served_by: str) -> None:
    def expose(scope: Any) -> bool:
        assert scope["type"] == "http"
        return (b"x-inside", b"yes") in scope["headers"]

    async with client_of(dsn, served_by, expose) as client:
        assert "server-timing" not in (await client.get("/page")).headers
        assert "server-timing" in (await client.get("/page", headers={"x-inside": "yes"})).headers
        responses = await asyncio.gather(
            *(
                client.get("/queries/2", headers={"x-inside": inside})
                for inside in ["yes", "no"] * 5
            )
        )
        told = ["server-timing" in response.headers for response in responses]
        assert told == [True, False] * 5


async def test_it_is_off_by_default(dsn: str) -> None:
    assert inspect.signature(observe.ServerTiming).parameters["expose"].default is False
    async with client_of(dsn, "uvicorn", expose=False) as client:
        response = await client.get("/page")
        assert "server-timing" not in response.headers


async def h2_answer(port: int, path: str, *headers: tuple[str, str]) -> dict[str, Any]:
    """The headers, body and trailers of a request in HTTP/2 without TLS."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="ascii"))
    connection.initiate_connection()
    request = {":method": "GET", ":scheme": "http", ":authority": "127.0.0.1", ":path": path}
    connection.send_headers(1, [*request.items(), *headers], end_stream=True)
    answer: dict[str, Any] = {"body": b"", "trailers": None}
    is_ended = False
    while not is_ended:
        writer.write(connection.data_to_send())
        data = await reader.read(65536)
        assert data, "the server closed the connection"
        for event in connection.receive_data(data):
            if isinstance(event, h2.events.ResponseReceived):
                answer["headers"] = dict(event.headers)
            elif isinstance(event, h2.events.DataReceived):
                answer["body"] += event.data
            elif isinstance(event, h2.events.TrailersReceived):
                answer["trailers"] = dict(event.headers)
            is_ended = is_ended or isinstance(event, h2.events.StreamEnded)
    connection.close_connection()
    writer.write(connection.data_to_send())
    writer.close()
    await writer.wait_closed()
    return answer


async def test_a_streamed_answer_has_a_trailer_where_the_server_can(dsn: str) -> None:
    async with client_of(dsn, "hypercorn") as client:
        port = client.base_url.port
        assert port is not None
        streamed = await h2_answer(port, "/stream", ("te", "trailers"))
        assert streamed["body"] == b"first,last"
        assert streamed["headers"]["trailer"] == "server-timing"
        early = metrics_of(streamed["headers"]["server-timing"])
        late = metrics_of(streamed["trailers"]["server-timing"])
        assert early["db"].description == "1 query"
        assert late["db"].description == "2 queries"
        assert late["q2"].description == "SELECT pg_type"
        # One that does not ask for trailers, and one that has a length.
        for path, headers in (("/stream", []), ("/page", [("te", "trailers")])):
            answer = await h2_answer(port, path, *headers)
            assert answer["trailers"] is None
            assert "trailer" not in answer["headers"]
            assert metrics_of(answer["headers"]["server-timing"])["db"].description == "1 query"


@pytest.mark.parametrize("served_by", SERVERS)
async def test_a_streamed_answer_without_trailers_has_what_is_known(
    dsn: str, served_by: str
) -> None:
    async with client_of(dsn, served_by) as client:
        response = await client.get("/stream", headers={"te": "trailers"})
        assert response.content == b"first,last"
        assert "trailer" not in response.headers
        assert metrics_of(response.headers["server-timing"])["db"].description == "1 query"


async def test_trailers_of_the_application_are_kept() -> None:
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        del scope, receive
        start = {"type": "http.response.start", "status": 200, "headers": [], "trailers": True}
        await send(start)
        await send({"type": "http.response.body", "body": b"x", "more_body": False})
        own = [(b"digest", b"1")]
        await send({"type": "http.response.trailers", "headers": own, "more_trailers": True})
        await send({"type": "http.response.trailers", "headers": own, "more_trailers": False})
        assert start["headers"] == []
        assert own == [(b"digest", b"1")]

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError

    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "headers": [(b"TE", b"Trailers")],
        "extensions": {"http.response.trailers": {}},
    }
    await observe.ServerTiming(app, expose=True)(scope, receive, send)
    assert [message["type"].rpartition(".")[2] for message in sent] == [
        *("start", "body", "trailers", "trailers"),
    ]
    assert sent[2]["headers"] == [(b"digest", b"1")]
    assert [name for name, _ in sent[3]["headers"]] == [b"digest", b"server-timing"]


@pytest.mark.parametrize(
    ("description", "shown"),
    [
        ('a "b" \\ c', 'a "b" \\ c'),
        ("größe\r\n\0", "gr??e???"),
        ("x" * 200, "x" * 77 + "..."),
        (";,=", ";,="),
    ],
)
def test_descriptions_are_quoted(description: str, shown: str) -> None:
    header = server_timing._metric("q1", 0.0015, description)
    assert metrics_of(header) == {"q1": (1.5, shown)}


async def coroutine_function(scope: Any) -> bool:
    return bool(scope)


@pytest.mark.parametrize(
    ("app", "expose", "text"),
    [
        (5, True, "app must be an ASGI application, not int"),
        (print, 1, "expose must be a bool or a function, not int"),
        (print, coroutine_function, "plain function"),
    ],
)
def test_other_arguments_are_refused(app: Any, expose: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        observe.ServerTiming(app, expose=expose)


class Asked:
    """An object that is called as a coroutine function is."""

    async def __call__(self, scope: Any) -> bool:
        return scope["client"] is not None


@pytest.mark.parametrize("expose", [lambda scope: scope["client"][0], Asked()])
async def test_who_cannot_be_judged_sees_nothing(
    expose: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """On a Unix socket there is no client; a coroutine is true, whatever it would return."""
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Any) -> None:
        sent.append(message)

    async def unused() -> Any:
        raise AssertionError

    scope: Any = {"type": "http", "method": "GET", "headers": [], "client": None}
    await observe.ServerTiming(app, expose=expose)(scope, unused, send)
    assert sent == [{"type": "http.response.start", "status": 200, "headers": []}]
    assert "expose has failed" in caplog.text
