"""Tables over HTTP: answers that cannot be cut unnoticed, and their readers.

`read` is a coroutine; `serve.sync` has it without `await`. The answers are ASGI applications, which
have coroutines only. Each name is imported from its module when it is first used. The modules use
public names of the driver only.
"""

from __future__ import annotations

from colonnade._words import lazy_names as _lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from colonnade.serve import sync as sync
    from colonnade.serve._async.reading import read as read
    from colonnade.serve.answer import Answer as Answer
    from colonnade.serve.browser_module import (
        READER_JS as READER_JS,
        reader_module as reader_module,
    )
    from colonnade.serve.table_response import TableResponse as TableResponse

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = _lazy_names.attach(__name__)
