"""Samples of the types of extensions."""

from __future__ import annotations

from samples.common import TEXTS
from samples.sample import Facts, Sample

SERVER_PARSED = Facts("`str`", "`str`: the server parses it")
OWN_PARSER = "in a composite and by COPY the driver parses the text"
VECTOR = Facts(
    "`str`, or with `extension_types` a `list` of `float`",
    "`str`: the server parses it; a sequence of numbers",
    f"of the declared length, if any; {OWN_PARSER}",
)
SPATIAL = Facts(
    "`str`: the digits of its EWKB, or with `extension_types` `bytes`: WKB",
    "`str`: the server parses it; `bytes`: WKB or EWKB",
    "WKB omits the SRID; `binary` keeps it in columns",
)


def of(extension: str, *samples: Sample) -> dict[str, tuple[str, Sample]]:
    """Map each type's name to its extension and its sample."""
    return {sample.base: (extension, sample) for sample in samples}


#: Types of extensions, each with its extension.
EXTENSIONS = {
    **of("citext", Sample("citext", "utf8", TEXTS, facts=SERVER_PARSED)),
    **of(
        "hstore",
        Sample(
            "hstore",
            "map",
            ("", '"a"=>"1"', '"a"=>NULL', '""=>""', '"a\\"b"=>"c\\\\d", "\u00e9"=>"NULL"'),
            facts=Facts(
                "`str`, or with `extension_types` a `dict` of `str`",
                "`str`: the server parses it; a mapping of `str` to `str` or `None`",
                OWN_PARSER,
            ),
        ),
    ),
    **of(
        "ltree",
        Sample("ltree", "utf8", ("", "a", "a.b.c", "A_1." + "x" * 200), facts=SERVER_PARSED),
        Sample("lquery", "utf8", ("a", "*.a{1,2}.!b|c@*%"), facts=SERVER_PARSED),
        Sample("ltxtquery", "utf8", ("a", "a & b@* | !c"), facts=SERVER_PARSED),
    ),
    **of(
        "vector",
        Sample("vector(3)", "list", ("[0,-0,1.5]", "[1e-45,3.4028235e+38,-1]"), facts=VECTOR),
        Sample("halfvec(2)", "list", ("[0,1.5]", "[65504,-6.1035156e-05]"), facts=VECTOR),
        Sample("sparsevec(5)", "utf8", ("{}/5", "{1:1.5,5:-2}/5"), facts=SERVER_PARSED),
    ),
}
#: Types of PostGIS; their tests have their own values.
SPATIAL_TYPES = tuple(Sample(name, "binary", facts=SPATIAL) for name in ("geometry", "geography"))
#: Extensions with types missing from the core's table: columns hold their bytes, or their text if
#: they have no binary form.
FOREIGN = {
    "cube": ("cube", "binary", ("(1, 2)", "(0),(1)")),
    "seg": ("seg", "utf8", ("1 .. 2", "5.0")),
    "query_int": ("intarray", "utf8", ("1 & 2 | !3",)),
    "ean13": ("isn", "utf8", ("978-0-393-04002-9",)),
    "lo": ("lo", "uint32", ("7",)),
}
