"""Types without text input: only the server can produce their values."""

from __future__ import annotations

from samples.sample import Facts, Sample

_NONE_ACCEPTED = "nothing: the server accepts none"
_PRINTED = Facts("`str`: as the server prints it", _NONE_ACCEPTED)
SERVER_ONLY = (
    *(
        Sample(name, "utf8", facts=_PRINTED)
        for name in (
            *("pg_node_tree", "pg_ndistinct", "pg_dependencies", "pg_mcv_list"),
            *("pg_brin_bloom_summary", "pg_brin_minmax_multi_summary", "gtsvector", "anyarray"),
        )
    ),
    Sample("unknown", "utf8", facts=Facts("`str`", "`str`")),
    Sample("void", "null", facts=Facts("`None`", _NONE_ACCEPTED)),
)
