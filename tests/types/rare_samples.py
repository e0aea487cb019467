"""Edge values of the types that few columns have, as the server reads them."""

from __future__ import annotations

from tests.types.corpus import TEXTS, Sample, integer

POINT = "fixed_size_list<item: float64 not null>[2]"
POINTS = f"list<item: {POINT} not null>"
NUMBERS = "fixed_size_list<item: float64 not null>[{}]"
ADDRESSES = (
    *("0.0.0.0/0", "255.255.255.255", "10.1.2.3/8", "127.0.0.1/32", "192.168.0.0/31"),
    *(
        "::",
        "::/0",
        "::1",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128",
        "2001:db8::8:800:200c:417a",
    ),
    *("::ffff:1.2.3.4", "fe80::1/10", "1:0:0:2::3/64", "::1.2.3.4/96"),
)
NETWORKS = (
    *(
        "0.0.0.0/0",
        "10.0.0.0/8",
        "10.1.2.3/32",
        "192.168.0.0/31",
        "::/0",
        "::/128",
        "2001:db8::/32",
    ),
    *("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", "::ffff:1.2.3.0/120"),
)
SNAPSHOTS = ("1:1:", "10:20:10,14,15", "1:9223372036854775807:1,9223372036854775806")

RARE_SAMPLES = (
    integer("cid", "uint32", 0, 2**32 - 1),
    integer("xid8", "uint64", 0, 2**64 - 1),
    Sample("pg_lsn", "uint64", ("0/0", "16/B374D848", "FFFFFFFF/FFFFFFFF", "0/1")),
    Sample(
        "tid", "struct<block: uint32, offset: uint16>", ("(0,0)", "(4294967295,65535)", "(1,2)")
    ),
    Sample(
        "interval",
        "month_day_nano_interval",
        (
            *("00:00:00", "1 mon", "-1 mon", "1 year 2 mons -3 days 04:05:06.000007"),
            *("-00:00:00.000001", "36:00:00", "-1 days +23:59:59.999999", "2562047:00:00"),
            *("99 years", "-99 years -11 mons -29 days", "2147483 days"),
        ),
        rows_refuse=("178000000 years", "-178000000 years", "2147483647 days"),
        columns_refuse=("2562048:00:00", "2562047788:00:54.775807", "-2562047788:00:54.775807"),
    ),
    Sample(
        "timetz",
        "struct<time: time64[us], offset: int32>",
        (
            *("00:00:00+00", "23:59:59.999999-15:59:59", "12:34:56.789012+15:59:59"),
            *("00:00:00.000001+05:30", "12:00:00-03:30", "01:02:03-00:00:01"),
        ),
        both_refuse=("24:00:00+00",),
    ),
    Sample("bit(1)", "utf8", ("0", "1")),
    Sample("bit(11)", "utf8", ("00000000000", "11111111111", "10101010101", "00000000001")),
    Sample("varbit", "utf8", ("", "0", "1", "10000000", "100000001", "01" * 100)),
    Sample("inet", "utf8", ADDRESSES),
    Sample("cidr", "utf8", NETWORKS),
    Sample("macaddr", "utf8", ("00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "08:00:2b:01:02:03")),
    Sample("macaddr8", "utf8", ("00:00:00:00:00:00:00:00", "08:00:2b:ff:fe:01:02:03")),
    Sample(
        "point",
        POINT,
        ("(0,0)", "(-0,5e-324)", "(1.5,-2.25)", "(NaN,Infinity)", "(-Infinity,1e308)", "(0.1,0.2)"),
    ),
    Sample("line", NUMBERS.format(3), ("{1,2,3}", "{0,1,-0.5}", "{1e300,-1e-300,NaN}")),
    Sample("lseg", NUMBERS.format(4), ("[(0,0),(0,0)]", "[(1.5,-2),(Infinity,0.1)]")),
    Sample("box", NUMBERS.format(4), ("(0,0),(0,0)", "(3.5,4),(-1,-2)", "(Infinity,1),(0.1,0)")),
    Sample("circle", NUMBERS.format(3), ("<(0,0),0>", "<(1.5,-2),0.25>", "<(Infinity,0.1),1e300>")),
    Sample(
        "path",
        f"struct<is_closed: bool not null, points: {POINTS} not null>",
        ("[(0,0)]", "((0,0))", "[(1,2),(3,4),(5.5,-0.1)]", "((1,2),(3,NaN))"),
    ),
    Sample("polygon", POINTS, ("((0,0))", "((1,2),(3,4),(5.5,-0.1))", "((1,2),(3,Infinity))")),
    Sample("money", "utf8", ("$0.00", "$1.50", "-$92,233,720,368,547,758.08")),
    Sample("pg_snapshot", "utf8", SNAPSHOTS),
    Sample("txid_snapshot", "utf8", SNAPSHOTS),
    Sample("tsvector", "utf8", ("", "'a':1A,2 'b'", "'it''s' '\\\\'", "'\u00e9':16383")),
    Sample("tsquery", "utf8", ("", "'a' & ( 'b' | !'c' )", "'a':*AB <-> 'b' <3> 'c'", "!!'x'")),
    Sample("jsonpath", "utf8", ("$", "$.a[*]?(@ > 1)", 'strict $."\u00e9".size()')),
    Sample("refcursor", "utf8", ("", "portal", '<unnamed portal 1>"')),
    Sample("cstring", "utf8", ("", "a b", "\u00e9")),
    Sample("aclitem", "utf8", ("=r/postgres", "postgres=arwdDxt/postgres")),
    Sample("regproc", "utf8", ("now", "-", "pg_sleep")),
    Sample("regprocedure", "utf8", ("abs(integer)", "-")),
    Sample("regoper", "utf8", ("||/", "0")),
    Sample("regoperator", "utf8", ("+(integer,integer)", "0")),
    Sample("regclass", "utf8", ("pg_class", "information_schema.tables")),
    Sample("regcollation", "utf8", ('"C"', "-")),
    Sample("regtype", "utf8", ("integer", "timestamp with time zone", "text[]", "-")),
    Sample("regrole", "utf8", ("-", "pg_monitor")),
    Sample("regnamespace", "utf8", ("pg_catalog", "-")),
    Sample("regconfig", "utf8", ("english", "-")),
    Sample("regdictionary", "utf8", ("simple", "-")),
    Sample("int2vector", "list<item: int16>", ("", "1", "1 -2 32767")),
    Sample("oidvector", "list<item: uint32>", ("", "0", "1 4294967295")),
)

#: Types of extensions, with the extension that brings each.
EXTENSION_SAMPLES = {
    "citext": ("citext", Sample("citext", "utf8", TEXTS)),
    "hstore": (
        "hstore",
        Sample(
            "hstore",
            "map",
            ("", '"a"=>"1"', '"a"=>NULL', '""=>""', '"a\\"b"=>"c\\\\d", "\u00e9"=>"NULL"'),
        ),
    ),
    "ltree": ("ltree", Sample("ltree", "utf8", ("", "a", "a.b.c", "A_1." + "x" * 200))),
    "lquery": ("ltree", Sample("lquery", "utf8", ("a", "*.a{1,2}.!b|c@*%"))),
    "ltxtquery": ("ltree", Sample("ltxtquery", "utf8", ("a", "a & b@* | !c"))),
    "vector": ("vector", Sample("vector(3)", "list", ("[0,-0,1.5]", "[1e-45,3.4028235e+38,-1]"))),
    "halfvec": ("vector", Sample("halfvec(2)", "list", ("[0,1.5]", "[65504,-6.1035156e-05]"))),
    "sparsevec": ("vector", Sample("sparsevec(5)", "utf8", ("{}/5", "{1:1.5,5:-2}/5"))),
}
#: Extensions whose types the table does not have: they are bytes, or text where there is no other.
FOREIGN_SAMPLES = {
    "cube": ("cube", "binary", ("(1, 2)", "(0),(1)")),
    "seg": ("seg", "utf8", ("1 .. 2", "5.0")),
    "query_int": ("intarray", "utf8", ("1 & 2 | !3",)),
    "ean13": ("isn", "utf8", ("978-0-393-04002-9",)),
    "lo": ("lo", "uint32", ("7",)),
}
