"""Which drivers are compared, and with which one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from colonnade.cli.measure import peers

if TYPE_CHECKING:
    from colonnade.cli.measure.peers import Peer

#: The peer that the ratios refer to.
BASE = "colonnade-columns"


def choose_peers(names: str | None) -> tuple[list[Peer], dict[str, str]]:
    """The peers of these names, or all, Colonnade first; and why others cannot run."""
    known = peers.discover()
    if names is not None:
        try:
            known = peers.choose(known, filter(None, names.split(",")))
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--peers") from error
    # Colonnade first: it is what the others are compared with.
    known.sort(key=lambda peer: not peer.name.startswith("colonnade"))
    skipped = {peer.name: peer.unavailable for peer in known if peer.unavailable}
    return [peer for peer in known if peer.name not in skipped], skipped
