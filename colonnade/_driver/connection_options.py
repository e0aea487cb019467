"""Resolution of connection options from arguments, DSN, files and environment variables."""

from __future__ import annotations

import codecs
import getpass
import os
import ssl
import stat
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from colonnade import _core
from colonnade._driver.transport.address import Address, TcpAddress, UnixAddress
from colonnade._driver.transport.tls import SslMode, TlsOptions, TlsPolicy
from colonnade._driver.transport.tls_context import tls_policy
from colonnade._words.arguments import HALF, is_whole
from colonnade._words.caller_warnings import warn_caller
from colonnade._words.shown import class_name
from colonnade.errors import ClientConfigurationError, ConfigurationTypeError, InterfaceWarning

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    Password = str | Callable[[], str | Awaitable[str | None] | None]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One server address to try, and the password for it."""

    address: Address
    password: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class ConnectionParameters:
    """The parameters of a connection, for monitoring tools.

    The password is an attribute, but no `repr` shows it.
    """

    user: str
    database: str
    password: Password | None = field(default=None, repr=False)
    ssl: ssl.SSLContext | None = None
    """None if the connection was made without TLS."""
    sslmode: SslMode | None = None
    ssl_negotiation: str = "postgres"
    server_settings: Mapping[str, str] = field(default_factory=dict)
    target_session_attrs: str = "any"
    krbsrvname: str = "postgres"
    gsslib: str | None = None


class TlsArguments(NamedTuple):
    """The TLS arguments of `connect`."""

    ssl: ssl.SSLContext | bool | str | None = None
    direct_tls: bool | None = None

    def words(self) -> list[tuple[str, str]]:
        """Return them as libpq's keywords, to be checked against those of the DSN."""
        words = []
        if isinstance(self.ssl, str):
            words.append(("sslmode", self.ssl))
        elif self.ssl is False:
            words += [("sslmode", "disable"), ("sslnegotiation", ""), ("sslrootcert", "")]
        elif self.ssl is not None:
            # The context decides what to verify; no keyword may contradict it.
            words.append(("sslmode", "verify-full"))
        if self.direct_tls is not None:
            words.append(("sslnegotiation", "direct" if self.direct_tls else "postgres"))
        return words


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """The resolved options of `connect`."""

    info: _core.ConnInfo
    endpoints: tuple[Endpoint, ...]
    tls: TlsPolicy
    target_session_attrs: str
    connect_timeout: float | None
    """Seconds for each host; None means no limit."""

    def __repr__(self) -> str:
        """The user, database and addresses, without passwords."""
        places = ", ".join(str(endpoint.address) for endpoint in self.endpoints)
        return f"<ConnectionOptions {self.info.user}/{self.info.database} at {places}>"

    def parameters(self, password: Password | None, tls: TlsPolicy) -> ConnectionParameters:
        """Return the parameters of a connection that uses this password and TLS policy."""
        info = self.info
        return ConnectionParameters(
            user=info.user,
            database=info.database,
            password=password,
            ssl=tls.context,
            sslmode=tls.mode,
            ssl_negotiation=tls.negotiation,
            server_settings=dict(info.server_settings),
            target_session_attrs=info.target_session_attrs,
            krbsrvname=info.krbsrvname,
            gsslib=info.gsslib,
        )

    @staticmethod
    def password_bytes(password: str | None) -> bytes | None:
        """A password as the server gets it; bytes that are not UTF-8 go as they were given.

        Raises ClientConfigurationError for half of a surrogate pair, which no encoding has.
        """
        try:
            return None if password is None else password.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            # The error has the text.
            msg = f"password has {HALF}"
            raise ClientConfigurationError(msg) from None


def resolve(
    dsn: str | None,
    words: Mapping[str, object],
    server_settings: Mapping[str, str] | None,
    tls: TlsArguments,
) -> ConnectionOptions:
    """Resolve the options; `words` are libpq's keywords, with None for those not given.

    Raises ClientConfigurationError, which names the option and the values that it accepts.
    """
    if dsn is not None and not isinstance(dsn, str):
        raise ConfigurationTypeError(f"dsn must be a str, not {class_name(dsn)}")
    arguments = _arguments(words) + tls.words()
    settings = _settings(server_settings)
    try:
        info = _core.ConnInfo.resolve(
            dsn, arguments, settings, dict(os.environ), _user_name(), _home(), _read_file
        )
    except UnicodeEncodeError:
        # The error has the text, which may be a password.
        place = _halved([("dsn", dsn or ""), *arguments, *settings, *os.environ.items()])
        raise ClientConfigurationError(f"{place} has {HALF}") from None
    endpoints = _endpoints(info)
    if info.load_balance_hosts == "random":
        import random

        random.shuffle(endpoints)
    policy = tls_policy(tls.ssl, _tls_options(info, endpoints))
    return ConnectionOptions(
        info,
        tuple(endpoints),
        policy,
        info.target_session_attrs,
        # As in libpq, 0 means no limit.
        info.connect_timeout or None,
    )


