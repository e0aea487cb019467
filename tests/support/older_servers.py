"""Features that older versions of PostgreSQL lack, recognised by their error messages.

A test that gets one of these errors on such a version is skipped, with the message as the reason.
On the newest version, no test is skipped.
"""

from __future__ import annotations

import re

# The major version that introduced a feature -> the error messages of older ones.
_REFUSALS = {
    14: (
        r"type \"\w*multirange(\[\])?\" does not exist",
        r"type attribute \"multirange_type_name\" not recognized",
        r"function \w*multirange\(\w+\) does not exist",
        r"column \"rngmultitypid\" does not exist",
        r"type \"pg_brin_\w+_summary\" does not exist",
        r"invalid input syntax for type numeric: \"-?Infinity\"",
        r"invalid sign in external \"numeric\" value",
    ),
    15: (
        r"NUMERIC scale -?\d+ must be between 0 and precision \d+",
        # The longest interval.
        r"interval field value out of range: \"2562047788:00:54\.775807\"",
    ),
    17: (r"invalid input syntax for type interval: \"-?infinity\"",),
}

# Tests of an answer that changed without an error -> the version with the change, and the change.
_LATER_ANSWERS = {
    'test_the_table_of_edges[`"char"` above 127]': (16, 'the text of "char" above 127 is octal'),
    "test_types_of_other_extensions[cube]": (14, "cube has a binary form"),
    "test_generated_values[interval]": (15, "intervals of any text that fits"),
    "test_rows_are_the_peers[asyncpg]": (15, "the longest interval"),
    "test_parameters_that_asyncpg_takes_alike['numeric'-Decimal('-Infinity')]": (
        14,
        "infinite numerics",
    ),
    "test_every_line_is_the_servers": (14, "BRIN's summaries"),
    "test_every_type_of_the_server_can_be_selected": (14, "array types of the catalogs"),
}


def later_answer(test: str, major: int) -> str | None:
    """The reason why a test needs a later version than this one, or None."""
    since, what = _LATER_ANSWERS.get(test, (0, ""))
    return f"{what} since PostgreSQL {since}; this is {major}" if major < since else None


def refusal(error: BaseException, major: int) -> str | None:
    """The reason why a server of this version lacks the requested feature, or None if it has it."""
    for since, patterns in _REFUSALS.items():
        if major < since and any(re.search(pattern, str(error)) for pattern in patterns):
            return f"came with PostgreSQL {since}; {major} says: {error}"
    return None
