"""Samples of the rare types."""

from __future__ import annotations

from datetime import UTC, time, timedelta, timezone
from ipaddress import ip_address, ip_interface, ip_network

from hypothesis import strategies as st

from colonnade import BitString, Box, Circle, Line, LineSegment, Path, Point, Polygon
from samples import strategies
from samples.common import UNSIGNED, integer
from samples.sample import Facts, Sample

POINT = "fixed_size_list<item: float64 not null>[2]"
POINTS = f"list<item: {POINT} not null>"
NUMBERS = "fixed_size_list<item: float64 not null>[{}]"
ADDRESSES = (
    *("0.0.0.0/0", "255.255.255.255", "10.1.2.3/8", "127.0.0.1/32", "192.168.0.0/31"),
    *("::", "::/0", "::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128"),
    *("2001:db8::8:800:200c:417a", "::ffff:1.2.3.4", "fe80::1/10", "1:0:0:2::3/64"),
    "::1.2.3.4/96",
)
NETWORKS = (
    *("0.0.0.0/0", "10.0.0.0/8", "10.1.2.3/32", "192.168.0.0/31", "::/0", "::/128"),
    *("2001:db8::/32", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", "::ffff:1.2.3.0/120"),
)
SNAPSHOTS = ("1:1:", "10:20:10,14,15", "1:9223372036854775807:1,9223372036854775806")
EAST = timezone(timedelta(hours=5, minutes=30, seconds=15))

UNSIGNED_64 = Facts("`int`", "the same, from 0 to 18446744073709551615", "out of range is refused")
BITS = Facts(
    "`BitString`",
    "`BitString`, `str` of 0 and 1, `bytes` (all their bits)",
    "without bits: an empty text",
)
HARDWARE_ADDRESS = Facts("`str`", "`str`")
FIGURE = Facts(
    "`Point`, `Line`, `LineSegment`, `Box`, `Circle`: tuples",
    "the same, sequences of that form",
    "NaN, infinities and -0.0 are kept",
)
SNAPSHOT = Facts("`(xmin, xmax, (xip, ...))`", "the same")
TEXT_SEARCH = Facts("`str`: as the server prints it", "`str`: the server parses it")
LANGUAGE = Facts("`str`", "`str`")
PRINTED = Facts(
    "`str`: as the server prints it",
    "`str`: the server parses it",
    "a composite or range of it is one text",
)


def named(name: str, *values: str, plain: tuple[str, str] | None = None) -> Sample:
    """A type whose text names an object of the catalogs, so random values are not possible."""
    return Sample(name, "utf8", values, plain=plain, is_ordered=False, facts=PRINTED)


RARE = (
    integer("cid", "uint32", 32, facts=UNSIGNED, plain=("0", "4294967295"), is_ordered=False),
    integer("xid8", "uint64", 64, facts=UNSIGNED_64, plain=("0", "18446744073709551615")),
    Sample(
        "pg_lsn",
        "uint64",
        ("0/0", "16/B374D848", "FFFFFFFF/FFFFFFFF", "0/1"),
        plain=("16/B374D848", "FFFFFFFF/FFFFFFFF"),
        objects=((0x16_B374_D848, "16/B374D848"),),
        texts=strategies.UINT64.map(lambda place: f"{place >> 32:X}/{place & 0xFFFFFFFF:X}"),
        drawn=strategies.UINT64,
        facts=UNSIGNED_64,
    ),
    Sample(
        "tid",
        "struct<block: uint32, offset: uint16>",
        ("(0,0)", "(4294967295,65535)", "(1,2)"),
        plain=("(0,1)", "(4294967295,65535)"),
        objects=(((4_294_967_295, 65_535), "(4294967295,65535)"),),
        taken=(([1, 2], (1, 2)),),
        texts=st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**16 - 1)).map(
            lambda pair: f"({pair[0]},{pair[1]})"
        ),
        facts=Facts("`(block, offset)`", "the same"),
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
        plain=("1 day 02:00:00.5", "-3 days"),
        objects=(
            (timedelta(), "00:00:00"),
            (timedelta(days=400, seconds=5), "400 days 00:00:05"),
            (timedelta(microseconds=-1), "-1 days +23:59:59.999999"),
            (timedelta.max, "999999999 days 23:59:59.999999"),
            (timedelta.min, "-999999999 days"),
        ),
        texts=strategies.INTERVAL,
        facts=Facts(
            "`timedelta`: a year is 365 days, a month 30",
            "`timedelta`",
            "more than 64 bits of nanoseconds: not in columns; beyond `timedelta`: not in rows;"
            " infinities: `infinity=`, not in rows",
        ),
    ),
    Sample(
        "timetz",
        "struct<time: time64[us], offset: int32>",
        (
            *("00:00:00+00", "23:59:59.999999-15:59:59", "12:34:56.789012+15:59:59"),
            *("00:00:00.000001+05:30", "12:00:00-03:30", "01:02:03-00:00:01"),
        ),
        both_refuse=("24:00:00+00",),
        plain=("12:00+02", "23:59:59.5-03:30"),
        objects=(
            (time(11, 0, 0, 5, UTC), "11:00:00.000005+00"),
            (time(23, 59, 59, 999_999, EAST), "23:59:59.999999+05:30:15"),
        ),
        texts=st.builds(
            lambda time, offset: f"{time}{strategies.clock(offset)}",
            st.times(),
            strategies.OFFSET,
        ),
        facts=Facts("`datetime.time` with a fixed offset", "the same", "24:00 is refused"),
    ),
    Sample("bit(1)", "utf8", ("0", "1"), texts=strategies.of_bits(1, 1)),
    Sample(
        "bit(11)",
        "utf8",
        ("00000000000", "11111111111", "10101010101", "00000000001"),
        plain=("10101010101", "00000000000"),
        objects=((BitString("10101010101"), "10101010101"),),
        taken=(
            ("10101010101", BitString("10101010101")),
            (b"\xaa\x80", BitString("10101010100")),
        ),
        texts=strategies.of_bits(11, 11),
        facts=BITS,
    ),
    Sample(
        "varbit",
        "utf8",
        ("", "0", "1", "10000000", "100000001", "01" * 100),
        plain=("", "101100111"),
        objects=((BitString(""), ""), (BitString("1" * 17), "1" * 17)),
        texts=strategies.of_bits(0, 70),
        facts=BITS,
    ),
    Sample(
        "inet",
        "utf8",
        ADDRESSES,
        plain=("10.0.0.1/8", "::1"),
        objects=(
            (ip_address("1.2.3.4"), "1.2.3.4/32"),
            (ip_interface("1.2.3.4/24"), "1.2.3.4/24"),
            (ip_address("::1"), "::1/128"),
            (ip_interface("fe80::1/10"), "fe80::1/10"),
        ),
        taken=(
            ("1.2.3.4/24", ip_interface("1.2.3.4/24")),
            (ip_network("1.2.3.0/24"), ip_interface("1.2.3.0/24")),
        ),
        texts=strategies.ADDRESS,
        facts=Facts(
            "`IPv4Address`, or `IPv4Interface` with a prefix length; the same for IPv6",
            "any class of `ipaddress`, `str`",
        ),
    ),
    Sample(
        "cidr",
        "utf8",
        NETWORKS,
        plain=("10.0.0.0/8", "2001:db8::/32"),
        objects=(
            (ip_network("1.2.3.0/24"), "1.2.3.0/24"),
            (ip_network("1.2.3.4/32"), "1.2.3.4/32"),
            (ip_network("::/0"), "::/0"),
        ),
        taken=(
            ("1.2.3.0/24", ip_network("1.2.3.0/24")),
            (ip_address("1.2.3.4"), ip_network("1.2.3.4/32")),
        ),
        texts=strategies.network(32) | strategies.network(128),
        facts=Facts("`IPv4Network`, `IPv6Network`", "the same; an address is its own network"),
    ),
    Sample(
        "macaddr",
        "utf8",
        ("00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "08:00:2b:01:02:03"),
        plain=("08:00:2b:01:02:03", "ff:ff:ff:ff:ff:ff"),
        objects=(("08:00:2b:01:02:03", "08:00:2b:01:02:03"),),
        texts=strategies.pairs_of_hex(6),
        drawn=strategies.pairs_of_hex(6),
        facts=HARDWARE_ADDRESS,
    ),
    Sample(
        "macaddr8",
        "utf8",
        ("00:00:00:00:00:00:00:00", "08:00:2b:ff:fe:01:02:03"),
        plain=("08:00:2b:01:02:03:04:05", "ff:ff:ff:ff:ff:ff:ff:ff"),
        objects=(("08:00:2b:01:02:03:04:05", "08:00:2b:01:02:03:04:05"),),
        texts=strategies.pairs_of_hex(8),
        drawn=strategies.pairs_of_hex(8),
        facts=HARDWARE_ADDRESS,
    ),
    Sample(
        "point",
        POINT,
        ("(0,0)", "(-0,5e-324)", "(1.5,-2.25)", "(NaN,Infinity)", "(-Infinity,1e308)", "(0.1,0.2)"),
        plain=("(1,2.5)", "(-0.5,1e300)"),
        objects=((Point(1, -2.5), "(1,-2.5)"),),
        taken=(([1, 2], Point(1, 2)),),
        texts=strategies.PAIR,
        is_ordered=False,
        facts=FIGURE,
    ),
    Sample(
        "line",
        NUMBERS.format(3),
        ("{1,2,3}", "{0,1,-0.5}", "{1e300,-1e-300,NaN}"),
        plain=("{1,2,3}", "{4,5,6}"),
        objects=((Line(1, 2, 3), "{1,2,3}"),),
        texts=st.tuples(strategies.FINITE, st.integers(1, 1000).map(float), strategies.FINITE).map(
            lambda line: f"{{{line[0]!r},{line[1]!r},{line[2]!r}}}"
        ),
        is_ordered=False,
        facts=FIGURE,
    ),
    Sample(
        "lseg",
        NUMBERS.format(4),
        ("[(0,0),(0,0)]", "[(1.5,-2),(Infinity,0.1)]"),
        plain=("[(0,0),(1,1)]", "[(1,2),(3,4)]"),
        objects=((LineSegment((1, 2), (3, 4)), "[(1,2),(3,4)]"),),
        texts=strategies.figure("[({},{}),({},{})]", 4),
        is_ordered=False,
        facts=FIGURE,
    ),
    Sample(
        "box",
        NUMBERS.format(4),
        ("(0,0),(0,0)", "(3.5,4),(-1,-2)", "(Infinity,1),(0.1,0)"),
        plain=("(1,1),(0,0)", "(3,4),(1,2)"),
        objects=((Box((3, 4), (1, 2)), "(3,4),(1,2)"),),
        taken=((((1, 2), (3, 4)), Box((3, 4), (1, 2))),),
        texts=st.lists(strategies.FINITE.map(repr), min_size=4, max_size=4).map(
            lambda numbers: "({},{}),({},{})".format(*numbers)
        ),
        is_ordered=False,
        facts=FIGURE,
    ),
    Sample(
        "circle",
        NUMBERS.format(3),
        ("<(0,0),0>", "<(1.5,-2),0.25>", "<(Infinity,0.1),1e300>"),
        plain=("<(0,0),5>", "<(1,2),0>"),
        objects=((Circle((1, 2), 3), "<(1,2),3>"),),
        taken=((((1, 2), 3), Circle((1, 2), 3)),),
        texts=st.tuples(strategies.FINITE, strategies.FINITE, strategies.FINITE.map(abs)).map(
            lambda circle: f"<({circle[0]!r},{circle[1]!r}),{circle[2]!r}>"
        ),
        is_ordered=False,
        facts=FIGURE,
    ),
    Sample(
        "path",
        f"struct<is_closed: bool not null, points: {POINTS} not null>",
        ("[(0,0)]", "((0,0))", "[(1,2),(3,4),(5.5,-0.1)]", "((1,2),(3,NaN))"),
        plain=("[(0,0),(1,1)]", "((0,0),(1,1),(2,0))"),
        objects=(
            (Path((1, 2), (3, 4)), "[(1,2),(3,4)]"),
            (Path((1, 2), (3, 4), is_closed=True), "((1,2),(3,4))"),
        ),
        taken=(
            ([(1, 2), (3, 4)], Path((1, 2), (3, 4))),
            (((1, 2), (3, 4)), Path((1, 2), (3, 4), is_closed=True)),
        ),
        texts=strategies.PAIRS.map("[{}]".format) | strategies.PAIRS.map("({})".format),
        is_ordered=False,
        facts=Facts("`Path`", "`Path`, a list of points (open), a tuple of points (closed)"),
    ),
    Sample(
        "polygon",
        POINTS,
        ("((0,0))", "((1,2),(3,4),(5.5,-0.1))", "((1,2),(3,Infinity))"),
        plain=("((0,0),(1,1),(2,0))", "((5,6))"),
        objects=((Polygon((1, 2), (3, 4), (5, 6)), "((1,2),(3,4),(5,6))"),),
        taken=(([(1, 2), (3, 4)], Polygon((1, 2), (3, 4))),),
        texts=strategies.PAIRS.map("({})".format),
        is_ordered=False,
        facts=Facts("`Polygon`", "`Polygon`, a sequence of points"),
    ),
    Sample(
        "money",
        "utf8",
        ("$0.00", "$1.50", "-$92,233,720,368,547,758.08"),
        plain=("1.50", "-2"),
        texts=strategies.integers(63).map(lambda cents: f"{cents / 100:.2f}"),
        facts=PRINTED,
    ),
    *(
        Sample(
            name,
            "utf8",
            SNAPSHOTS,
            plain=("10:20:10,14,15", "1:1:"),
            objects=(((10, 20, (10, 14, 15)), "10:20:10,14,15"), ((10, 20, ()), "10:20:")),
            texts=strategies.SNAPSHOT,
            is_ordered=False,
            facts=SNAPSHOT,
        )
        for name in ("pg_snapshot", "txid_snapshot")
    ),
    Sample(
        "tsvector",
        "utf8",
        ("", "'a':1A,2 'b'", "'it''s' '\\\\'", "'\u00e9':16383"),
        plain=("a fat cat", ""),
        texts=strategies.TSVECTOR,
        facts=TEXT_SEARCH,
    ),
    Sample(
        "tsquery",
        "utf8",
        ("", "'a' & ( 'b' | !'c' )", "'a':*AB <-> 'b' <3> 'c'", "!!'x'"),
        plain=("a & b", "!c"),
        texts=strategies.TSQUERY,
        facts=TEXT_SEARCH,
    ),
    Sample(
        "jsonpath",
        "utf8",
        ("$", "$.a[*]?(@ > 1)", 'strict $."\u00e9".size()'),
        plain=("$.a", "$"),
        is_ordered=False,
        facts=LANGUAGE,
    ),
    Sample(
        "refcursor",
        "utf8",
        ("", "portal", '<unnamed portal 1>"'),
        plain=("c", "d"),
        texts=strategies.TEXT,
        is_ordered=False,
        facts=LANGUAGE,
    ),
    Sample(
        "cstring",
        "utf8",
        ("", "a b", "\u00e9"),
        texts=strategies.TEXT,
        is_ordered=False,
        facts=LANGUAGE,
    ),
    named("aclitem", "=r/postgres", "postgres=arwdDxt/postgres"),
    named("regproc", "now", "-", "pg_sleep", plain=("now", "pg_backend_pid")),
    named("regprocedure", "abs(integer)", "-", plain=("now()", "pg_backend_pid()")),
    named("regoper", "||/", "0", plain=("|/", "||/")),
    named(
        "regoperator",
        *("+(integer,integer)", "0"),
        plain=("+(integer,integer)", "-(integer,integer)"),
    ),
    named("regclass", "pg_class", "information_schema.tables", plain=("pg_class", "pg_type")),
    named("regcollation", '"C"', "-", plain=('"C"', '"POSIX"')),
    named(
        "regtype",
        *("integer", "timestamp with time zone", "text[]", "-"),
        plain=("integer", "text"),
    ),
    named("regrole", "-", "pg_monitor", plain=("pg_monitor", "pg_signal_backend")),
    named("regnamespace", "pg_catalog", "-", plain=("pg_catalog", "public")),
    named("regconfig", "english", "-", plain=("simple", "english")),
    named("regdictionary", "simple", "-", plain=("simple", "english_stem")),
    Sample(
        "int2vector",
        "list<item: int16>",
        ("", "1", "1 -2 32767"),
        plain=("1 2", ""),
        texts=st.lists(strategies.integers(16).map(str), max_size=6).map(" ".join),
        is_ordered=False,
    ),
    Sample(
        "oidvector",
        "list<item: uint32>",
        ("", "0", "1 4294967295"),
        plain=("1 4294967295", "7"),
        texts=st.lists(st.integers(0, 2**32 - 1).map(str), max_size=6).map(" ".join),
    ),
)