def _halved(texts: list[tuple[str, str]]) -> str:
    """The name of the text that has half of a surrogate pair."""
    return next((name for name, text in texts if not is_whole(name + text)), "an option")


def _arguments(words: Mapping[str, object]) -> list[tuple[str, str]]:
    arguments = []
    for name, value in words.items():
        if value is None:
            continue
        if name in {"host", "port"}:
            arguments.append((name, _listed(name, value)))
        elif isinstance(value, str | os.PathLike):
            arguments.append((name, os.fsdecode(value)))
        else:
            option = "database" if name == "dbname" else name
            msg = f"{option} must be a str, not {class_name(value)}"
            raise ConfigurationTypeError(msg)
    return arguments


def _listed(name: str, value: object) -> str:
    values = value if isinstance(value, list | tuple) else [value]
    kinds = (str, int) if name == "port" else (str,)
    for one in values:
        if isinstance(one, bool) or not isinstance(one, kinds):
            msg = f"{name} must be a value or a list of values, not {class_name(one)}"
            raise ConfigurationTypeError(msg)
    return ",".join(map(str, values))


def _settings(settings: Mapping[str, str] | None) -> list[tuple[str, str]]:
    if settings is None:
        return []
    pairs: list[Any] = list(settings.items()) if hasattr(settings, "items") else [None]
    for pair in pairs:
        if pair is None or not all(isinstance(part, str) for part in pair):
            msg = "server_settings is expected to be None or a Dict[str, str]"
            raise ConfigurationTypeError(msg)
    return pairs


def _user_name() -> str | None:
    # A process may run as a user without a name: KeyError until Python 3.12, OSError since.
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None


def _home() -> str | None:
    if sys.platform == "win32":
        return os.environ.get("APPDATA")
    try:
        return str(Path.home())
    except RuntimeError:
        return None


def _read_file(name: str) -> str | None:
    try:
        # With or without the byte order mark that some editors write.
        return Path(name).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        msg = f"cannot read {name}: {error}"
        raise ClientConfigurationError(msg) from error


def _endpoints(info: _core.ConnInfo) -> list[Endpoint]:
    password = info.password or _password_of_other_bytes()
    passfile = None if password or info.passfile is None else _passfile_text(Path(info.passfile))
    endpoints = []
    for index, (host, port, place) in enumerate(info.hosts):
        address: Address
        if host is None:
            address = UnixAddress(place or "")
        else:
            address = TcpAddress(host, port, connect_to=place)
        found = info.password_from(passfile, index) if passfile else None
        text = None if found is None else found.decode("utf-8", "surrogateescape")
        endpoints.append(Endpoint(address, password or text))
    if info.hosts_are_default:
        # Skip default socket paths that do not exist; the last default is TCP.
        return [
            endpoint
            for endpoint in endpoints
            if isinstance(endpoint.address, TcpAddress) or Path(endpoint.address.path).exists()
        ]
    return endpoints


def _password_of_other_bytes() -> str | None:
    """The environment's password if it is not UTF-8; otherwise the core has it."""
    given = os.environ.get("PGPASSWORD", "")
    return None if is_whole(given) else given


def _passfile_text(path: Path) -> bytes | None:
    """Return the password file's text; None if it does not exist or others can read it."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            _warn(f"password file {str(path)!r} is not a plain file and is ignored")
            return None
        if sys.platform != "win32" and status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            _warn(
                f"password file {str(path)!r} has group or world access and is ignored; "
                f"its permissions should be u=rw (0600) or less"
            )
            return None
        return path.read_bytes().removeprefix(codecs.BOM_UTF8)
    except OSError:
        return None


def _warn(text: str) -> None:
    warn_caller(InterfaceWarning(text))


def _tls_options(info: _core.ConnInfo, endpoints: Sequence[Endpoint]) -> TlsOptions:
    """The options of TLS; without TLS if no endpoint can use it, as in libpq.

    The environment may ask for TLS with servers elsewhere, and name certificates that are missing.
    """
    if endpoints and all(isinstance(endpoint.address, UnixAddress) for endpoint in endpoints):
        return TlsOptions(mode=SslMode.DISABLE)
    words = info.tls_words
    options: dict[str, Any] = {**words, "mode": SslMode(words["mode"])}
    return TlsOptions(**options)
