"""Tables as answers to HTTP requests, of a real web server."""

from __future__ import annotations

import asyncio
import io
import itertools
import json
from typing import TYPE_CHECKING, Any

import fastapi
import httpx
import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

import colonnade
from colonnade import serve
from tests.serve.serving import client_of
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ARROW = "application/vnd.apache.arrow.stream"
ROWS = "SELECT i AS number, 'text ' || i AS text FROM generate_series(1, $1::int) AS i"


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[colonnade.Pool]:
    async with colonnade.create_pool(dsn, min_size=1, max_size=2) as pool:
        yield pool


def table_of(response: httpx2.Response) -> pa.Table:
    return pa.ipc.open_stream(response.content).read_all()


async def read_back(table: pa.Table) -> colonnade.Columns:
    """Columns that did not come from PostgreSQL."""
    mark = {"colonnade.rows": str(len(table)), "colonnade.batches": "1"}
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
        writer.write_batch(table.to_batches()[0].slice(0, 0), custom_metadata=mark)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        del scope, receive
        headers = [(b"content-type", ARROW.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": sink.getvalue()})

    async with client_of(app) as client:
        return await serve.read("/", client=client)


async def test_columns_are_a_whole_answer(pool: colonnade.Pool) -> None:
    columns = await pool.fetch_columns(ROWS, 10)
    async with client_of(serve.TableResponse(columns)) as client:
        response = await client.get("/")
    assert response.status_code == 200
    assert response.headers["content-type"] == ARROW
    assert response.headers["vary"] == "accept"
    assert response.headers["table-rows"] == "10"
    assert response.headers["content-length"] == str(len(response.content))
    assert table_of(response).equals(pa.table(columns))


@pytest.mark.parametrize("codec", ["none", "zstd", "lz4"])
async def test_a_stream_is_sent_batch_by_batch(pool: colonnade.Pool, codec: str) -> None:
    app = serve.TableResponse(lambda: pool.iter_columns(ROWS, 5000, batch_rows=999))
    async with client_of(app) as client:
        response = await client.get("/", params={"format": "arrow", "codecs": codec})
        assert "table-rows" not in response.headers
        assert response.headers.get("content-encoding") == (None if codec == "none" else "identity")
        batches = list(pa.ipc.open_stream(response.content))
        assert [batch.num_rows for batch in batches] == [999] * 5 + [5, 0]
        columns = await serve.read(str(client.base_url), client=client, codec=codec)
    assert pa.table(columns).equals(table_of(response))
    assert pool.get_idle_size() == pool.get_size()


async def test_large_columns_are_split(pool: colonnade.Pool) -> None:
    columns = await pool.fetch_columns(ROWS, 500_000)
    async with client_of(serve.TableResponse(columns)) as client:
        response = await client.get("/")
    table = table_of(response)
    assert table.equals(pa.table(columns))
    assert max(batch.nbytes for batch in table.to_batches()) < 5 << 20


async def test_a_result_without_rows_has_its_columns(pool: colonnade.Pool) -> None:
    app = serve.TableResponse(lambda: pool.iter_columns(ROWS, 0))
    async with client_of(app) as client:
        columns = await serve.read(str(client.base_url), client=client)
    assert columns.names == ("number", "text")
    assert len(columns) == 0


@pytest.mark.parametrize("is_list", [False, True])
async def test_a_coroutine_function_begins_the_query(pool: colonnade.Pool, is_list: bool) -> None:
    async def begin() -> Any:
        columns = await pool.fetch_columns(ROWS, 3)
        return [columns, columns] if is_list else columns

    async with client_of(serve.TableResponse(begin)) as client:
        columns = await serve.read(str(client.base_url), client=client)
    assert columns["number"].tolist() == [1, 2, 3] * (2 if is_list else 1)


async def test_parquet_is_a_file(pool: colonnade.Pool) -> None:
    app = serve.TableResponse(lambda: pool.iter_columns(ROWS, 1000, batch_rows=300), filename="a")
    async with client_of(app) as client:
        response = await client.get("/", headers={"accept": "application/vnd.apache.parquet"})
    assert response.headers["content-type"] == "application/vnd.apache.parquet"
    assert response.headers["content-encoding"] == "identity"
    assert pq.read_table(io.BytesIO(response.content))["number"].to_pylist() == [*range(1, 1001)]


async def test_json_columns_are_a_document(pool: colonnade.Pool) -> None:
    app = serve.TableResponse(
        lambda: pool.iter_columns(ROWS, 5, batch_rows=2), json_rows_max=5, formats=["json", "csv"]
    )
    async with client_of(app) as client:
        response = await client.get("/")
        assert response.headers["content-type"] == "application/json"
        numbers = [1, 2, 3, 4, 5]
        texts = [f"text {number}" for number in numbers]
        assert response.json() == {"columns": {"number": numbers, "text": texts}, "rows": 5}
    app = serve.TableResponse(
        lambda: pool.iter_columns(ROWS, 5, batch_rows=2), json_rows_max=4, formats=["json", "csv"]
    )
    async with client_of(app) as client:
        response = await client.get("/")
        assert response.status_code == 406
        assert "more than 4 rows" in response.json()["detail"]
        assert (await client.get("/", headers={"accept": "text/csv"})).status_code == 200
    assert pool.get_idle_size() == pool.get_size()


@pytest.mark.parametrize(
    ("query", "name", "detail"),
    [
        (
            "SELECT interval '1 day' AS pause",
            "parquet",
            'Parquet has no type for the intervals of the column "pause"; ask for another format',
        ),
        ("SELECT 1 AS a, 2 AS a", "ndjson", "several columns have the name"),
        ("SELECT 1 AS a, 2 AS a", "json", "several columns have the name"),
    ],
)
async def test_a_format_that_cannot_hold_the_table_is_refused(
    pool: colonnade.Pool, query: str, name: str, detail: str
) -> None:
    app = serve.TableResponse(lambda: pool.iter_columns(query))
    async with client_of(app) as client:
        response = await client.get("/", params={"format": name})
        assert (response.status_code, response.headers["content-type"]) == (
            406,
            "application/problem+json",
        )
        assert response.json()["detail"].startswith(detail)
        assert (await client.get("/", params={"format": "arrow"})).status_code == 200
    await until(lambda: pool.get_idle_size() == pool.get_size())


async def test_a_column_that_only_arrow_holds_is_refused_elsewhere() -> None:
    types = pa.array([0, 1], pa.int8())
    union = pa.UnionArray.from_sparse(types, [pa.array([1, 2]), pa.array(["a", "b"])])
    table = await read_back(pa.table({"either": union}))
    async with client_of(serve.TableResponse(table)) as client:
        for name in ("parquet", "csv", "ndjson", "json"):
            response = await client.get("/", params={"format": name})
            assert (name, response.status_code) == (name, 406)
        assert table_of(await client.get("/"))["either"].to_pylist() == [1, "b"]


async def test_json_columns_have_a_length(pool: colonnade.Pool) -> None:
    app = serve.TableResponse(lambda: pool.iter_columns(ROWS, 5000, batch_rows=999))
    async with client_of(app) as client:
        small = await client.get("/", params={"format": "json"})
        assert small.headers["content-length"] == str(len(small.content))
        assert small.json()["rows"] == 5000
        stream = await client.get("/", params={"format": "csv"})
        assert "content-length" not in stream.headers


async def test_an_error_in_json_columns_is_a_status(pool: colonnade.Pool) -> None:
    query = "SELECT 1 / (2000 - i) AS a FROM generate_series(1, 3000) AS i"
    app = serve.TableResponse(lambda: pool.iter_columns(query, batch_rows=100), formats=["json"])
    async with client_of(app) as client:
        assert (await client.get("/")).status_code == 500


async def test_rows_come_as_lines(pool: colonnade.Pool) -> None:
    app = serve.TableResponse(lambda: pool.iter_columns(ROWS, 3, batch_rows=2))
    async with client_of(app) as client:
        response = await client.get("/", headers={"accept": "application/jsonl;end=true"})
        assert (
            response.headers["content-type"] == "application/x-ndjson; numbers=javascript; end=true"
        )
        lines = [json.loads(line) for line in response.text.splitlines()]
        assert lines[1] == {"number": 2, "text": "text 2"}
        assert lines[3] == {"end": True, "rows": 3}
        response = await client.get("/", params={"format": "ndjson"})
        assert len(response.text.splitlines()) == 3
        response = await client.get("/", params={"format": "csv", "header": "absent"})
        assert response.headers["content-type"] == "text/csv; csv=rfc4180; header=absent"
        assert response.text == "1,text 1\r\n2,text 2\r\n3,text 3\r\n"


LARGE = "SELECT (2^62)::int8 AS n, 1.50::numeric(9, 2) AS p, '\\x00ff'::bytea AS b, ARRAY[1] AS a"


async def test_either_dialect_is_written(pool: colonnade.Pool) -> None:
    columns = await pool.fetch_columns(LARGE)
    exact = '{"n":4611686018427387904,"p":1.50,"b":"\\\\x00ff","a":[1]}\n'
    rounded = '{"n":"4611686018427387904","p":"1.50","b":"AP8=","a":[1]}\n'
    copied = "n,p,b,a\n4611686018427387904,1.50,\\x00ff,{1}\n"
    usual = "n,p,b,a\r\n4611686018427387904,1.50,AP8=,[1]\r\n"
    by_default = serve.TableResponse(columns, etag="1")
    by_choice = serve.TableResponse(columns, etag="1", numbers="exact", csv="copy")
    tags = set()
    for app, lines, cells in ((by_default, rounded, usual), (by_choice, exact, copied)):
        async with client_of(app) as client:
            for query, text in (
                ({"format": "ndjson"}, lines),
                ({"format": "csv"}, cells),
                ({"format": "ndjson", "numbers": "exact"}, exact),
                ({"format": "ndjson", "numbers": "javascript"}, rounded),
                ({"format": "csv", "csv": "copy"}, copied),
                ({"format": "csv", "csv": "rfc4180"}, usual),
            ):
                response = await client.get("/", params=query)
                assert response.text == text
                tags.add((response.headers["content-type"], response.headers["etag"]))
    # One tag for each dialect, whether the client or the server has chosen it.
    assert sorted(kind for kind, _ in tags) == [
        "application/x-ndjson; numbers=exact",
        "application/x-ndjson; numbers=javascript",
        "text/csv; csv=copy",
        "text/csv; csv=rfc4180",
    ]
    assert len({tag for _, tag in tags}) == 4


async def test_a_file_name_makes_browsers_save(pool: colonnade.Pool) -> None:
    columns = await pool.fetch_columns(ROWS, 1)
    app = serve.TableResponse(columns, filename='Flüge "2013"\r\n')
    async with client_of(app) as client:
        response = await client.get("/")
    assert response.headers["content-disposition"] == (
        'attachment; filename="Fl_ge _2013___.arrows"; '
        "filename*=UTF-8''Fl%C3%BCge%20%222013%22%0D%0A.arrows"
    )
    async with client_of(serve.TableResponse(columns, filename="100%25")) as client:
        response = await client.get("/")
    # Some browsers would decode the plain name.
    assert response.headers["content-disposition"] == (
        "attachment; filename=\"100_25.arrows\"; filename*=UTF-8''100%2525.arrows"
    )


async def test_a_known_version_runs_no_query(pool: colonnade.Pool) -> None:
    calls = 0

    def begin() -> Any:
        nonlocal calls
        calls += 1
        return pool.iter_columns(ROWS, 3)

    async with client_of(serve.TableResponse(begin, etag="version 1")) as client:
        tag = (await client.get("/")).headers["etag"]
        assert tag.startswith('W/"')
        other = (await client.get("/", params={"format": "parquet"})).headers["etag"]
        assert other != tag
        assert calls == 2
        for known in (tag, tag.removeprefix("W/"), f'"x", {tag}', "*"):
            response = await client.get("/", headers={"if-none-match": known})
            assert (response.status_code, response.content) == (304, b"")
            assert response.headers["etag"] == tag
            assert response.headers["vary"] == "accept"
        assert calls == 2
        response = await client.get("/", headers={"if-none-match": other})
        assert (response.status_code, calls) == (200, 3)
        head = await client.head("/")
        assert (head.status_code, head.content, head.headers["etag"]) == (200, b"", tag)
        assert calls == 3


async def test_a_stream_that_is_not_needed_is_closed(pool: colonnade.Pool) -> None:
    ended: list[str] = []
    kept: list[Any] = []

    async def rows(name: str) -> AsyncIterator[colonnade.Columns]:
        try:
            yield await pool.fetch_columns(ROWS, 1)
        finally:
            ended.append(name)

    class Watched:
        """A stream that has not begun, which runs no code when it is closed."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __aiter__(self) -> Any:
            return self

        async def __anext__(self) -> Any:
            raise AssertionError("no row is needed")

        async def aclose(self) -> None:
            ended.append(self._name)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        name = scope["path"].strip("/")
        stream: Any = rows(name) if name == "table" else Watched(name)
        kept.append(stream)
        await serve.TableResponse(stream, etag="1", formats=["arrow"])(scope, receive, send)

    async with client_of(app) as client:
        tag = (await client.get("/table")).headers["etag"]
        assert (await client.head("/head")).status_code == 200
        assert (await client.get("/known", headers={"if-none-match": tag})).status_code == 304
        assert (await client.get("/refused", headers={"accept": "text/html"})).status_code == 406
    assert ended == ["table", "head", "known", "refused"]


async def test_a_request_without_rows_leaves_another_ones_stream_alone(
    pool: colonnade.Pool,
) -> None:
    app = serve.TableResponse(pool.iter_columns(ROWS, 1_000_000, batch_rows=1000))
    async with client_of(app) as client:
        async with client.stream("GET", "/") as response:
            pieces = response.aiter_bytes()
            data = await anext(pieces)
            assert (await client.head("/")).status_code == 200
            data += b"".join([piece async for piece in pieces])
        assert len(pa.ipc.open_stream(data).read_all()) == 1_000_000
        assert (await client.get("/")).status_code == 500


async def test_a_known_version_does_not_answer_other_methods(pool: colonnade.Pool) -> None:
    columns = await pool.fetch_columns(ROWS, 3)
    async with client_of(serve.TableResponse(columns, etag="1")) as client:
        tag = (await client.get("/")).headers["etag"]
        for known in (tag, "*"):
            response = await client.post("/", headers={"if-none-match": known})
            assert (response.status_code, len(table_of(response))) == (200, 3)


async def test_a_format_that_is_not_offered_is_refused(pool: colonnade.Pool) -> None:
    columns = await pool.fetch_columns(ROWS, 1)
    async with client_of(serve.TableResponse(columns, formats=["arrow"])) as client:
        for response in (
            await client.get("/", headers={"accept": "application/vnd.apache.parquet"}),
            await client.get("/", params={"format": "parquet"}),
        ):
            assert response.status_code == 406
            assert response.headers["content-type"] == "application/problem+json"
            problem = response.json()
            assert problem["title"] == "Not Acceptable"
            assert problem["detail"] == f"this table is offered as {ARROW} (?format=arrow)"


async def test_errors_before_the_first_batch_are_a_status(pool: colonnade.Pool) -> None:
    queries = {
        "/text": ("SELECT $1::int AS a", "x"),
        "/cast": ("SELECT $1::text::int AS a", "x"),
        "/slow": ("SELECT pg_sleep(10) AS a WHERE $1", True),
        "/wrong": ("SELECT missing, $1::int", 1),
    }

    async def app(scope: Any, receive: Any, send: Any) -> None:
        query, argument = queries[scope["path"]]
        source = pool.iter_columns(query, argument, timeout=0.2)
        await serve.TableResponse(source)(scope, receive, send)

    async with client_of(app) as client:
        for path, status in (("/text", 400), ("/cast", 400), ("/slow", 504), ("/wrong", 500)):
            response = await client.get(path)
            assert response.status_code == status, path
        response = await client.get("/cast")
        # The value may be of the data, which are not for strangers.
        assert response.json()["detail"] == "the database refused a value (SQLSTATE 22P02)"
        await until(lambda: pool.get_idle_size() == pool.get_size())


async def test_an_exhausted_pool_asks_to_come_back(dsn: str) -> None:
    async with (
        colonnade.create_pool(dsn, min_size=1, max_size=1, max_waiting=0) as pool,
        pool.acquire(),
        client_of(serve.TableResponse(lambda: pool.iter_columns(ROWS, 1))) as client,
    ):
        response = await client.get("/")
        assert response.status_code == 503
        assert int(response.headers["retry-after"]) >= 1


async def test_an_error_amid_the_rows_is_seen(pool: colonnade.Pool) -> None:
    query = "SELECT 1 / (100000 - i) AS a FROM generate_series(1, 200000) AS i"
    app = serve.TableResponse(lambda: pool.iter_columns(query, batch_rows=10_000))
    async with client_of(app) as client:
        with pytest.raises(
            colonnade.errors.IncompleteTableError, match=r"failed after [1-9]0000 rows"
        ):
            await serve.read(str(client.base_url), client=client)
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.get("/")
    assert pool.get_idle_size() == pool.get_size()


async def test_a_reader_that_leaves_cancels_the_query(pool: colonnade.Pool) -> None:
    slow = "SELECT i, pg_sleep(0.001) FROM generate_series(1, 1000000) AS i"
    waiting = "SELECT pg_sleep(60)"
    running = (
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' "
        "AND query LIKE ANY ($1::text[]) AND pid <> pg_backend_pid()"
    )

    async def app(scope: Any, receive: Any, send: Any) -> None:
        query = slow if scope["path"] == "/slow" else waiting
        source = pool.iter_columns(query, batch_rows=10)
        await serve.TableResponse(source)(scope, receive, send)

    async with client_of(app) as client:
        async with client.stream("GET", "/slow") as response:
            async for _ in response.aiter_bytes():
                break
        with pytest.raises(httpx2.ReadTimeout):
            await client.get("/waiting", timeout=0.2)
        async with asyncio.timeout(1):
            while await pool.fetchval(running, [slow, waiting]):  # noqa: ASYNC110 - the server's
                await asyncio.sleep(0.01)
        await until(lambda: pool.get_idle_size() == pool.get_size())


async def test_a_reader_names_what_it_got(pool: colonnade.Pool) -> None:
    async def page(scope: Any, receive: Any, send: Any) -> None:
        del scope, receive
        headers = [(b"content-type", b"text/html")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"<p>"})

    async with client_of(page) as client:
        with pytest.raises(colonnade.errors.FaultyTableError, match="text/html instead of"):
            await serve.read(str(client.base_url), client=client)
    app = serve.TableResponse(lambda: pool.iter_columns("SELECT $1::int", "x"))
    async with client_of(app) as client:
        with pytest.raises(httpx2.HTTPStatusError, match="400 Bad Request: "):
            await serve.read(str(client.base_url), client=client)
        with pytest.raises(httpx.HTTPStatusError, match="400 Bad Request: "):
            await asyncio.to_thread(serve.sync.read, str(client.base_url))
        with pytest.raises(ValueError, match='codec must be "none", "zstd" or "lz4"'):
            await serve.read(str(client.base_url), client=client, codec="gzip")


async def test_the_module_for_browsers_is_served() -> None:
    async with client_of(serve.reader_module) as client:
        response = await client.get("/any/path.js")
        assert response.headers["content-type"] == "text/javascript; charset=utf-8"
        assert response.text == serve.READER_JS.read_text("utf-8")
        tag = response.headers["etag"]
        again = await client.get("/any/path.js", headers={"if-none-match": tag})
        assert (again.status_code, again.content) == (304, b"")
        head = await client.head("/any/path.js")
        assert (head.status_code, head.content, head.headers["etag"]) == (200, b"", tag)


async def test_the_module_is_an_application_to_starlette() -> None:
    route = Route("/reader.js", serve.reader_module)
    async with client_of(Starlette(routes=[route])) as client:
        response = await client.get("/reader.js")
        assert (response.status_code, response.content) == (200, serve.READER_JS.read_bytes())
    app = fastapi.FastAPI()
    app.router.routes.append(route)
    async with client_of(app) as client:
        assert (await client.get("/reader.js")).status_code == 200
    assert repr(serve.reader_module) == "colonnade.serve.reader_module"


async def test_a_response_shows_its_source_and_formats(pool: colonnade.Pool) -> None:
    columns = await pool.fetch_columns(ROWS, 1)
    response = serve.TableResponse(columns, formats=["arrow", "csv"])
    assert repr(response) == "<TableResponse of Columns: arrow, csv>"


async def test_a_receive_that_fails_raises_its_own_error(pool: colonnade.Pool) -> None:
    async def receive() -> Any:
        raise ConnectionAbortedError

    async def send(message: Any) -> None:
        del message

    app = serve.TableResponse(lambda: pool.iter_columns("SELECT pg_sleep(60)"))
    scope = {"type": "http", "method": "GET", "headers": [], "query_string": b""}
    with pytest.raises(ConnectionAbortedError):
        await app(scope, receive, send)
    await until(lambda: pool.get_idle_size() == pool.get_size())


async def test_wrong_arguments_are_named(pool: colonnade.Pool) -> None:
    columns = await pool.fetch_columns(ROWS, 1)
    source: Any
    for source in (None, 5, "rows", [], [columns, 5], [1, 2]):
        with pytest.raises(TypeError, match="source must be Columns"):
            serve.TableResponse(source)
    with pytest.raises(TypeError, match=r"Columns \(of fetch_columns\), .*, not a list of dict"):
        serve.TableResponse([{"a": 1}])  # type: ignore[list-item]
    fetching: Any = pool.fetch_columns(ROWS, 1)
    with pytest.raises(TypeError, match="not a coroutine: await it, or give a function"):
        serve.TableResponse(fetching)
    fetching.close()
    with pytest.raises(TypeError, match="not an empty tuple"):
        serve.TableResponse(())
    for options, message in (
        ({"formats": ["xlsx"]}, "there is no format 'xlsx': use one of arrow, parquet, json"),
        ({"numbers": "rounded"}, 'numbers must be "exact" or "javascript", not \'rounded\''),
        ({"csv": "excel"}, 'csv must be "copy" or "rfc4180", not \'excel\''),
        ({"formats": "arrow"}, "formats must be a list of names"),
        ({"formats": []}, "formats must have at least one name"),
        ({"etag": 5}, "etag must be a str"),
        ({"filename": 5}, "filename must be a str"),
        ({"headers": {"a": "b\r\nc: d"}}, "the header 'a' has a character that"),
        ({"headers": [("a", "b")]}, "headers must be a mapping, not list"),
        ({"headers": {"a b": "c"}}, "'a b' is not the name of a header"),
        ({"headers": {"price": "5 €"}}, "the header 'price' has a character that"),
        ({"headers": {"Content-Type": "text/csv"}}, "is the response's own"),
        ({"filename": "\ud800"}, "filename has half of a surrogate pair"),
        (
            {"filename": "flights.csv"},
            "filename must be without an ending, .* not 'flights.csv'",
        ),
        ({"filename": "a/b"}, "filename must be a name without folders, not 'a/b'"),
        ({"json_rows_max": 0}, "json_rows_max must be 1 or more"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            serve.TableResponse(columns, **options)


async def test_a_stream_is_sent_once(pool: colonnade.Pool) -> None:
    app = serve.TableResponse(pool.iter_columns(ROWS, 1000, batch_rows=10))
    async with client_of(app) as client:
        answers = await asyncio.gather(*(client.get("/") for _ in range(3)))
    assert sorted(answer.status_code for answer in answers) == [200, 500, 500]
    whole = next(answer for answer in answers if answer.status_code == 200)
    assert table_of(whole)["number"].to_pylist() == [*range(1, 1001)]
    assert pool.get_idle_size() == pool.get_size()


async def test_a_receive_that_never_waits_stops_nothing(pool: colonnade.Pool) -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "headers": []}
    await serve.TableResponse(pool.iter_columns(ROWS, 5))(scope, receive, send)
    assert sent[0]["status"] == 200


async def test_the_loop_turns_between_two_pieces(pool: colonnade.Pool) -> None:
    """Also where the web server takes every piece at once."""
    turns = 0
    at_piece: list[int] = []

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def receive() -> dict[str, Any]:
        return await asyncio.Event().wait()  # type: ignore[return-value]

    async def send(message: Any) -> None:
        if message.get("more_body"):
            at_piece.append(turns)

    scope: dict[str, Any] = {"type": "http", "method": "GET", "headers": [], "query_string": b""}
    counting = asyncio.create_task(count())
    app = serve.TableResponse(lambda: pool.iter_columns(ROWS, 200_000))
    await app(scope, receive, send)
    counting.cancel()
    assert len(at_piece) > 10
    assert all(later > earlier for earlier, later in itertools.pairwise(at_piece))
