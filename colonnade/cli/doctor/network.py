"""The connection to a host, step by step: name, socket, TLS, and authentication method."""

from __future__ import annotations

import asyncio
import datetime as dt
import ssl
import struct
import time
from typing import TYPE_CHECKING, Any

from colonnade._driver.transport.probe import NotPostgresError, Probe
from colonnade.cli.doctor.certificate import CertificateError, read_certificate
from colonnade.cli.doctor.check import Check, Outcome, failed, milliseconds, ok, warning
from colonnade.cli.failures import connection_hint

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from colonnade.cli.resolved_options import Host, ResolvedOptions

_STEP_S = 10.0
_EXPIRES_SOON_DAYS = 30
_METHODS = {
    0: "no password (trust, peer or a client certificate)",
    2: "Kerberos V5",
    3: "the password in clear text",
    5: "an MD5 hash of the password",
    6: "an SCM credential",
    7: "GSSAPI (Kerberos)",
    9: "SSPI",
}
_SASL = 10
_CODE_BYTES = 4
_NOT_POSTGRES = "the server at this address is not PostgreSQL"
_NO_TLS_HINT = "TLS is off on the server; sslmode=prefer or sslmode=disable connects without TLS"


async def host_checks(host: Host, target: ResolvedOptions) -> AsyncIterator[Check]:
    """Yield the check of each step, and stop after the first failure."""
    if not isinstance(host.place, str):
        check = await _name(host)
        yield check
        if check.outcome is Outcome.FAILED:
            return
    check, probe = await _socket(host)
    yield check
    if probe is None:
        return
    try:
        check = await _tls(host, probe, target)
        yield check
        if check.outcome is not Outcome.FAILED:
            yield await _authentication(host, probe, target)
    finally:
        await probe.close()


async def _name(host: Host) -> Check:
    start = time.perf_counter()
    try:
        async with asyncio.timeout(_STEP_S):
            found = await asyncio.get_running_loop().getaddrinfo(host.connect_to, host.place[1])
    except OSError as error:
        return failed("name", f"{host.connect_to}: {error}", connection_hint(host.name, error))
    addresses = sorted({str(entry[4][0]) for entry in found})
    took = milliseconds(time.perf_counter() - start)
    return ok("name", f"{host.connect_to} is {', '.join(addresses)} ({took})", addresses=addresses)


async def _socket(host: Host) -> tuple[Check, Probe | None]:
    start = time.perf_counter()
    place = host.place if isinstance(host.place, str) else (host.connect_to, host.place[1])
    try:
        async with asyncio.timeout(_STEP_S):
            context = host.context if host.is_direct else None
            probe = await Probe.open(place, context=context, server_hostname=host.server_hostname)
    except ssl.SSLError as error:
        return _tls_failed(error), None
    except OSError as error:
        said = "no answer" if isinstance(error, TimeoutError) else str(error)
        return failed("socket", f"{host.name}: {said}", connection_hint(host.name, error)), None
    seconds = time.perf_counter() - start
    summary = f"{host.name} answers ({milliseconds(seconds)})"
    return ok("socket", summary, seconds=seconds), probe


async def _tls(host: Host, probe: Probe, target: ResolvedOptions) -> Check:
    is_required = target.sslmode in {"require", "verify-ca", "verify-full"}
    if host.context is None:
        why = "not used on a Unix socket" if isinstance(host.place, str) else "not requested"
        return ok("tls", f"{why} (sslmode {target.sslmode})", in_use=False)
    try:
        async with asyncio.timeout(_STEP_S):
            if not host.is_direct:
                is_offered = await probe.asks_for_tls()
                if not is_offered and is_required:
                    return failed("tls", "the server offers no TLS", _NO_TLS_HINT, in_use=False)
                if not is_offered:
                    told = "the server offers no TLS: the connection is not encrypted"
                    hint = "sslmode=require refuses unencrypted connections"
                    return warning("tls", told, hint, in_use=False)
                await probe.start_tls(host.context, host.server_hostname)
    except NotPostgresError:
        return failed("tls", _NOT_POSTGRES, "is it the right port?", in_use=False)
    except ssl.SSLError as error:
        return _tls_failed(error)
    except OSError as error:
        return failed("tls", f"the connection broke: {error}", connection_hint(host.name, error))
    return _tls_facts(probe.tls, host.context, target)


