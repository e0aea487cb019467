"""Connection options: read as libpq reads them, in its order of precedence, secrets kept."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import psycopg.conninfo
import pytest
from hypothesis import example, given, strategies as st

from colonnade import _core, sync
from colonnade._driver.connection_options import ConnectionOptions, TlsArguments, resolve
from colonnade._driver.transport.address import TcpAddress, UnixAddress
from colonnade.errors import ClientConfigurationError, InterfaceWarning


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Isolate the test from the caller's environment variables and files."""
    for name in list(os.environ):
        if name.startswith("PG"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def options(dsn: str | None = None, **words: Any) -> ConnectionOptions:
    tls = TlsArguments(words.pop("tls", None), words.pop("direct_tls", None))
    settings = words.pop("server_settings", None)
    return resolve(dsn, words, settings, tls)


def places(resolved: ConnectionOptions) -> list[str]:
    return [str(endpoint.address) for endpoint in resolved.endpoints]


# Against libpq's own parser

DSNS = [
    "postgresql://",
    "postgresql://user@/db?host=h",
    "postgres://u:p@h:1/d",
    "postgresql://u@h",
    "postgresql://u@h:5/",
    "postgresql://u@[::1]:5/d",
    "postgresql://u@[fe80::1%25eth0]/d",
    "postgresql://u@h1,h2:6,h3/d",
    "postgresql://u@h1:5,h2:6/d?target_session_attrs=any",
    "postgresql://%75ser:p%40ss%2Fw%3a@h/d%20b",
    "postgresql://u:@h/d",
    "postgresql://u@%2Ftmp/d",
    "postgresql://u@/d?host=/tmp&port=5",
    "postgresql://h/d?user=u&password=a%26b&sslmode=disable",
    "postgresql://u@h/d?application_name=a%20b&connect_timeout=3",
    "postgresql://u@h/?dbname=other",
    "postgresql://u@h/d?ssl=true",
    "host=h port=5 dbname=d user=u",
    "host = h  user =u password= p",
    "host=h user=u password='two words'",
    r"host=h user=u password='a\'b\\c'",
    r"host=h user=u password=a\ b",
    "host=h user=u password=''",
    "user=u host=h1,h2 port=1,2",
    "user=u host=h hostaddr=127.0.0.1",
    "user=u hostaddr=127.0.0.1",
    "  host=h\tuser=u\n",
    "postgresql://u@h/d?user=v%40w",
    "DATABASE_URL=postgresql://u:p@h/d",
    "url=u:p@h/d",
    "postgresql:/u:p@h/d?sslmode=require",
    "postgresql//u:p@h/d?sslmode=require",
    "u:p@h/d?sslmode=require",
    '"postgresql://u:p@h/d?sslmode=require"',
    "jdbc:postgresql://h/d?user=u&password=p",
    "psql postgresql://u:p@h/d?sslmode=require",
    "export DATABASE_URL=postgresql://u:p@h/d",
    "PGHOST=h PGPASSWORD=p",
    "pass=p host=h",
    "postgresql://u:p@h/d password=x",
    "postgresql://h/d?pass=p",
]


@pytest.mark.parametrize("dsn", DSNS)
def test_read_as_libpq_reads(dsn: str) -> None:
    try:
        theirs: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        with pytest.raises(ClientConfigurationError):
            options(dsn)
        return
    ours = options(dsn, user=None if "user" in theirs else "somebody")
    assert ours.info.user == theirs.get("user", "somebody")
    assert ours.info.database == (theirs.get("dbname") or ours.info.user)
    assert ours.info.password == (theirs.get("password") or None)
    assert ours.info.connect_timeout == (
        float(theirs["connect_timeout"]) if "connect_timeout" in theirs else None
    )
    hosts = theirs.get("host") or theirs.get("hostaddr")
    if hosts:
        ports = str(theirs.get("port", "5432")).split(",")
        ports = [port or "5432" for port in ports]
        names = hosts.split(",")
        wanted = list(zip(names, ports * len(names) if len(ports) == 1 else ports, strict=True))
        assert [
            (name or str(Path(place or "").parent), str(port))
            for name, port, place in ours.info.hosts
        ] == wanted
    if "sslmode" in theirs:
        assert ours.info.tls_words["mode"] == theirs["sslmode"]


def test_the_last_at_sign_ends_the_password() -> None:
    """Libpq uses the first one, and looks up a part of the password as a host name."""
    made = options("postgresql://u:p@ss@h/d")
    assert (made.info.password, places(made)) == ("p@ss", ["h:5432"])


@pytest.mark.parametrize(
    "dsn",
    [
        "nonsense",
        "mysql://h",
        "host",
        "=h",
        "host=h password='open",
        "host='h'x'",
        "postgresql://h:port/",
        "postgresql://[::1/",
        "postgresql://[::1]x/",
        "postgresql://u@h/%",
        "postgresql://u@h/%zz",
        "postgresql://u@h/%00",
        "postgresql://u@h/d?novalue",
        "postgresql://u@h/d?sslmod=5",
        "postgresql://u@h/d?sslmode=on",
        "postgresql://u@h1,h2/d?port=1,2,3",
    ],
)
def test_refused_with_a_reason(dsn: str) -> None:
    with pytest.raises(ClientConfigurationError) as caught:
        options(dsn, user="u")
    assert len(str(caught.value)) > 20


def test_given_but_empty_is_the_default() -> None:
    assert options("user=u host=").info.hosts_are_default
    assert options("postgresql://u@h/d?sslmode=").info.tls_words["mode"] == "prefer"


@pytest.mark.parametrize(
    "dsn",
    ["host=h password='sesame", "postgresql://u:sesame%@h", "postgresql://u:sesame/x@h:1:2/"],
)
def test_secrets_are_not_in_messages(dsn: str) -> None:
    with pytest.raises(ClientConfigurationError) as caught:
        options(dsn, user="u")
    assert "sesame" not in str(caught.value)


def test_secrets_are_not_shown() -> None:
    made = options("postgresql://u:sesame@h/d?sslpassword=sesame")
    for shown in (repr(made), repr(made.info), str(made.tls)):
        assert "sesame" not in shown


# fmt: off
PIECES = (
    "postgresql://", "sesame", ":", "@", "/", "?", "&", "=", "%", "%41", "[", "]", ",", "::1", " ",
    "host", "port=1", "sslmode=", "user", "'", "\\", "\0", "é", "#", "5432",
)
# fmt: on


@given(st.lists(st.sampled_from(PIECES), max_size=12))
@example(["postgresql://", "sesame"])
def test_whatever_a_dsn_holds_it_is_read_or_refused(pieces: list[str]) -> None:
    with contextlib.suppress(ClientConfigurationError):
        made = options("".join(pieces), password="of the caller")
        assert made.endpoints
        assert "of the caller" not in repr(made)


# The same mistakes in two parsers

MISTAKES = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from(["", " ", "=", "/", "@", ":", "?", "&", "'", "x=", "url=", "psql "]),
    ),
    min_size=1,
    max_size=2,
)
FORMS = [
    ["postgresql://", "app:sesame", "@db.example", "/prod?sslmode=require"],
    ["", "user=app password=sesame", " host=db.example", " dbname=prod"],
]


