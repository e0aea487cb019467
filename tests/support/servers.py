"""The servers that tests talk to, and the roles of the one that asks for passwords."""

from __future__ import annotations

from dataclasses import dataclass

from colonnade import embedded


@dataclass(frozen=True)
class ServerUnderTest:
    """The addresses of the session's server.

    ``embedded`` and ``socket_dsn`` are missing when the environment names the server.
    """

    dsn: str
    socket_dsn: str | None = None
    embedded: embedded.Server | None = None


#: Every method of proving a password, with an ASCII one and with one that SCRAM has to prepare
#: (a non-breaking space becomes a space, the fraction is normalised to three characters).
PASSWORD_ROLES = (
    embedded.Role("scram_plain", "correct horse", "scram-sha-256"),
    embedded.Role("scram_words", "pässwörd\N{NO-BREAK SPACE}½ 密码", "scram-sha-256"),
    embedded.Role("md5_plain", "correct horse", "md5"),
    embedded.Role("md5_words", "pässwörd 密码", "md5"),
    embedded.Role("cleartext_plain", "correct horse", "password"),
    embedded.Role("cleartext_words", "pässwörd 密码", "password"),
)
