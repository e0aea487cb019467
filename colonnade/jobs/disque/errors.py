"""Every exception of the Disque client.

An answer of a server is a `ServerError`: of the class of its code, or of `ServerError` itself for
an unknown one. All other classes are about nodes that cannot be reached or do not answer. Every
error has `safe_to_retry`: whether the server certainly did nothing, or the command may be repeated
without harm.
"""

from __future__ import annotations


class DisqueError(Exception):
    """The base of all errors of the Disque client."""

    safe_to_retry: bool = False


class ServerError(DisqueError):
    """A server answered with an error.

    `code` is the first word of its answer, for example "NOREPL"; `command` is the name of the
    command that was sent; `node` is the "host:port" that answered.
    """

    code: str = "ERR"

    def __init__(self, text: str, *, command: str = "", node: str = "", code: str = "") -> None:
        super().__init__(text)
        self.command = command
        self.node = node
        if code:
            self.code = code


class LeavingError(ServerError):
    """LEAVING: the node leaves the cluster and gives no jobs; another node was not reached."""

    code = "LEAVING"
    safe_to_retry = True


class LoadingError(ServerError):
    """LOADING: the node has started and still reads its file."""

    code = "LOADING"
    safe_to_retry = True


class NotReplicatedError(ServerError):
    """NOREPL: fewer nodes than `replicate` took a copy in time.

    The node tries to remove the copies. It does not always succeed, so the job may run all the
    same: adding it again can make two.
    """

    code = "NOREPL"


class PausedError(ServerError):
    """PAUSED: the queue takes no jobs on this node until somebody ends the pause."""

    code = "PAUSED"
    safe_to_retry = True


class QueueFullError(ServerError):
    """MAXLEN: the queue has at least `max_length` jobs on this node; nothing was added."""

    code = "MAXLEN"
    safe_to_retry = True


class BadIdError(ServerError):
    """BADID: a text is not the id of a job. The command did nothing for any of its ids."""

    code = "BADID"


class NoJobError(ServerError):
    """NOJOB: the node does not know the job: it is done and forgotten, or was never there."""

    code = "NOJOB"


class AlreadyAckedError(ServerError):
    """ACKED: the job is done already."""

    code = "ACKED"


class TooLateError(ServerError):
    """TOOLATE: half of the job's ttl has passed, so no worker may hold it any longer."""

    code = "TOOLATE"


class OutOfMemoryError(ServerError):
    """OOM: the node has no memory left for the command."""

    code = "OOM"
    safe_to_retry = True


class AuthenticationError(ServerError):
    """NOAUTH: the node wants a password, or another one."""

    code = "NOAUTH"
    safe_to_retry = True


class UnsupportedCommandError(ServerError):
    """The server does not have the command: it is older than 1.0-rc1, or it is not Disque."""

    safe_to_retry = True


class NoNodeError(DisqueError, ConnectionError):
    """No node could be reached before the deadline. Nothing was sent."""

    safe_to_retry = True


class ConnectionLostError(DisqueError, ConnectionError):
    """The connection broke after the command was sent, and before the whole answer came.

    The command may have been carried out: an `add` may have added its job, and the jobs of a `get`
    come again after their `retry` (never, if that is 0).
    """


class CommandTimeoutError(DisqueError, TimeoutError):
    """The deadline passed. `safe_to_retry` is True if nothing had been sent by then."""

    def __init__(self, text: str, *, safe_to_retry: bool) -> None:
        super().__init__(text)
        self.safe_to_retry = safe_to_retry


class ReplyError(DisqueError):
    """An answer is not what Disque's documentation says."""


class ClosedError(DisqueError):
    """The client was closed."""

    safe_to_retry = True


class PartlyAddedError(DisqueError):
    """Some jobs of `add_many` were not added, or it is not known whether they were.

    `ids` has the id of each job that was added and None for every other one; `errors` has its
    reason there, and None for a job that was added. A reason with `safe_to_retry` belongs to a job
    that was certainly not added.
    """

    def __init__(self, ids: list[str | None], errors: list[DisqueError | None]) -> None:
        failed = [number for number, error in enumerate(errors) if error is not None]
        first = errors[failed[0]]
        super().__init__(
            f"{len(failed)} of {len(ids)} jobs were not added, or may not have been; the first is"
            f" job {failed[0]}: {first}. The attributes `ids` and `errors` tell each job's fate"
        )
        self.ids = ids
        self.errors = errors


#: The codes that Disque documents.
_CLASSES: dict[str, type[ServerError]] = {
    kind.code: kind
    for kind in (
        LeavingError,
        LoadingError,
        NotReplicatedError,
        PausedError,
        QueueFullError,
        BadIdError,
        NoJobError,
        AlreadyAckedError,
        TooLateError,
        OutOfMemoryError,
        AuthenticationError,
    )
}


#: Commands that the first versions of Disque lack.
LATER_COMMANDS = ("NACK", "WORKING", "PAUSE", "QSTAT", "JSCAN", "QSCAN")


def server_error(text: str, command: str, node: str) -> ServerError:
    """Return the error for a server's answer, whose first word is its code."""
    code, _, words = text.partition(" ")
    kind = _CLASSES.get(code)
    if kind is not None:
        return kind(f"{node} answered to {command}: {words}", command=command, node=node)
    if code == "ERR":
        text = words
    if text.lower().startswith("unknown command"):
        return UnsupportedCommandError(
            f"{node} has no command {command}."
            + (" Disque has it from 1.0-rc1 on" if command in LATER_COMMANDS else "")
            + "; is this server Disque, and which version is it? `info` tells",
            command=command,
            node=node,
        )
    return ServerError(
        f"{node} answered to {command}: {text}",
        command=command,
        node=node,
        code=code if code.isupper() else "",
    )