def _tls_failed(error: ssl.SSLError) -> Check:
    reason = getattr(error, "verify_message", None) or error.reason or str(error)
    hint = "set sslrootcert to the CA's certificate file, or to system for the system's CAs"
    if "hostname" in reason.lower() or "ip address" in reason.lower():
        hint = "the certificate is for another host name: connect with that name"
    elif "expired" in reason.lower():
        hint = "the server needs a new certificate"
    elif getattr(error, "verify_message", None) is None:
        hint = "client and server could not agree on a TLS version or a certificate"
    return failed("tls", f"the handshake failed: {reason}", hint, in_use=False)


def _tls_facts(session: Any, context: ssl.SSLContext, target: ResolvedOptions) -> Check:
    """Report the TLS version and the certificate; warn if the certificate expires soon."""
    cipher = session.cipher()[0]
    is_verified = context.verify_mode == ssl.CERT_REQUIRED
    checked = "not verified"
    if is_verified:
        checked = "verified with the host's name" if context.check_hostname else "verified"
    facts: dict[str, Any] = {
        "in_use": True,
        "version": session.version(),
        "cipher": cipher,
        "sslmode": target.sslmode,
        "is_verified": is_verified,
        "checks_host_name": context.check_hostname,
    }
    summary = f"{session.version()}, {cipher}"
    try:
        certificate = read_certificate(session.getpeercert(True) or b"")
    except CertificateError as error:
        return warning("tls", f"{summary}; {error}", **facts)
    left = (certificate.ends - dt.datetime.now(dt.UTC)).days
    facts |= {
        "subject": certificate.subject,
        "issuer": certificate.issuer,
        "not_before": certificate.begins.isoformat(),
        "not_after": certificate.ends.isoformat(),
        "days_left": left,
    }
    summary += (
        f"; certificate of {certificate.subject}, from {certificate.issuer}, until "
        f"{certificate.ends:%Y-%m-%d} ({left} days), {checked} (sslmode {target.sslmode})"
    )
    if left < _EXPIRES_SOON_DAYS:
        return warning("tls", summary, "the server's certificate must be renewed", **facts)
    return ok("tls", summary, **facts)


async def _authentication(host: Host, probe: Probe, target: ResolvedOptions) -> Check:
    """Send user and database, and read the server's authentication request without answering."""
    try:
        async with asyncio.timeout(_STEP_S):
            kind, content = await probe.introduce(target.user, target.database)
    except NotPostgresError:
        return failed("authentication", _NOT_POSTGRES)
    except OSError as error:
        return failed(
            "authentication", f"the connection broke: {error}", connection_hint(host.name, error)
        )
    if kind == b"E":
        told = _error_fields(content)
        return failed("authentication", told, "pg_hba.conf on the server decides who may connect")
    if kind != b"R":
        return failed("authentication", _NOT_POSTGRES)
    (code,) = struct.unpack_from("!I", content)
    asked = _METHODS.get(code, f"method {code}")
    if code == _SASL:
        methods = content[_CODE_BYTES:].decode("utf-8", "replace").split("\0")
        asked = ", ".join(filter(None, methods))
    needs_password = code in {3, 5, _SASL}
    facts = {"method": asked, "needs_password": needs_password}
    if needs_password and not target.has_password:
        hint = "no password was given: use -W, PGPASSWORD or the password file"
        return failed("authentication", f"the server asks for {asked}", hint, **facts)
    return ok("authentication", f"the server asks for {asked}", **facts)


def _error_fields(content: bytes) -> str:
    """Return the message text of the server's ErrorResponse."""
    fields = {part[:1]: part[1:].decode("utf-8", "replace") for part in content.split(b"\0")}
    return fields.get(b"M", "the server refused the connection")
