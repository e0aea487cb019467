"""The configuration written into a data directory before its server starts."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from colonnade._words.shown import shown
from colonnade.embedded._errors import EmbeddedServerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from colonnade.embedded._account import Account
    from colonnade.embedded._binaries import Binaries

AuthMethod = Literal["scram-sha-256", "md5", "password", "trust"]

# Below this, parallel queries of ordinary size run out of shared memory; the data directory
# takes their segments instead. Containers have 64 MB by default.
_SHARED_MEMORY_BYTES_MIN = 128 * 1024 * 1024
_SETTING_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?")

# A throw-away server need not survive a power cut, and must not depend on the machine's time zone
# or language.
_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "128MB",
    "logging_collector": "off",
    "log_destination": "stderr",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
}


@dataclass(frozen=True)
class Role:
    """A login role to create before the server starts, and its authentication method.

    ``method`` is that of pg_hba.conf; with "password" the server asks for the password in clear
    text. The role gets its own lines, for the socket and for TCP.
    """

    name: str
    password: str | None = None
    method: AuthMethod = "scram-sha-256"
    superuser: bool = False

    def __repr__(self) -> str:
        """Show everything but the password."""
        return f"Role({self.name!r}, method={self.method!r}, superuser={self.superuser!r})"

    def statements(self) -> list[str]:
        """Return the SQL that creates this role."""
        encryption = "md5" if self.method == "md5" else "scram-sha-256"
        power = "SUPERUSER" if self.superuser else "NOSUPERUSER"
        secret = "NULL" if self.password is None else _literal(self.password)
        return [
            f"SET password_encryption = '{encryption}'",
            f"CREATE ROLE {_identifier(self.name)} LOGIN {power} PASSWORD {secret}",
        ]

    def hba_lines(self) -> list[str]:
        """Return the lines of pg_hba.conf that ask this role for its password."""
        name = _identifier(self.name)
        return [f"local all {name} {self.method}", f"host all {name} all {self.method}"]


def write_settings(data: Path, settings: Mapping[str, str]) -> None:
    """Append the defaults and then `settings` to postgresql.conf, where the last value counts.

    A file rather than the command line, so that ALTER SYSTEM and a reload can change them.
    """
    chosen = {**_SETTINGS, **_shared_memory(), **settings}
    lines = [f"{_setting_name(name)} = {_conf_literal(value)}" for name, value in chosen.items()]
    with (data / "postgresql.conf").open("a", encoding="utf-8") as file:
        file.write("\n".join(("", *lines, "")))


def write_hba(data: Path, hba: Iterable[str], roles: Iterable[Role]) -> None:
    """Put the given lines, then those of the roles, first in pg_hba.conf: the first match holds."""
    path = data / "pg_hba.conf"
    lines = [*hba, *(line for role in roles for line in role.hba_lines())]
    if lines:
        # initdb trusts 127.0.0.1 and ::1, and by default the server listens on these only.
        path.write_text("\n".join(lines) + "\n" + path.read_text("utf-8"), "utf-8")


def create_roles(data: Path, roles: Sequence[Role], binaries: Binaries, account: Account) -> None:
    """Create roles in PostgreSQL's single-user mode, which needs no client."""
    if not roles:
        return
    command = [str(binaries.postgres), "--single", "-j", "-c", "exit_on_error=true"]
    command += ["-D", str(data), "postgres"]
    # -j: a statement ends at a semicolon before an empty line.
    script = "".join(f"{sql};\n\n" for role in roles for sql in role.statements())
    code, output = account.run(command, data.parent, script)
    if code != 0:
        names = ", ".join(role.name for role in roles)
        raise EmbeddedServerError(f"The roles {names} could not be created: {_only_errors(output)}")


def _only_errors(output: str) -> str:
    # The output may repeat statements, and with them passwords.
    found = [line for line in output.splitlines() if "ERROR:" in line or "FATAL:" in line]
    return "\n".join(found) or "the server gave no reason"


def _shared_memory() -> dict[str, str]:
    try:
        found = os.statvfs("/dev/shm")  # noqa: S108
    except OSError:
        # Without it Linux cannot create POSIX segments; macOS never has it and needs none.
        return {"dynamic_shared_memory_type": "mmap"} if Path("/proc/self").is_dir() else {}
    if found.f_frsize * found.f_blocks < _SHARED_MEMORY_BYTES_MIN:
        return {"dynamic_shared_memory_type": "mmap"}
    return {}


def _setting_name(name: object) -> str:
    if not isinstance(name, str) or not _SETTING_NAME.fullmatch(name):
        raise EmbeddedServerError(f"{shown(name)} is not the name of a PostgreSQL setting")
    return name


def _conf_literal(value: object) -> str:
    if not isinstance(value, str):
        raise EmbeddedServerError(f"the value of a setting must be a str, not {shown(value)}")
    if "\n" in value or "\0" in value:
        raise EmbeddedServerError(f"a setting cannot hold a line break or a NUL: {value!r}")
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def _literal(text: str) -> str:
    # U& strings could hold line breaks, but an empty line would still end the statement.
    if "\n" in text or "\0" in text:
        raise EmbeddedServerError("a password cannot hold a line break or a NUL here")
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return f"E'{escaped}'"


def _identifier(name: str) -> str:
    if "\n" in name or "\0" in name:
        raise EmbeddedServerError("the name of a role cannot hold a line break or a NUL here")
    return '"' + name.replace('"', '""') + '"'
