"""A Kerberos realm for tests: a key distribution centre, a service and a user with a ticket.

It needs MIT's `krb5kdc`, `kdb5_util`, `kadmin.local` and `kinit`, and ignores the machine's
configuration.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path

REALM = "TESTS.EXAMPLE"
USER = "ada"
_PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit")
_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
_START_SECONDS_MAX = 10.0

_CLIENT = """
[libdefaults]
    default_realm = {realm}
    dns_lookup_kdc = false
    dns_lookup_realm = false
    dns_canonicalize_hostname = false
    rdns = false
[realms]
    {realm} = {{
        kdc = 127.0.0.1:{port}
    }}
"""
_CENTRE = """
[kdcdefaults]
    kdc_listen = 127.0.0.1:{port}
    kdc_tcp_listen = 127.0.0.1:{port}
[realms]
    {realm} = {{
        database_name = {folder}/principal
        key_stash_file = {folder}/stash
        acl_file = {folder}/acl
    }}
"""


def is_there() -> bool:
    """Whether the programs of a key distribution centre are installed."""
    return all(shutil.which(name, path=_PATH) for name in _PROGRAMS)


class Realm:
    """A key distribution centre on 127.0.0.1; a context manager."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        words = {"realm": REALM, "port": port, "folder": folder}
        (folder / "krb5.conf").write_text(_CLIENT.format(**words))
        (folder / "kdc.conf").write_text(_CENTRE.format(**words))
        self.keytab = folder / "server.keytab"
        self.environment = {
            "KRB5_CONFIG": str(folder / "krb5.conf"),
            "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
            "KRB5CCNAME": f"FILE:{folder / 'tickets'}",
        }
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        self._ask(f"addprinc -pw secret {USER}")
        for service in ("postgres/localhost", "other/localhost"):
            self._ask(f"addprinc -randkey {service}")
            self._ask(f"ktadd -k {self.keytab} {service}")
        self._centre = subprocess.Popen(
            [self._program("krb5kdc"), "-n"],
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait(port)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._centre.terminate()
        self._centre.wait()

    def log_in(self) -> None:
        """Get the user a ticket."""
        self._run("kinit", USER, said="secret\n")

    def log_out(self) -> None:
        """Destroy the user's tickets."""
        (self._folder / "tickets").unlink(missing_ok=True)

    def _wait(self, port: int) -> None:
        give_up = time.monotonic() + _START_SECONDS_MAX
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
            except OSError:
                if time.monotonic() > give_up or self._centre.poll() is not None:
                    raise
                time.sleep(0.01)
            else:
                return

    def _ask(self, query: str) -> None:
        self._run("kadmin.local", "-r", REALM, "-q", query)

    def _program(self, name: str) -> str:
        found = shutil.which(name, path=_PATH)
        assert found is not None
        return found

    def _run(self, name: str, *arguments: str, said: str = "") -> None:
        done = subprocess.run(
            [self._program(name), *arguments],
            input=said,
            text=True,
            env={**os.environ, **self.environment},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