@given(st.sampled_from(FORMS), MISTAKES)
@example(FORMS[0], [(0, " ")])
@example(FORMS[0], [(0, "DATABASE_URL=")])
@example(FORMS[0], [(3, "@")])
def test_no_password_goes_to_a_host_that_libpq_does_not_read(
    form: list[str], mistakes: list[tuple[int, str]]
) -> None:
    """Where libpq refuses a text, it is refused, or means the host that the text names."""
    parts = form.copy()
    for index, piece in mistakes:
        parts[index] = piece + parts[index]
    dsn = "".join(parts)
    try:
        theirs: dict[str, Any] | None = psycopg.conninfo.conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        theirs = None
    refusal, ours = "", None
    try:
        ours = options(dsn, user="somebody")
    except ClientConfigurationError as error:
        refusal = str(error)
    assert "sesame" not in refusal
    if ours is None:
        return
    hosts = {str(name or place) for name, _, place in ours.info.hosts}
    shown = repr([hosts, ours.info.database, ours.info.server_settings, ours.info.user])
    if ours.info.hosts_are_default:
        assert "sesame" not in shown
    if "sesame" not in (ours.info.password or ""):
        return
    if theirs is None or theirs.get("password") != ours.info.password:
        # A mistake within the host's name makes another host, but one that the text names.
        assert all(host in dsn and "sesame" not in host for host in hosts)
    else:
        assert ours.info.hosts_are_default is ("host" not in theirs)
        assert "sesame" not in repr(hosts)


# Precedence


