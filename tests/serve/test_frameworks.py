"""Tables in four frameworks: one line each, and each framework's own part."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import fastapi
import litestar
import pytest
import quart
from starlette.background import BackgroundTask
from starlette.middleware.cors import CORSMiddleware

import colonnade
from colonnade import serve, sync
from colonnade.formats.streams import STREAMS
from colonnade.serve import starlette as for_starlette
from colonnade.serve.options import Options
from colonnade.serve.quart import table_response
from tests.serve import checks
from tests.serve.conversation import FRAMEWORKS, Conversation
from tests.serve.serving import client_of
from tests.serve.web_servers import WebServer, web_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator


@pytest.fixture(scope="module")
def running(dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    folder = tmp_path_factory.mktemp("uvicorn")
    with web_server("uvicorn", is_http2=False, dsn=dsn, folder=folder) as server:
        yield server


@pytest.fixture(scope="module")
def talk_to(running: WebServer, dsn: str) -> Iterator[Callable[[str], Conversation]]:
    with sync.connect(dsn) as database:
        yield lambda framework: Conversation(running, framework, database)


@pytest.fixture
async def columns(dsn: str) -> colonnade.Columns:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        return await pool.fetch_columns("SELECT i FROM generate_series(1, 3) i")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_one_line_in_a_framework(framework: str, talk_to: Callable[[str], Conversation]) -> None:
    talk = talk_to(framework)
    checks.check_whole_table(talk)
    checks.check_answers_without_rows(talk)
    checks.check_statuses(talk)
    checks.check_error_amid_a_table(talk, "midway")
    checks.check_clients_that_go_away(talk)
    checks.check_stalled_reader(talk)


def test_a_timeout_amid_a_table_is_not_quarts(talk_to: Callable[[str], Conversation]) -> None:
    checks.check_error_amid_a_table(talk_to("quart"), "late")


def test_middleware_that_would_end_a_broken_table_politely(
    talk_to: Callable[[str], Conversation],
) -> None:
    talk = talk_to("behind-base")
    assert talk.request("small").response.headers["passed-on"] == "yes"
    checks.check_whole_table(talk)
    checks.check_error_amid_a_table(talk, "midway")
    checks.check_clients_that_go_away(talk)
    # Nothing but the broken connection tells a reader of CSV.
    checks.check_stalled_reader(talk, "stalled?format=csv")


def test_middleware_that_compresses(talk_to: Callable[[str], Conversation]) -> None:
    talk = talk_to("behind-gzip")
    checks.check_whole_table(talk)
    plain = talk.request("whole", **{"accept-encoding": "gzip"})
    assert plain.response.headers["content-encoding"] == "gzip"
    assert plain.response.headers["vary"] == "accept, Accept-Encoding"
    compressed = talk.request("whole?format=arrow&codecs=zstd", **{"accept-encoding": "gzip"})
    assert compressed.response.headers["content-encoding"] == "identity"
    with pytest.raises(colonnade.errors.IncompleteTableError):
        talk.read("midway")
    checks.check_clients_that_go_away(talk)


def test_litestars_middleware_compresses_twice(talk_to: Callable[[str], Conversation]) -> None:
    """As the page says; a route can be excluded."""
    talk = talk_to("litestar-gzip")
    checks.check_whole_table(talk)
    compressed = talk.request("whole?format=arrow&codecs=zstd", **{"accept-encoding": "gzip"})
    assert compressed.response.headers["content-encoding"] == "gzip"


async def test_scripts_of_other_origins_see_the_headers(columns: colonnade.Columns) -> None:
    app = CORSMiddleware(
        serve.TableResponse(columns, etag="1"),
        allow_origins=["https://example.org"],
        expose_headers=["ETag", "Table-Rows"],
    )
    async with client_of(app) as client:
        response = await client.get("/", headers={"origin": "https://example.org"})
    assert response.headers["access-control-expose-headers"] == "ETag, Table-Rows"
    assert response.headers["table-rows"] == "3"
    assert sorted(response.headers["vary"].lower().split(", ")) == ["accept", "origin"]


async def test_a_starlette_response_has_headers_cookies_and_a_task(
    columns: colonnade.Columns,
) -> None:
    done: list[str] = []
    task = BackgroundTask(done.append, "table")
    response = for_starlette.TableResponse(columns, background=task, headers={"x-a": "1"})
    response.headers["x-b"] = "2"
    response.status_code = 203
    response.set_cookie("seen", "yes")
    async with client_of(response) as client:
        answer = await client.get("/")
        refused = await client.get("/", headers={"accept": "text/html"})
    assert (answer.headers["x-a"], answer.headers["x-b"]) == ("1", "2")
    assert answer.cookies["seen"] == "yes"
    assert answer.headers.get_list("content-type") == [STREAMS[0].media_type]
    assert (answer.status_code, refused.status_code) == (203, 406)
    assert done == ["table", "table"]


async def test_fastapi_has_its_tasks_dependencies_and_documents(
    columns: colonnade.Columns,
) -> None:
    done: list[str] = []
    app = fastapi.FastAPI()

    async def table() -> AsyncIterator[colonnade.Columns]:
        yield columns
        done.append("dependency")

    @app.get(
        "/table",
        response_class=for_starlette.TableResponse,
        responses=for_starlette.documented(),
    )
    async def answer(
        tasks: fastapi.BackgroundTasks,
        table: colonnade.Columns = fastapi.Depends(table),  # noqa: B008, FAST002 - FastAPI's way
    ) -> for_starlette.TableResponse:
        tasks.add_task(done.append, "task")
        return for_starlette.TableResponse(table)

    async with client_of(app) as client:
        read = await serve.read("/table", client=client)
        documents = (await client.get("/openapi.json")).json()
    assert len(read) == 3
    assert sorted(done) == ["dependency", "task"]
    answers = documents["paths"]["/table"]["get"]["responses"]
    assert set(answers["200"]["content"]) == {form.media_type for form in STREAMS}
    assert set(answers["406"]["content"]) == {"application/problem+json"}


async def test_fastapi_refuses_the_plain_response(columns: colonnade.Columns) -> None:
    app = fastapi.FastAPI()

    @app.get("/table")
    async def answer() -> Any:
        return serve.TableResponse(columns)

    async with client_of(app) as client:
        assert (await client.get("/table")).status_code == 500


def test_documents_list_the_offered_formats() -> None:
    (only,) = for_starlette.documented(["parquet"])[200]["content"]
    assert only == "application/vnd.apache.parquet"


async def test_litestar_documents_a_table(columns: colonnade.Columns) -> None:
    @litestar.get("/table")
    async def table() -> serve.TableResponse:
        return serve.TableResponse(columns)

    async with client_of(litestar.Litestar([table])) as client:
        read = await serve.read("/table", client=client)
        documents = await client.get("/schema/openapi.json")
    assert len(read) == 3
    assert "/table" in documents.json()["paths"]


async def test_quart_adds_headers_and_closes_an_answer_that_is_replaced(dsn: str) -> None:
    app = quart.Quart(__name__)
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:

        @app.get("/table")
        @app.get("/replaced")
        async def table() -> quart.Response:
            return await table_response(
                lambda: pool.iter_columns("SELECT i FROM generate_series(1, 1000000) i")
            )

        @app.after_request
        async def changed(response: quart.Response) -> quart.Response:
            response.headers["x-a"] = "1"
            if quart.request.path == "/replaced":
                await response.response.__aexit__(None, None, None)  # type: ignore[arg-type]
                return quart.Response("gone")
            return response

        async with client_of(app) as client:
            answer = await client.get("/table")
            replaced = await client.get("/replaced")
        assert answer.headers["x-a"] == "1"
        assert answer.headers.get_list("content-type") == [STREAMS[0].media_type]
        assert replaced.text == "gone"
        assert pool.get_idle_size() == pool.get_size()


def test_the_classes_take_the_same_options() -> None:
    parameters = inspect.signature(serve.TableResponse).parameters
    assert ["source", *Options.__annotations__] == list(parameters)
