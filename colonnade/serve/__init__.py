"""Tables over HTTP: answers that cannot be cut unnoticed, and their readers.

`read` is a coroutine; `serve.sync` has it without `await`. The answers are ASGI applications, which
have coroutines only. Each name is imported from its module when it is first used. The modules use
public names of the driver only.
"""

from __future__ import annotations

from colonnade._words import lazy_names as _lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Type checkers see here what `_HOMES` loads.
    from colonnade.serve import sync
    from colonnade.serve._async.reading import read
    from colonnade.serve.answer import Answer
    from colonnade.serve.browser_module import READER_JS, reader_module
    from colonnade.serve.table_response import TableResponse

_HOMES = _lazy_names.homes_of(
    {
        "colonnade.serve.answer": "Answer",
        "colonnade.serve.browser_module": "READER_JS reader_module",
        "colonnade.serve._async.reading": "read",
        "colonnade.serve.sync": "sync",
        "colonnade.serve.table_response": "TableResponse",
    }
)

__all__ = ["READER_JS", "Answer", "TableResponse", "read", "reader_module", "sync"]

__getattr__ = _lazy_names.loader(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
