"""The policy of TLS options, with its `ssl.SSLContext`: files, libpq's usual files, versions."""

from __future__ import annotations

import os
import ssl
import stat
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade._driver.transport.tls import ALPN, SYSTEM_ROOTS, SslMode, TlsPolicy
from colonnade._words.caller_warnings import warn_caller
from colonnade._words.shown import shown_path
from colonnade.errors import ClientConfigurationError, ConfigurationTypeError, InterfaceWarning

if TYPE_CHECKING:
    from colonnade._driver.transport.tls import TlsOptions


def tls_policy(argument: ssl.SSLContext | bool | str | None, options: TlsOptions) -> TlsPolicy:
    """The policy for ``connect(ssl=argument)`` with the options of DSN and environment.

    The argument takes precedence: a mode by name, False for ``disable``, True for TLS with the
    platform's trusted certificates and a checked host name, a context for TLS with exactly that.
    """
    if isinstance(argument, ssl.SSLContext):
        return _checked(
            TlsPolicy(SslMode.REQUIRE, argument, options.negotiation, options.sends_server_name)
        )
    if argument is True:
        options = options._replace(
            mode=SslMode.VERIFY_FULL,
            root_certificate=options.root_certificate or SYSTEM_ROOTS,
        )
    elif argument is False:
        options = options._replace(mode=SslMode.DISABLE, negotiation="postgres")
    elif argument is not None:
        options = options._replace(mode=_mode(argument))
    if options.mode is SslMode.DISABLE:
        return _checked(TlsPolicy(SslMode.DISABLE, None, options.negotiation))
    # Impossible combinations are reported before any file is searched for.
    _checked(TlsPolicy(options.mode, None, options.negotiation))
    return TlsPolicy(
        options.mode, _context(options), options.negotiation, options.sends_server_name
    )


def _mode(word: object) -> SslMode:
    # Not by a look-up in the enum, whose error calls the object's repr.
    for mode in SslMode:
        if isinstance(word, str) and word == mode.value:
            return mode
    words = ", ".join(mode.value for mode in SslMode)
    refusal = ClientConfigurationError if isinstance(word, str) else ConfigurationTypeError
    raise refusal(f"ssl must be True, False, an ssl.SSLContext or one of {words}")


def _checked(policy: TlsPolicy) -> TlsPolicy:
    if policy.negotiation == "direct" and not policy.mode.is_required:
        raise ClientConfigurationError(
            f"sslnegotiation=direct needs sslmode=require or stricter, not {policy.mode.value}",
            hint="With direct negotiation a server cannot refuse TLS.",
        )
    return policy


def _context(options: TlsOptions) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols([ALPN])
    _set_versions(context, options)
    if _load_roots(context, options):
        context.verify_mode = ssl.CERT_REQUIRED
        context.check_hostname = options.mode is SslMode.VERIFY_FULL
        _load_revocation_list(context, options)
    _load_client_certificate(context, options)
    key_log = os.environ.get("SSLKEYLOGFILE")
    if key_log and not sys.flags.ignore_environment:
        context.keylog_filename = key_log
    return context


def _default_file(name: str) -> Path | None:
    """A file in libpq's own folder in the user's home, if it exists."""
    try:
        if sys.platform == "win32":
            folder = Path(os.environ["APPDATA"]) / "postgresql"
        else:
            folder = Path.home() / ".postgresql"
        path = folder / name
        return path if path.exists() else None
    except (KeyError, OSError, RuntimeError):
        # No home, or one that cannot be read: then there is no such file.
        return None


