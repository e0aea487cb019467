"""`colonnade doctor`: its findings for healthy and for faulty servers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import pytest

import colonnade
from tests.cli.program import environment, run, run_for_bytes, run_on_terminal
from tests.support import pooler
from tests.support.servers import start_standby
from tests.support.tls_shim import TlsVariant

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade import embedded
    from tests.support.tls_shim import Certificates, TlsShim

pytestmark = pytest.mark.thorough

NAMES = [
    *("client", "target", "name", "socket", "tls", "authentication", "connection"),
    *("server", "settings", "role", "pooler", "latency", "time"),
]


def facts(dsn: str | None, *words: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    """The checks of the JSON output by name."""
    done = run(dsn, "doctor", "--json", *words, env=env)
    assert "Traceback" not in done.stderr
    told = json.loads(done.stdout)
    assert done.returncode == (0 if told["ok"] else 1)
    return {check["name"]: check for check in told["checks"]}


def test_a_server_that_is_well(dsn: str) -> None:
    checks = facts(dsn)
    assert list(checks) == NAMES
    address = urlsplit(dsn)
    assert checks["target"]["facts"]["hosts"] == [f"{address.hostname}:{address.port}"]
    assert checks["client"]["facts"]["colonnade"] == colonnade.__version__
    assert checks["client"]["facts"]["libraries"]["click"]
    assert checks["tls"]["outcome"] == "warning"
    assert checks["server"]["facts"]["version"].startswith("18")
    assert checks["settings"]["facts"]["server_encoding"] == "UTF8"
    assert checks["role"]["facts"]["is_in_recovery"] is False
    assert checks["pooler"]["facts"] == {"is_pooled": False}
    latency = checks["latency"]["facts"]
    assert 0 < latency["minimum_s"] <= latency["median_s"]
    times = checks["time"]["facts"]
    parts = ("prepare", "send", "server_wait", "transfer", "decode")
    assert sum(times[part] for part in parts) == pytest.approx(times["total"], rel=0.01)
    assert times["rows"] == 20_000


def test_people_read_lines(dsn: str) -> None:
    done = run(dsn, "doctor")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert [line.split()[1] for line in lines if not line.lstrip().startswith("hint:")] == NAMES
    assert "\x1b" not in done.stdout
    assert "\x1b[3" in run_on_terminal(dsn, "doctor").out
    assert "\x1b[3" not in run_on_terminal(dsn, "doctor", env={"NO_COLOR": "1"}).out


def test_a_unix_socket(socket_dsn: str) -> None:
    checks = facts(socket_dsn)
    assert "name" not in checks
    assert checks["tls"]["facts"]["in_use"] is False
    assert checks["connection"]["outcome"] == "ok"


@pytest.mark.parametrize(
    ("dsn", "step", "told"),
    [
        ("postgresql://u:secret@127.0.0.1:1/db", "socket", "is the server running on 127.0.0.1:1?"),
        ("postgresql://u:secret@no.such.host.invalid/db", "name", "spelled right"),
        ("postgresql://u:secret@/db?host=/no/such/place", "socket", "no such socket"),
    ],
)
def test_a_server_that_is_not_there(dsn: str, step: str, told: str) -> None:
    checks = facts(dsn)
    assert checks[step]["outcome"] == "failed"
    assert told in checks[step]["hint"]
    assert checks["connection"]["outcome"] == "failed"
    assert "secret" not in json.dumps(checks)
    done = run(dsn, "query", "SELECT 1")
    assert done.returncode == 1
    assert done.stderr.startswith("colonnade: no connection to ")
    assert "hint: " in done.stderr
    assert "secret" not in done.stderr


def test_options_that_cannot_be_used() -> None:
    checks = facts("postgresql://localhost/db?sslmod=require")
    assert list(checks) == ["client", "target"]
    assert 'did you mean "sslmode"?' in checks["target"]["summary"]


def test_tls_and_its_certificate(
    tls_shim: Callable[[TlsVariant], TlsShim], certificates: Certificates
) -> None:
    shim = tls_shim(TlsVariant.GOOD)
    dsn = f"postgresql://scram_plain@localhost:{shim.port}/postgres"
    words = ("-d", f"{dsn}?sslmode=verify-full&sslrootcert={certificates.ca_file}")
    checks = facts(None, *words, env={"PGPASSWORD": "correct horse"})
    told = checks["tls"]["facts"]
    assert told["version"] in {"TLSv1.2", "TLSv1.3"}
    assert told["is_verified"] is True
    assert told["checks_host_name"] is True
    assert told["days_left"] > 0
    assert told["not_after"]
    assert "SCRAM-SHA-256" in checks["authentication"]["facts"]["method"]
    assert checks["connection"]["outcome"] == "ok"
    assert "correct horse" not in json.dumps(checks)
    # The default mode verifies nothing, and the doctor warns of it.
    checks = facts(None, "-d", dsn, env={"PGPASSWORD": "correct horse"})
    assert checks["tls"]["facts"]["is_verified"] is False
    assert "not verified" in checks["tls"]["summary"]


@pytest.mark.parametrize(
    ("variant", "told"),
    [
        (TlsVariant.WRONG_HOST, "connect with that name"),
        (TlsVariant.EXPIRED, "needs a new certificate"),
        (TlsVariant.SELF_SIGNED, "set sslrootcert to the CA's certificate"),
        (TlsVariant.REFUSED, "TLS is off on the server"),
        (TlsVariant.GARBAGE, "could not agree"),
    ],
)
def test_tls_that_fails(
    variant: TlsVariant,
    told: str,
    tls_shim: Callable[[TlsVariant], TlsShim],
    certificates: Certificates,
) -> None:
    shim = tls_shim(variant)
    dsn = f"postgresql://scram_plain:x@localhost:{shim.port}/postgres"
    checks = facts(f"{dsn}?sslmode=verify-full&sslrootcert={certificates.ca_file}")
    assert checks["tls"]["outcome"] == "failed"
    assert told in checks["tls"]["hint"]
    assert checks["connection"]["outcome"] == "failed"


def test_a_certificate_that_has_ended(tls_shim: Callable[[TlsVariant], TlsShim]) -> None:
    shim = tls_shim(TlsVariant.EXPIRED)
    dsn = f"postgresql://scram_plain@localhost:{shim.port}/postgres"
    checks = facts(dsn, env={"PGPASSWORD": "correct horse"})
    assert checks["tls"]["outcome"] == "warning"
    assert checks["tls"]["facts"]["days_left"] < 0
    assert checks["connection"]["outcome"] == "ok"


@pytest.mark.parametrize(
    ("role", "method"),
    [
        ("scram_plain", "SCRAM-SHA-256"),
        ("md5_plain", "an MD5 hash of the password"),
        ("cleartext_plain", "the password in clear text"),
    ],
)
def test_what_the_server_asks_for(role: str, method: str, password_server: embedded.Server) -> None:
    place = f"{password_server.host}:{password_server.port}/postgres"
    checks = facts(f"postgresql://{role}:{quote('correct horse')}@{place}")
    assert method in checks["authentication"]["facts"]["method"]
    assert checks["connection"]["outcome"] == "ok"
    checks = facts(f"postgresql://{role}@{place}")
    assert checks["authentication"]["outcome"] == "failed"
    assert "-W" in checks["authentication"]["hint"]
    checks = facts(f"postgresql://{role}:wrong@{place}")
    assert checks["connection"]["outcome"] == "failed"
    assert "-W" in checks["connection"]["hint"]


def test_a_password_is_asked_for(password_server: embedded.Server) -> None:
    dsn = f"postgresql://scram_plain@{password_server.host}:{password_server.port}/postgres"
    sql = "SELECT current_user::text AS who"
    shown = run_on_terminal(dsn, "query", sql, "-W", typed="correct horse\n")
    assert shown.status == 0, shown.err
    assert "scram_plain" in shown.out
    assert "correct horse" not in shown.out + shown.err
    shown = run_on_terminal(dsn, "query", sql, "-W", typed="wrong horse\n")
    assert shown.status == 1
    assert "-W asks for the password" in shown.err
    assert "wrong horse" not in shown.out + shown.err


def test_a_standby_is_called_one() -> None:
    with start_standby(tcp=True) as server:
        checks = facts(server.dsn)
    assert checks["role"]["facts"]["is_in_recovery"] is True
    assert "standby" in checks["role"]["summary"]


@pytest.mark.skipif(pooler.program() is None, reason="PgBouncer is not installed")
@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_a_pooler_is_seen_and_every_command_works_behind_it(mode: str, dsn: str) -> None:
    with pooler.Pooler(dsn, mode) as bouncer:
        behind = urlsplit(dsn)._replace(netloc=f"postgres@127.0.0.1:{bouncer.port}").geturl()
        checks = facts(behind)
        assert checks["pooler"]["facts"] == {"is_pooled": True, "pooler": "PgBouncer"}
        assert checks["connection"]["outcome"] == "ok"
        for form in ("csv", "ndjson", "arrow", "table"):
            words = ("SELECT $1::int AS n", "5", "--format", form)
            assert run_for_bytes(behind, "query", *words)


def test_the_service_file_names_a_server(dsn: str, tmp_path: Any) -> None:
    address = urlsplit(dsn)
    file = tmp_path / "services"
    file.write_text(f"[mine]\nhost={address.hostname}\nport={address.port}\nuser=postgres\n")
    env = {"PGSERVICEFILE": str(file), "PGDATABASE": "postgres"}
    done = run(None, "query", "SELECT 1 AS one", "--service", "mine", env=env)
    assert done.stdout == "one\n1\n", done.stderr
    assert "PGSERVICE" not in environment(None)
