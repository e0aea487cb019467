"""`colonnade jobs`: every command against a real queue, in pipes, with right and wrong input."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import colonnade.sync
from colonnade.jobs import sync as jobs
from tests.cli.program import run, run_for_bytes, run_on_terminal, started, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCHEMA = "cli_jobs"
PAYLOAD = {"user_id": "int8 NOT NULL", "body": "text", "tags": "text[]", "at": "timestamptz"}


@pytest.fixture
def pool(dsn: str) -> Iterator[colonnade.sync.Pool]:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=2) as pool:
        pool.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        yield pool
        pool.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


@pytest.fixture
def queue(pool: colonnade.sync.Pool) -> jobs.Queue:
    """A queue with one attempt."""
    retry = jobs.Retry(max_attempts=1, delay=0)
    return jobs.create_queue(pool, "emails", PAYLOAD, schema=SCHEMA, retry=retry)


def run_jobs(dsn: str | None, *words: str, stdin: str = "", status: int = 0) -> tuple[str, str]:
    """Run the command for the tests' schema; return both outputs."""
    done = run(dsn, "jobs", *words, "--schema", SCHEMA, stdin=stdin)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


def objects(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def buried(queue: jobs.Queue, *user_ids: int) -> list[int]:
    """Make dead letters, and return their ids."""
    queue.add({"user_id": list(user_ids), "body": ["dead"] * len(user_ids)})
    batch = queue.get()
    batch.nack(reason="no such user")
    return [int(number) for number in batch.ids]


@pytest.mark.usefixtures("queue")
def test_queues_are_listed(dsn: str, pool: colonnade.sync.Pool) -> None:
    jobs.create_queue(pool, 'odd "name"', {"a": "int8"}, schema=SCHEMA, ttl=60, max_length=5)
    out, _ = run_jobs(dsn, "list")
    assert out.splitlines()[0].split()[:2] == ["queue", "layout"]
    assert [line.split("  ")[0] for line in out.splitlines()[1:]] == ["emails", 'odd "name"']
    emails, odd = objects(run_jobs(dsn, "list", "--json")[0])
    assert (emails["name"], emails["layout"], emails["max_attempts"]) == ("emails", "rows", 1)
    assert (odd["ttl"], odd["max_length"], odd["retry"]["factor"]) == (60, 5, 2)


def test_jobs_are_counted(dsn: str, pool: colonnade.sync.Pool, queue: jobs.Queue) -> None:
    jobs.create_queue(pool, "other", {"a": "int8"}, schema=SCHEMA)
    buried(queue, 1)
    queue.add({"user_id": [1, 2, 3]})
    queue.add({"user_id": [4]}, delay=3600)
    queue.get(limit=1)
    (emails,) = objects(run_jobs(dsn, "stats", "emails", "--json")[0])
    numbers = {key: emails[key] for key in ("total", "ready", "delayed", "leased", "dead")}
    assert numbers == {"total": 4, "ready": 2, "delayed": 1, "leased": 1, "dead": 1}
    assert emails["oldest_ready_s"] >= 0
    out, _ = run_jobs(dsn, "stats")
    assert [line.split()[:2] for line in out.splitlines()[1:]] == [["emails", "4"], ["other", "0"]]


def test_jobs_are_shown(dsn: str, queue: jobs.Queue) -> None:
    queue.add({"user_id": [2**60, 8], "body": ['a, "b"', None], "tags": [["x", None], []]})
    first, second = objects(run_jobs(dsn, "peek", "emails", "--json")[0])
    assert (first["user_id"], first["body"], first["tags"]) == (2**60, 'a, "b"', ["x", None])
    assert (second["body"], second["job_attempts"], second["job_is_leased"]) == (None, 0, False)
    assert len(objects(run_jobs(dsn, "peek", "emails", "-n", "1", "--json")[0])) == 1
    head, row, *_ = run_jobs(dsn, "peek", "emails")[0].splitlines()
    assert head.startswith("user_id,body,tags,at,job_id")
    assert row.startswith('1152921504606846976,"a, ""b""",')
    table = run_jobs(dsn, "peek", "emails", "--format", "table")[0]
    assert '1152921504606846976  a, "b"  {x,NULL}' in table
    written = run_for_bytes(
        dsn, "jobs", "peek", "emails", "--schema", SCHEMA, "--format", "parquet"
    )
    assert pq.read_table(pa.BufferReader(written))["user_id"].to_pylist() == [2**60, 8]
    assert queue.length() == 2


def test_jobs_are_written_as_query_writes_rows(dsn: str, queue: jobs.Queue) -> None:
    queue.add({"user_id": [2**60], "body": ["x"], "tags": [["a", None]]})
    row = "SELECT (2^60)::int8 AS user_id, 'x' AS body, '{a,NULL}'::text[] AS tags"
    for form in ("csv", "ndjson"):
        wanted = run_for_bytes(dsn, "query", row, "--format", form).decode().rstrip("}\n")
        shown = run_jobs(dsn, "peek", "emails", "--format", form)[0]
        ends = [line.rstrip("}") for line in wanted.split("\n")]
        assert all(line.startswith(end) for line, end in zip(shown.splitlines(), ends, strict=True))


def test_dead_letters_are_shown_and_requeued(dsn: str, queue: jobs.Queue) -> None:
    ids = buried(queue, 7, 8, 9)
    letters = objects(run_jobs(dsn, "dead", "emails", "--json")[0])
    assert [letter["user_id"] for letter in letters] == [7, 8, 9]
    assert {letter["job_reason"] for letter in letters} == {"no such user"}
    _, err = run_jobs(dsn, "requeue", "emails", str(ids[0]))
    assert err == "1 dead letter requeued\n"
    _, err = run_jobs(dsn, "requeue", "emails", str(ids[0]), str(ids[1]), status=1)
    assert "1 of the ids is not one of a dead letter" in err
    out, _ = run_jobs(dsn, "requeue", "emails", "--all", "--json")
    assert json.loads(out) == {"requeued": 1}
    assert queue.length() == 3
    run_jobs(dsn, "requeue", "emails", status=2)
    run_jobs(dsn, "requeue", "emails", "--all", "1", status=2)
    run_jobs(dsn, "requeue", "emails", str(2**63), status=2)


def test_purge_asks_first(dsn: str, queue: jobs.Queue) -> None:
    buried(queue, 1)
    queue.add({"user_id": [1, 2, 3]})
    queue.get(limit=1)
    _, err = run_jobs(dsn, "purge", "emails", status=2)
    assert "--yes" in err
    words = ("jobs", "purge", "emails", "--schema", SCHEMA)
    shown = run_on_terminal(dsn, *words, typed="n\n")
    assert shown.status == 1
    assert 'Remove 3 jobs of the queue "emails"?' in shown.err
    assert "nothing was removed" in shown.err
    assert queue.length() == 3
    shown = run_on_terminal(dsn, *words, typed="y\n")
    assert (shown.status, queue.length()) == (0, 0)
    assert queue.stats().dead == 1
    out, _ = run_jobs(dsn, "purge", "emails", "--dead", "--yes", "--json")
    assert json.loads(out) == {"removed": 1}
    assert queue.stats().dead == 0


def test_segments_do_the_same(dsn: str, pool: colonnade.sync.Pool) -> None:
    retry = jobs.Retry(max_attempts=1, delay=0)
    queue = jobs.create_queue(
        pool, "segments", {"a": "int8"}, schema=SCHEMA, retry=retry, layout="segments"
    )
    words = ("add", "segments", "-", "--format", "csv")
    run_jobs(dsn, *words, stdin="a\n1\n2\n3\n")
    run_jobs(dsn, *words, "--delay", "1000", "--priority", "5", stdin="a\n4\n")
    queue.get(limit=1).nack(reason="no")
    (numbers,) = objects(run_jobs(dsn, "stats", "--json")[0])
    found = {key: numbers[key] for key in ("total", "ready", "delayed", "leased", "dead")}
    assert found == {"total": 3, "ready": 2, "delayed": 1, "leased": 0, "dead": 1}
    assert [each["a"] for each in objects(run_jobs(dsn, "dead", "segments", "--json")[0])] == [1]
    run_jobs(dsn, "requeue", "segments", "--all")
    shown = objects(run_jobs(dsn, "peek", "segments", "--json")[0])
    assert sorted(each["a"] for each in shown) == [1, 2, 3, 4]
    _, err = run_jobs(dsn, *words, "--key", "a", stdin="a\n1\n", status=1)
    assert "no unique keys" in err
    out, _ = run_jobs(dsn, "purge", "segments", "--yes", "--json")
    assert json.loads(out) == {"removed": 4}


@pytest.mark.parametrize("ending", ["parquet", "arrow", "arrows"])
def test_rows_of_arrow_files_become_jobs(
    ending: str, dsn: str, queue: jobs.Queue, tmp_path: Path
) -> None:
    path = str(tmp_path / f"users.{ending}")
    asked = "SELECT i AS id, 'to ' || i AS body, now() AS at FROM generate_series(1, 2500) AS i"
    assert run(dsn, "export", asked, "-o", path).returncode == 0
    _, err = run_jobs(dsn, "add", "emails", path, "--column", "id=user_id")
    assert err.startswith('2,500 jobs added to "emails" in ')
    batch = queue.get(limit=3000)
    assert batch.columns["user_id"].tolist() == list(range(1, 2501))
    assert batch.columns["body"].tolist()[-1] == "to 2500"


def test_lines_from_a_pipe_become_jobs(dsn: str, queue: jobs.Queue) -> None:
    lines = '{"user_id": 5, "tags": ["a", "b"]}\n{"user_id": 6, "body": "größe"}\n'
    words = ("add", "emails", "-", "--format", "ndjson", "--priority", "-3", "--delay", "0.001")
    out, _ = run_jobs(dsn, *words, "--json", stdin=lines)
    assert json.loads(out) == {"added": 2}
    first = queue.peek()
    assert first["job_priority"].tolist() == [-3, -3]
    assert first.to_pydict()["tags"] == [["a", "b"], None]
    text = "user_id,note,body\n7,x,\n8,y,z\n"
    run_jobs(dsn, "add", "emails", "-", "--format", "csv", "--skip", "note", stdin=text)
    assert queue.length() == 4


def test_a_key_is_in_the_queue_once(dsn: str, queue: jobs.Queue) -> None:
    words = ("add", "emails", "-", "--format", "csv", "--key", "user_id", "--json")
    assert run_jobs(dsn, *words, stdin="user_id\n1\n2\n1\n")[0] == '{"added": 2}\n'
    more = (*words, "--on-conflict", "replace")
    run_jobs(dsn, *more, stdin="user_id,body\n2,new\n")
    assert queue.peek().to_pydict()["body"] == [None, "new"]
    _, err = run_jobs(dsn, *words[:-2], "nothing", stdin="user_id\n1\n", status=1)
    assert '--key: the payload has no column "nothing"' in err
    alone = ("add", "emails", "-", "--format", "csv", "--on-conflict", "replace")
    _, err = run_jobs(dsn, *alone, stdin="user_id\n1\n", status=2)
    assert "--on-conflict replace needs --key" in err


def test_all_files_or_none(dsn: str, queue: jobs.Queue, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text("user_id\n1\n2\n")
    bad.write_text("user_id\n3\nx\n")
    _, err = run_jobs(dsn, "add", "emails", str(good), str(bad), status=1)
    assert f'{bad}, line 3, column "user_id"' in err
    bad.write_text("user_id,nam\n3,x\n")
    _, err = run_jobs(dsn, "add", "emails", str(good), str(bad), status=1)
    assert 'the queue "emails" has no column "nam"' in err
    # A value that only the queue's own table refuses.
    bad.write_text("user_id,body\n,x\n")
    _, err = run_jobs(dsn, "add", "emails", str(good), str(bad), status=1)
    assert str(bad) in err
    assert "user_id" in err
    bad.write_bytes(b"PAR1 is not all of it")
    _, err = run_jobs(
        dsn, "add", "emails", str(good), str(bad.rename(tmp_path / "x.parquet")), status=1
    )
    assert queue.length() == 0


def test_columns_that_a_file_lacks_have_their_defaults(
    dsn: str, pool: colonnade.sync.Pool, tmp_path: Path
) -> None:
    payload = {"a": "int8", "b": "int4 DEFAULT 5"}
    queue = jobs.create_queue(pool, "defaults", payload, schema=SCHEMA)
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text("a\n1\n")
    other.write_text("b,a\n6,2\n")
    run_jobs(dsn, "add", "defaults", str(one), str(other))
    assert queue.peek().to_pydict()["b"] == [5, 6]


def test_a_full_queue_says_so(dsn: str, pool: colonnade.sync.Pool) -> None:
    jobs.create_queue(pool, "short", {"a": "int8"}, schema=SCHEMA, max_length=2)
    words = ("add", "short", "-", "--format", "csv")
    _, err = run_jobs(dsn, *words, stdin="a\n1\n2\n3\n", status=1)
    assert "max_length of 2" in err


@pytest.mark.usefixtures("queue")
@pytest.mark.parametrize("command", ["peek", "dead", "stats", "purge", "requeue", "add", "top"])
def test_an_unknown_queue_names_those_there_are(
    command: str, dsn: str, pool: colonnade.sync.Pool
) -> None:
    jobs.create_queue(pool, "reports", {"a": "int8"}, schema=SCHEMA)
    more = {"requeue": ["--all"], "add": ["-", "--format", "csv"]}.get(command, [])
    _, err = run_jobs(dsn, command, "email", *more, status=1)
    assert f'there is no queue "email" in the schema "{SCHEMA}". Did you mean "emails"?' in err
    assert 'hint: the queues are "emails", "reports"' in err


@pytest.mark.usefixtures("pool")
def test_a_schema_without_queues(dsn: str) -> None:
    out, err = run_jobs(dsn, "list")
    assert (out, err) == ("", f'there are no queues in the schema "{SCHEMA}"\n')
    assert run_jobs(dsn, "list", "--json") == ("", "")
    _, err = run_jobs(dsn, "peek", "x\x1b[2J", status=1)
    assert "--schema" in err
    assert "\x1b" not in err
    assert run(dsn, "jobs", "list", "--schema", "").returncode == 2


@pytest.mark.usefixtures("queue")
def test_without_rights(dsn: str, pool: colonnade.sync.Pool) -> None:
    jobs.create_queue(pool, "reports", {"a": "int8"}, schema=SCHEMA)
    pool.execute("DROP ROLE IF EXISTS cli_jobs_worker")
    pool.execute("CREATE ROLE cli_jobs_worker")
    try:
        jobs.grant_queue(pool, "reports", "cli_jobs_worker", schema=SCHEMA)
        mine = {"PGOPTIONS": "-c role=cli_jobs_worker"}
        words = ("--schema", SCHEMA)
        done = run(dsn, "jobs", "peek", "emails", *words, env=mine)
        assert done.returncode == 1
        assert "permission denied" in done.stderr
        assert "hint: jobs.grant_queue" in done.stderr
        assert "Traceback" not in done.stderr
        done = run(dsn, "jobs", "stats", "--json", *words, env=mine)
        assert [each["name"] for each in objects(done.stdout)] == ["reports"]
        assert 'no right to read the queue "emails"' in done.stderr
        done = run(dsn, "jobs", "top", *words, env=mine)
        assert "no right to read it" in done.stdout
    finally:
        pool.execute("DROP OWNED BY cli_jobs_worker")
        pool.execute("DROP ROLE cli_jobs_worker")


def test_a_stricter_default_does_not_give_a_query_up(
    dsn: str, pool: colonnade.sync.Pool, queue: jobs.Queue
) -> None:
    """A policy of the table shows its rows to transactions that cannot fail to be serialized."""
    queue.add({"user_id": [7]})
    pool.execute(f"""
        DROP ROLE IF EXISTS cli_jobs_reader; CREATE ROLE cli_jobs_reader;
        ALTER TABLE {SCHEMA}.emails ENABLE ROW LEVEL SECURITY;
        CREATE POLICY committed ON {SCHEMA}.emails
        USING (current_setting('transaction_isolation') = 'read committed')
    """)
    try:
        jobs.grant_queue(pool, "emails", "cli_jobs_reader", schema=SCHEMA)
        strict = "-c role=cli_jobs_reader -c default_transaction_isolation=serializable"
        words = ("jobs", "peek", "emails", "--json", "--schema", SCHEMA)
        done = run(dsn, *words, env={"PGOPTIONS": strict})
        assert [each["user_id"] for each in objects(done.stdout)] == [7]
    finally:
        pool.execute("DROP OWNED BY cli_jobs_reader")
        pool.execute("DROP ROLE cli_jobs_reader")


def test_without_a_server() -> None:
    dead = "postgresql://nobody@127.0.0.1:1/none?connect_timeout=5"
    for command in ("list", "top"):
        _, err = run_jobs(dead, command, status=1)
        assert "no connection to 127.0.0.1:1" in err


def test_odd_names_and_numbers(dsn: str, pool: colonnade.sync.Pool) -> None:
    """No name controls the terminal, and no number ends in a traceback."""
    name = "e\x1b[31mvil"
    jobs.create_queue(pool, name, PAYLOAD, schema=SCHEMA)
    _, said = run_jobs(dsn, "add", name, "-", "--format", "ndjson", stdin='{"user_id": 1}\n')
    assert r'1 job added to "e\x1b[31mvil"' in said
    _, said = run_jobs(dsn, "purge", name, status=2)
    assert "\x1b" not in said
    for command in ("peek", "dead"):
        _, said = run_jobs(dsn, command, name, "-n", str(2**63), status=2)
        assert "not in the range" in said


def test_a_closed_pipe_ends_it(dsn: str, queue: jobs.Queue) -> None:
    queue.add({"user_id": list(range(20_000)), "body": ["x" * 100] * 20_000})
    words = ("jobs", "peek", "emails", "-n", "20000", "--schema", SCHEMA)
    with started(dsn, *words) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait() == 141


def test_ctrl_c_adds_nothing(
    dsn: str, connection: colonnade.sync.Connection, queue: jobs.Queue
) -> None:
    words = ("jobs", "add", "emails", "-", "--format", "csv", "--schema", SCHEMA)
    with started(dsn, *words, stdin=-1) as process:
        assert process.stdin is not None
        process.stdin.write("user_id\n" + "1\n" * 3_000_000)
        process.stdin.flush()
        copying = "SELECT count(*) FROM pg_stat_progress_copy"
        until(lambda: bool(connection.fetchval(copying)))
        process.send_signal(signal.SIGINT)
        # Python loses a signal between its last check and a read that then waits for ever: the
        # user presses again. A process that has ended gets no signal.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
    assert queue.length() == 0