def _load_roots(context: ssl.SSLContext, options: TlsOptions) -> bool:
    """Load the certificates to verify against; False if the mode does not verify."""
    named = options.root_certificate
    if named == SYSTEM_ROOTS:
        if options.mode is not SslMode.VERIFY_FULL:
            raise ClientConfigurationError(
                f"sslrootcert=system needs sslmode=verify-full, not {options.mode.value}",
                hint="A public authority issues certificates to anyone, for their own host names.",
            )
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
        return True
    if named:
        path: Path | None = Path(named)
    else:
        path = _default_file("root.crt") if options.mode.is_required else None
    if path is None:
        if options.mode.is_verified:
            raise ClientConfigurationError(
                f"sslmode={options.mode.value} needs root certificates, and there is no "
                "root.crt in ~/.postgresql",
                hint="Give sslrootcert=<file>, or sslrootcert=system for the certificates that "
                "the operating system trusts.",
            )
        return False
    try:
        context.load_verify_locations(cafile=path)
    except OSError as error:  # ssl.SSLError is one
        raise _unusable("root certificates", path, error) from error
    return True


def _load_revocation_list(context: ssl.SSLContext, options: TlsOptions) -> None:
    directory = options.revocation_directory
    path = Path(options.revocation_list) if options.revocation_list else None
    if path is None and not directory:
        path = _default_file("root.crl")
    if path is not None:
        try:
            context.load_verify_locations(cafile=path)
        except OSError as error:
            raise _unusable("certificate revocation list", path, error) from error
    if directory:
        # OpenSSL reads it during handshakes, and treats a missing one as empty.
        if not Path(directory).is_dir():
            msg = f"sslcrldir is not a directory: {shown_path(Path(directory))}"
            raise ClientConfigurationError(msg)
        context.load_verify_locations(capath=directory)
    if path is not None or directory:
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_CHAIN


def _load_client_certificate(context: ssl.SSLContext, options: TlsOptions) -> None:
    named = options.certificate
    certificate = Path(named) if named else _default_file("postgresql.crt")
    if certificate is None:
        return
    key = Path(options.key) if options.key else _default_file("postgresql.key")
    if key is not None:
        _warn_of_open_key(key)
    password = options.key_password or ""
    try:
        # A callable, even for "no password": without one OpenSSL asks on the terminal.
        context.load_cert_chain(certificate, key, password=lambda: password)
    except ssl.SSLError as error:
        hint = None if options.key_password else "If the key is encrypted, give sslpassword."
        raise _unusable("client certificate and key", certificate, error, hint) from error
    except OSError as error:
        missing = certificate if key is None or not certificate.exists() else key
        raise _unusable("client certificate and key", missing, error) from error


def _warn_of_open_key(key: Path) -> None:
    try:
        mode = key.stat().st_mode
    except OSError:
        return  # loading it reports the error
    if sys.platform != "win32" and mode & (stat.S_IRWXO | stat.S_IWGRP | stat.S_IXGRP):
        message = f"other users can access the private key {str(key)!r}"
        warn_caller(InterfaceWarning(message, hint="Use chmod 600."))


def _unusable(
    what: str, path: Path, error: OSError, hint: str | None = None
) -> ClientConfigurationError:
    reason = error.strerror or str(error)
    msg = f"the {what} {shown_path(path)} cannot be used: {reason}"
    return ClientConfigurationError(msg, hint=hint)


_VERSIONS = {
    "tlsv1": ssl.TLSVersion.TLSv1,
    "tlsv1.1": ssl.TLSVersion.TLSv1_1,
    "tlsv1.2": ssl.TLSVersion.TLSv1_2,
    "tlsv1.3": ssl.TLSVersion.TLSv1_3,
}


def _version(option: str, word: str) -> ssl.TLSVersion:
    version = _VERSIONS.get(word.lower())
    if version is None:
        raise ClientConfigurationError(f"{option} must be TLSv1, TLSv1.1, TLSv1.2 or TLSv1.3")
    return version


def _set_versions(context: ssl.SSLContext, options: TlsOptions) -> None:
    lowest = _version("ssl_min_protocol_version", options.min_version or "TLSv1.2")
    highest = options.max_version and _version("ssl_max_protocol_version", options.max_version)
    if highest and highest < lowest:
        raise ClientConfigurationError(
            f"ssl_max_protocol_version={options.max_version} is below "
            f"ssl_min_protocol_version={options.min_version or 'TLSv1.2'}"
        )
    with warnings.catch_warnings():
        # A caller who names an old version knows that it is old.
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = lowest
        if highest:
            context.maximum_version = highest