def test_argument_dsn_service_environment_default(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = environment / ".pg_service.conf"
    services.write_text("[s]\nuser=service\ndbname=service\nport=4\n")
    monkeypatch.setenv("PGUSER", "environment")
    monkeypatch.setenv("PGPORT", "3")
    monkeypatch.setenv("PGHOST", "environment")
    made = options("postgresql:///dsn?service=s", user="argument")
    assert made.info.user == "argument"
    assert made.info.database == "dsn"
    assert places(made) == ["environment:4"]
    made = options("service=s")
    assert (made.info.user, made.info.database) == ("service", "service")
    assert options().info.user == "environment"


def test_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("colonnade._driver.connection_options.getpass.getuser", lambda: "me")
    made = options()
    assert (made.info.user, made.info.database) == ("me", "me")
    assert made.target_session_attrs == "any"
    assert made.connect_timeout is None
    assert places(made)[-1] == "localhost:5432"
    assert made.info.hosts_are_default


def test_an_account_without_a_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> str:
        raise KeyError("uid")

    monkeypatch.setattr("colonnade._driver.connection_options.getpass.getuser", unknown)
    with pytest.raises(ClientConfigurationError, match="user"):
        options("postgresql://h/d")


def test_lists_of_hosts() -> None:
    assert places(options(user="u", host=["a", "/run"], port=[1, 2])) == ["a:1", "/run/.s.PGSQL.2"]
    assert places(options(user="u", host="a,b", port=7)) == ["a:7", "b:7"]
    made = options(user="u", host="::1", port="7")
    assert places(made) == ["[::1]:7"]
    assert isinstance(made.endpoints[0].address, TcpAddress)
    made = options("host=/run user=u")
    assert isinstance(made.endpoints[0].address, UnixAddress)


def test_an_address_beside_a_name() -> None:
    (endpoint,) = options("user=u host=db.example hostaddr=127.0.0.1").endpoints
    assert isinstance(endpoint.address, TcpAddress)
    assert endpoint.address.target == ("127.0.0.1", 5432)
    assert endpoint.address.host == "db.example"


def test_hosts_in_any_order() -> None:
    dsn = f"user=u load_balance_hosts=random host={','.join(f'h{i}' for i in range(20))}"
    orders = {tuple(places(options(dsn))) for _ in range(5)}
    assert len(orders) > 1
    assert len({frozenset(order) for order in orders}) == 1


# Files


def test_the_password_file(environment: Path) -> None:
    file = environment / ".pgpass"
    lines = [
        "# a comment",
        "",
        r"h\:1:*:*:*:never",
        "h:5432:d:u:first",
        r"*:*:*:u:with\:colon and \\",
        "/run:*:*:*:never",
        "localhost:*:*:*:socket",
    ]
    file.write_text("\n".join(lines))
    file.chmod(0o600)
    assert options("postgresql://u@h/d").endpoints[0].password == "first"
    assert options("postgresql://u@h2/d").endpoints[0].password == "with:colon and \\"
    assert options("postgresql://v@h/d").endpoints[0].password is None
    assert options("postgresql://u:own@h/d").endpoints[0].password == "own"
    hosts = options("postgresql://u@h,h2/d").endpoints
    assert [host.password for host in hosts] == ["first", "with:colon and \\"]


def test_a_password_file_that_cannot_be_trusted(environment: Path) -> None:
    file = environment / "passwords"
    file.write_text("*:*:*:*:x")
    file.chmod(0o604)
    with pytest.warns(InterfaceWarning, match="has group or world access"):
        assert options("postgresql://u@h/d", passfile=file).endpoints[0].password is None
    with pytest.warns(InterfaceWarning, match="not a plain file"):
        assert options("postgresql://u@h/d", passfile=environment).endpoints[0].password is None
    with pytest.warns(InterfaceWarning) as told, pytest.raises(OSError, match="connect"):
        sync.connect("postgresql://u@127.0.0.1:1/d", passfile=file)
    assert told[0].filename == __file__
    missing = environment / "missing"
    assert options("postgresql://u@h/d", passfile=missing).endpoints[0].password is None


def test_service_files(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = environment / "services"
    file.write_text("[a]\nhost=a\nusre=5\n")
    with pytest.raises(ClientConfigurationError, match=r"services.*usre"):
        options("service=a user=u", servicefile=file)
    missing = environment / "missing"
    with pytest.raises(ClientConfigurationError, match=f"there is no file {missing}"):
        options("service=a user=u", servicefile=missing)
    file.write_text("\ufeff[a]\nhost=a\n")
    assert places(options("service=a user=u", servicefile=file)) == ["a:5432"]
    file.write_text("[a]\npostgresql://u:sesame@h/d?sslmode=require\n")
    with pytest.raises(ClientConfigurationError, match="services") as caught:
        options("service=a user=u", servicefile=file)
    assert "sesame" not in str(caught.value)
    file.write_text("[a]\nhost a\n")
    with pytest.raises(ClientConfigurationError, match=r"services.*2"):
        options("service=a user=u", servicefile=file)
    monkeypatch.setenv("PGSYSCONFDIR", str(environment))
    (environment / "pg_service.conf").write_text("[b]\nhost=b\n")
    assert places(options("service=b user=u")) == ["b:5432"]


def test_a_file_that_cannot_be_read(environment: Path) -> None:
    with pytest.raises(ClientConfigurationError, match="cannot read"):
        options("service=a user=u", servicefile=environment)


# Settings


def test_server_settings() -> None:
    made = options("postgresql://u@h/d?search_path=a&our.name=b", server_settings={"jit": "off"})
    assert isinstance(made.info, _core.ConnInfo)
    assert ("searchpath", "a") in options("postgresql://u@h/d?searchpath=a").info.server_settings


@pytest.mark.parametrize(
    "word",
    [
        "gssencmode=require",
        "requirepeer=postgres",
        "client_encoding=latin1",
        "sslcertmode=require",
    ],
)
def test_what_is_not_there_is_refused(word: str) -> None:
    with pytest.raises(ClientConfigurationError, match=word.partition("=")[0]):
        options(f"user=u host=h {word}")
