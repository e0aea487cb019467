"""An error that several queries or callers share, for each of them."""

from __future__ import annotations

import copy


def own(error: Exception) -> Exception:
    """Return a copy of an error, for one caller; the error itself if its class has no copies.

    Raising an exception changes it: its traceback grows, it gets notes and a context. Callers that
    raise the same object would see each other's.
    """
    try:
        copied = copy.copy(error)
    except Exception:  # noqa: BLE001 - the class of a caller's codec may need other arguments
        return error
    if type(copied) is not type(error):
        return error
    copied.__cause__ = error.__cause__
    copied.__suppress_context__ = error.__suppress_context__
    # Of its own: tblib, where it takes part in copies, lets all of them share their attributes.
    copied.__dict__ = dict(error.__dict__)
    if hasattr(error, "__notes__"):
        copied.__notes__ = [*error.__notes__]
    return copied.with_traceback(error.__traceback__)
