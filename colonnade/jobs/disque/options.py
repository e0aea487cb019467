"""The options of a client, checked, and the addresses of its nodes."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from colonnade._words.arguments import check_count, check_seconds, check_text
from colonnade._words.shown import class_name, shown

#: "host:port", several of them separated by commas, or an iterable of them.
Nodes: TypeAlias = str | Iterable[str]

DEFAULT_PORT = 7711
_PORT_MOST = 65535


def addresses(nodes: Nodes) -> tuple[str, ...]:
    """Return the nodes as "host:port" each. Raises ValueError where there is none."""
    parts: object = nodes.split(",") if isinstance(nodes, str) else nodes
    if not isinstance(parts, Iterable):
        msg = f'nodes must be "host:port", or several of them, not {class_name(nodes)}'
        raise TypeError(msg)
    found = tuple(dict.fromkeys(_address(part) for part in parts))
    if not found:
        msg = "a client needs at least one node"
        raise ValueError(msg)
    return found


def _address(text: object) -> str:
    if not isinstance(text, str):
        msg = f'a node must be "host:port", not {class_name(text)}'
        raise TypeError(msg)
    text = text.strip().removeprefix("disque://").rstrip("/")
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    elif _is_ipv6(text):
        host, port = text, ""
    else:
        host, _, port = text.partition(":")
    number = int(port) if port.isascii() and port.isdecimal() else DEFAULT_PORT if not port else 0
    if not host or "@" in host or not 0 < number <= _PORT_MOST:
        # An address with a password is not repeated.
        is_secret = "@" in text
        seen = "one with a user; pass `password=`" if is_secret else shown(text)
        msg = f'a node must be "host:port", not {seen}'
        raise ValueError(msg)
    return joined(host, number)


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def joined(host: str, port: int) -> str:
    """Return "host:port", with brackets for an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def split(address: str) -> tuple[str, int]:
    """Return the host and the port of an address from `addresses`."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a client. Times are in seconds."""

    nodes: tuple[str, ...]
    password: str | None = field(default=None, repr=False)
    timeout: float = 10.0
    max_connections: int = 10
    origin_window: float | None = None

    def __post_init__(self) -> None:
        """Check the options."""
        if self.password is not None:
            check_text("password", self.password)
        check_seconds("timeout", self.timeout)
        check_count("max_connections", self.max_connections)
        if self.origin_window is not None:
            check_seconds("origin_window", self.origin_window)
