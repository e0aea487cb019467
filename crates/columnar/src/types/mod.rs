//! The types, each in exactly one place: its own file, and its line in [`TYPES`].
//!
//! A file holds the type's wire format, its decoding into a column and into a [`Value`], its
//! encoding, its edge cases and its tests, and exports them as one `Codec`. Types with the same
//! wire format share a file. All other code asks the table: nothing outside this folder knows the
//! OID of any type.

mod array;
mod array_text;
mod arrow_extension;
mod bits;
mod boolean;
mod bytea;
mod comparison;
mod composite;
pub(crate) mod date;
mod dictionary_text;
mod enumeration;
mod ewkb;
mod extensions;
mod fixed_text;
mod float;
mod float_text;
mod floats;
mod geometric;
mod half;
mod hstore;
mod hstore_text;
mod int;
mod interval;
mod json;
mod json_text;
mod ltree;
mod macaddr;
mod names;
mod nested_wire;
mod network;
mod notation;
pub(crate) mod numeric;
mod opaque;
mod pair;
mod part;
mod parts;
mod primitive;
mod printed;
mod range;
mod record;
mod server_text;
mod single_byte;
mod snapshot;
mod sparsevec;
mod text;
mod tid;
pub(crate) mod time;
pub(crate) mod timestamp;
mod timetz;
mod tree;
mod tsquery;
mod tsvector;
mod uint64;
mod units;
mod uuid;
mod varlen;
mod vector;
mod void;
mod written;

use colonnade_protocol::{Format, Oid};

use crate::column::ColumnBuilder;
use crate::error::{EncodeError, Reason};
use crate::inexact::Inexact;
use crate::schema::{Infinity, Override};
use crate::value::Value;
use Comparison::{EqualityOnly, Neither, Padded};

pub use self::array::encode_head as encode_array_head;
pub(crate) use self::array::{DIMENSIONS_MOST, ELEMENTS_MOST};
pub(crate) use self::arrow_extension::{Extension, metadata as extension_metadata};
pub use self::comparison::Comparison;
pub use self::extensions::EXTENSION_TYPES;
pub(crate) use self::extensions::{printed_line, unprinted_line};
pub(crate) use self::json_text::{JsonText, push_iso};
pub(crate) use self::range::flags as range_flags;
pub use self::record::RECORDS;
pub(crate) use self::server_text::{can_print, print};
pub(crate) use self::tree::built_in;
pub use self::tree::{Attribute, CodecFormat, Shape, Type};
pub(crate) use self::written::{TextForm, encode as encode_in_text};

/// All known types, ordered by OID. Name, OID, OID of its array, send function, codec, and what is
/// special about the type.
pub static TYPES: &[PgType] = &[
    line("bool", 16, 1000, "boolsend", boolean::BOOL),
    line("bytea", 17, 1001, "byteasend", bytea::BYTEA),
    line("char", 18, 1002, "charsend", single_byte::CHAR).compared(EqualityOnly),
    line("name", 19, 1003, "namesend", text::TEXT),
    line("int8", 20, 1016, "int8send", int::INT8),
    line("int2", 21, 1005, "int2send", int::INT2),
    line("int4", 23, 1007, "int4send", int::INT4),
    line("regproc", 24, 1008, "", text::TEXT).compared(EqualityOnly),
    line("text", 25, 1009, "textsend", text::TEXT),
    line("oid", 26, 1028, "oidsend", int::OID),
    line("tid", 27, 1010, "tidsend", tid::TID),
    line("xid", 28, 1011, "xidsend", int::OID).compared(EqualityOnly),
    line("cid", 29, 1012, "cidsend", int::OID).compared(EqualityOnly),
    line("json", 114, 199, "json_send", json::JSON).compared(Neither),
    line("xml", 142, 143, "xml_send", text::TEXT).compared(Neither),
    line("pg_node_tree", 194, 0, "pg_node_tree_send", text::TEXT).compared(Neither),
    line("point", 600, 1017, "point_send", geometric::POINT).compared(Neither),
    line("lseg", 601, 1018, "lseg_send", geometric::LSEG).compared(Neither),
    line("path", 602, 1019, "path_send", geometric::PATH).compared(Neither),
    line("box", 603, 1020, "box_send", geometric::BOX).compared(Neither),
    line("polygon", 604, 1027, "poly_send", geometric::POLYGON).compared(Neither),
    line("line", 628, 629, "line_send", geometric::LINE).compared(Neither),
    line("cidr", 650, 651, "cidr_send", network::CIDR).compared(EqualityOnly),
    line("float4", 700, 1021, "float4send", float::FLOAT4),
    line("float8", 701, 1022, "float8send", float::FLOAT8),
    line("unknown", 705, 0, "unknownsend", text::TEXT),
    line("circle", 718, 719, "circle_send", geometric::CIRCLE).compared(Neither),
    line("macaddr8", 774, 775, "macaddr8_send", macaddr::MACADDR8),
    line("money", 790, 791, "", text::TEXT).compared(EqualityOnly),
    line("macaddr", 829, 1040, "macaddr_send", macaddr::MACADDR),
    line("inet", 869, 1041, "inet_send", network::INET).compared(EqualityOnly),
    line("aclitem", 1033, 1034, "", text::TEXT).compared(EqualityOnly),
    line("bpchar", 1042, 1014, "bpcharsend", text::TEXT).compared(Padded),
    line("varchar", 1043, 1015, "varcharsend", text::TEXT),
    line("date", 1082, 1182, "date_send", date::DATE),
    line("time", 1083, 1183, "time_send", time::TIME),
    line("timestamp", 1114, 1115, "timestamp_send", timestamp::TIMESTAMP),
    line("timestamptz", 1184, 1185, "timestamptz_send", timestamp::TIMESTAMPTZ),
    line("interval", 1186, 1187, "interval_send", interval::INTERVAL),
    line("timetz", 1266, 1270, "timetz_send", timetz::TIMETZ).compared(EqualityOnly),
    line("bit", 1560, 1561, "bit_send", bits::BITS),
    line("varbit", 1562, 1563, "varbit_send", bits::BITS),
    line("numeric", 1700, 1231, "numeric_send", numeric::NUMERIC),
    line("refcursor", 1790, 2201, "textsend", text::TEXT).compared(Neither),
    line("regprocedure", 2202, 2207, "", text::TEXT).compared(EqualityOnly),
    line("regoper", 2203, 2208, "", text::TEXT).compared(EqualityOnly),
    line("regoperator", 2204, 2209, "", text::TEXT).compared(EqualityOnly),
    line("regclass", 2205, 2210, "", text::TEXT).compared(EqualityOnly),
    line("regtype", 2206, 2211, "", text::TEXT).compared(EqualityOnly),
    line("cstring", 2275, 1263, "cstring_send", text::TEXT).compared(Neither),
    line("anyarray", 2277, 0, "", text::TEXT),
    line("void", 2278, 0, "void_send", void::VOID),
    line("uuid", 2950, 2951, "uuid_send", uuid::UUID),
    line("txid_snapshot", 2970, 2949, "txid_snapshot_send", snapshot::SNAPSHOT).compared(Neither),
    line("pg_lsn", 3220, 3221, "pg_lsn_send", uint64::LSN),
    line("pg_ndistinct", 3361, 0, "", text::TEXT),
    line("pg_dependencies", 3402, 0, "", text::TEXT),
    line("tsvector", 3614, 3643, "tsvectorsend", tsvector::TSVECTOR)
        .sent_as_text()
        .compared(EqualityOnly),
    line("tsquery", 3615, 3645, "tsquerysend", tsquery::TSQUERY)
        .sent_as_text()
        .compared(EqualityOnly),
    line("gtsvector", 3642, 3644, "", text::TEXT).compared(Neither),
    line("regconfig", 3734, 3735, "", text::TEXT).compared(EqualityOnly),
    line("regdictionary", 3769, 3770, "", text::TEXT).compared(EqualityOnly),
    line("jsonb", 3802, 3807, "jsonb_send", json::JSONB).compared(EqualityOnly),
    line("jsonpath", 4072, 4073, "jsonpath_send", json::JSONPATH).compared(Neither),
    line("regnamespace", 4089, 4090, "", text::TEXT).compared(EqualityOnly),
    line("regrole", 4096, 4097, "", text::TEXT).compared(EqualityOnly),
    line("regcollation", 4191, 4192, "", text::TEXT).compared(EqualityOnly),
    line("pg_brin_bloom_summary", 4600, 0, "", text::TEXT),
    line("pg_brin_minmax_multi_summary", 4601, 0, "", text::TEXT),
    line("pg_mcv_list", 5017, 0, "", text::TEXT),
    line("pg_snapshot", 5038, 5039, "pg_snapshot_send", snapshot::SNAPSHOT).compared(Neither),
    line("xid8", 5069, 271, "xid8send", uint64::XID8),
];

/// A user-defined type without a send function: only its text is available.
pub(crate) static TEXT_ONLY: PgType = line("text only", 0, 0, "", text::TEXT);

/// Every built-in range with its multirange, ordered by OID.
pub static RANGES: &[RangeLine] = &[
    range_line(["int4range", "int4multirange"], 23, [3904, 3905], [4451, 6150]),
    range_line(["numrange", "nummultirange"], 1700, [3906, 3907], [4532, 6151]),
    range_line(["tsrange", "tsmultirange"], 1114, [3908, 3909], [4533, 6152]),
    range_line(["tstzrange", "tstzmultirange"], 1184, [3910, 3911], [4534, 6153]),
    range_line(["daterange", "datemultirange"], 1082, [3912, 3913], [4535, 6155]),
    range_line(["int8range", "int8multirange"], 20, [3926, 3927], [4536, 6157]),
];

/// A range's line in its table.
#[derive(Clone, Copy, Debug)]
pub struct RangeLine {
    /// PostgreSQL's own name.
    pub name: &'static str,
    /// The multirange's name in PostgreSQL.
    pub multirange_name: &'static str,
    /// OID of the type of its bounds.
    pub subtype: Oid,
    /// The same in every PostgreSQL server.
    pub oid: Oid,
    /// OID of its array type.
    pub array_oid: Oid,
    /// OID of its multirange.
    pub multirange_oid: Oid,
    /// OID of the multirange's array type.
    pub multirange_array_oid: Oid,
}

const fn range_line(
    [name, multirange_name]: [&'static str; 2],
    subtype: Oid,
    [oid, array_oid]: [Oid; 2],
    [multirange_oid, multirange_array_oid]: [Oid; 2],
) -> RangeLine {
    RangeLine {
        name,
        multirange_name,
        subtype,
        oid,
        array_oid,
        multirange_oid,
        multirange_array_oid,
    }
}

/// A type's line in the table.
#[derive(Clone, Copy, Debug)]
pub struct PgType {
    /// The type's name in `pg_type`.
    pub name: &'static str,
    /// The same in every PostgreSQL server.
    pub oid: Oid,
    /// OID of its array type, 0 if there is none.
    pub array_oid: Oid,
    /// Name of its send function; empty if there is none, and values are requested as text.
    pub send: &'static str,
    /// Its Arrow type, for documentation.
    pub arrow: &'static str,
    /// The [`Value`] that its parameters take, and that its rows give unless they are printed.
    pub kind: Kind,
    /// The length in bytes of its binary format, if all values have the same.
    pub width: Option<usize>,
    /// The Arrow types that a schema may request instead, by their names in a schema.
    pub casts: &'static [&'static str],
    /// Decodes one value of a row.
    pub value: fn(&[u8]) -> Result<Value<'_>, Reason>,
    /// Appends the binary format of one parameter (the text, if [`PgType::parameter`] says so).
    /// Never called with [`Value::Null`].
    pub encode: fn(&Value<'_>, &mut Vec<u8>) -> Result<(), EncodeError>,
    /// The format in which a parameter is sent.
    pub parameter: Format,
    /// How its values are compared.
    pub comparison: Comparison,
    /// Makes the builder of a column.
    builder: BuilderFn,
}

/// The part of a line that the type's own file defines.
#[derive(Clone, Copy)]
struct Codec {
    arrow: &'static str,
    kind: Kind,
    /// See [`PgType::width`].
    width: Option<usize>,
    casts: &'static [&'static str],
    value: fn(&[u8]) -> Result<Value<'_>, Reason>,
    encode: fn(&Value<'_>, &mut Vec<u8>) -> Result<(), EncodeError>,
    builder: BuilderFn,
}

/// `None` if the type cannot be decoded to [`Request::cast`].
type BuilderFn = fn(&Request) -> Option<Built>;

const fn line(
    name: &'static str,
    oid: Oid,
    array_oid: Oid,
    send: &'static str,
    codec: Codec,
) -> PgType {
    let Codec { arrow, kind, width, casts, value, encode, builder } = codec;
    let parameter = if send.is_empty() { Format::Text } else { Format::Binary };
    PgType {
        name,
        oid,
        array_oid,
        send,
        arrow,
        kind,
        width,
        casts,
        value,
        encode,
        parameter,
        comparison: Comparison::Ordered,
        builder,
    }
}

impl PgType {
    /// The line of a type whose binary format a client cannot produce.
    const fn sent_as_text(mut self) -> Self {
        self.parameter = Format::Text;
        self
    }

    /// The line of a type whose values are compared otherwise than their Arrow values.
    const fn compared(mut self, comparison: Comparison) -> Self {
        self.comparison = comparison;
        self
    }

    /// The line of a type whose rows are the printed text of its values.
    const fn printed(mut self, print: fn(&[u8]) -> Result<Value<'_>, Reason>) -> Self {
        self.value = print;
        self
    }
}

/// The [`Value`] of a type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// [`Value::Bool`]
    Bool,
    /// [`Value::Int`]
    Int,
    /// [`Value::UInt`]
    UInt,
    /// [`Value::Float`]
    Float,
    /// [`Value::Float32`]
    Float32,
    /// [`Value::Text`]
    Text,
    /// [`Value::Bytes`]
    Bytes,
    /// [`Value::Uuid`]
    Uuid,
    /// [`Value::Date`], [`Value::DateInfinity`]
    Date,
    /// [`Value::Time`]
    Time,
    /// [`Value::Timestamp`], [`Value::TimestampInfinity`]
    Timestamp,
    /// [`Value::TimestampTz`], [`Value::TimestampInfinity`]
    TimestampTz,
    /// [`Value::Numeric`]
    Numeric,
    /// [`Value::Interval`], [`Value::IntervalInfinity`]
    Interval,
    /// [`Value::TimeTz`]
    TimeTz,
    /// [`Value::Bits`]
    Bits,
    /// [`Value::Network`]
    Network,
    /// [`Value::Point`]
    Point,
    /// [`Value::Line`]
    Line,
    /// [`Value::LineSegment`]
    LineSegment,
    /// [`Value::Box`]
    Box,
    /// [`Value::Circle`]
    Circle,
    /// [`Value::Path`]
    Path,
    /// [`Value::Polygon`]
    Polygon,
    /// [`Value::Tid`]
    Tid,
    /// [`Value::Snapshot`]
    Snapshot,
    /// [`Value::Floats`]
    Floats,
    /// [`Value::Map`]
    Map,
    /// [`Value::Null`], for a type without values
    Void,
}

/// A column's request to its type.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The column's type modifier, -1 for none.
    type_modifier: i32,
    infinity: Infinity,
    cast: Option<Override>,
    /// See [`DecodeOptions::is_stream`](crate::DecodeOptions::is_stream).
    is_stream: bool,
    /// See [`DecodeOptions::inexact`](crate::DecodeOptions::inexact): the column's index, and the
    /// record.
    notes: Option<(usize, Inexact)>,
    /// The nesting depth of this column.
    depth: usize,
}

impl Request {
    /// The request for a whole column.
    pub(crate) fn new(type_modifier: i32, infinity: Infinity, cast: Option<Override>) -> Self {
        Self { type_modifier, infinity, cast, is_stream: false, notes: None, depth: 0 }
    }

    /// The request for a column within the column.
    fn of_part(&self, type_modifier: i32) -> Self {
        let depth = self.depth + 1;
        Self { type_modifier, cast: None, notes: None, depth, ..self.clone() }
    }

    /// The same request, for a stream or a whole result.
    pub(crate) fn with_room(self, is_stream: bool) -> Self {
        Self { is_stream, ..self }
    }

    /// The same request, with a record of inexact floats.
    pub(crate) fn with_notes(self, notes: Option<(usize, Inexact)>) -> Self {
        Self { notes, ..self }
    }

    fn with_cast(&self, cast: Option<Override>) -> Self {
        Self { cast, ..self.clone() }
    }
}

/// A column's builder, and the extension type that its field carries.
pub(crate) struct Built {
    pub(crate) builder: Box<dyn ColumnBuilder>,
    pub(crate) extension: Option<Extension>,
}

impl Built {
    fn of(builder: impl ColumnBuilder + 'static) -> Self {
        Self { builder: Box::new(builder), extension: None }
    }

    fn plain(builder: impl ColumnBuilder + 'static) -> Option<Self> {
        Some(Self::of(builder))
    }
}

/// The line of a type, by its OID.
pub fn type_of(oid: Oid) -> Option<&'static PgType> {
    TYPES.iter().find(|line| line.oid == oid)
}

/// A column's builder, and the format in which to request its values.
///
/// Casts to text that the type itself lacks: if the text depends on the server's settings, the
/// values are printed here, and otherwise the column is requested in the text format. An impossible
/// cast is returned as the error.
pub(crate) fn column_builder(
    pg_type: &Type,
    request: &Request,
) -> Result<(Built, Format), Override> {
    if let Some(built) = pg_type.builder(request) {
        return Ok((built, pg_type.format()));
    }
    let is_text =
        matches!(request.cast, Some(Override::Utf8 | Override::LargeUtf8 | Override::Utf8View));
    if let Some(printing) = server_text::builder(pg_type, request).filter(|_| is_text) {
        return Ok((printing, Format::Binary));
    }
    match (&request.cast, (text::TEXT.builder)(request)) {
        (Some(Override::Utf8 | Override::LargeUtf8 | Override::Utf8View), Some(built)) => {
            Ok((built, Format::Text))
        }
        (Some(cast), _) => Err(cast.clone()),
        // Unreachable, as a test of every type checks; bytes would be correct for any.
        (None, _) => Ok((opaque::column(), Format::Binary)),
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, TimeUnit};

    use super::*;

    #[test]
    fn lines_are_ordered_and_unique() {
        assert!(TYPES.windows(2).all(|pair| pair[0].oid < pair[1].oid));
        for line in TYPES {
            let same = |other: &&PgType| other.name == line.name || other.array_oid == line.oid;
            assert_eq!(TYPES.iter().filter(same).count(), 1, "{}", line.name);
        }
    }

    #[test]
    fn values_of_another_width_are_refused() {
        for line in TYPES.iter().chain(EXTENSION_TYPES) {
            let expected = |raw: &[u8]| match (line.value)(raw) {
                Err(Reason::WrongLength { expected, .. }) => Some(expected),
                _ => None,
            };
            // The last two are longer than every fixed width.
            let all = [&[][..], &[0; 100], &[0xff; 100]].map(expected);
            let is_fixed = all.iter().all(|one| one.is_some() && *one == all[0]);
            assert_eq!(line.width, all[0].filter(|_| is_fixed), "{}", line.name);
            if let Some(width) = line.width {
                assert!((line.value)(&vec![0; width]).is_ok(), "{}", line.name);
            }
        }
    }

    #[test]
    fn casts_are_what_the_builders_take() {
        let text = DataType::Utf8;
        let timestamp = |zone: Option<&str>| {
            DataType::Timestamp(TimeUnit::Second, zone.map(|zone| zone.to_owned().into()))
        };
        // The name on a type's line, the name in a schema, and the resulting type.
        let all = [
            ("bool", "bool", DataType::Boolean),
            ("int16", "int16", DataType::Int16),
            ("int32", "int32", DataType::Int32),
            ("int64", "int64", DataType::Int64),
            ("uint16", "uint16", DataType::UInt16),
            ("uint32", "uint32", DataType::UInt32),
            ("uint64", "uint64", DataType::UInt64),
            ("float32", "float32", DataType::Float32),
            ("float64", "float64", DataType::Float64),
            ("utf8", "utf8", text.clone()),
            ("large_utf8", "large_utf8", DataType::LargeUtf8),
            ("utf8_view", "utf8_view", DataType::Utf8View),
            (
                "dictionary<int32, utf8>",
                "dictionary<int32, utf8>",
                DataType::Dictionary(DataType::Int32.into(), text.into()),
            ),
            ("binary", "binary", DataType::Binary),
            ("U<characters>", "U3", DataType::FixedSizeBinary(12)),
            ("S<bytes>", "S3", DataType::FixedSizeBinary(3)),
            ("fixed_size_binary[16]", "fixed_size_binary[16]", DataType::FixedSizeBinary(16)),
            ("date32", "date32", DataType::Date32),
            ("time32[s]", "time32[s]", DataType::Time32(TimeUnit::Second)),
            ("time32[ms]", "time32[ms]", DataType::Time32(TimeUnit::Millisecond)),
            ("time64[us]", "time64[us]", DataType::Time64(TimeUnit::Microsecond)),
            ("time64[ns]", "time64[ns]", DataType::Time64(TimeUnit::Nanosecond)),
            ("duration[s]", "duration[s]", DataType::Duration(TimeUnit::Second)),
            ("duration[ms]", "duration[ms]", DataType::Duration(TimeUnit::Millisecond)),
            ("duration[us]", "duration[us]", DataType::Duration(TimeUnit::Microsecond)),
            ("duration[ns]", "duration[ns]", DataType::Duration(TimeUnit::Nanosecond)),
            ("timestamp[unit]", "timestamp[s]", timestamp(None)),
            ("timestamp[unit, zone]", "timestamp[s, Asia/Tokyo]", timestamp(Some("Asia/Tokyo"))),
            ("decimal128(p, s)", "decimal128(20, 5)", DataType::Decimal128(20, 5)),
            ("decimal256(p, s)", "decimal256(20, 5)", DataType::Decimal256(20, 5)),
        ];
        let opaque = std::iter::once((opaque::builder as BuilderFn, opaque::CASTS, "opaque"));
        let lines = TYPES.iter().map(|line| (line.builder, line.casts, line.name));
        for (builder, casts, name) in lines.chain(opaque) {
            let request = |cast| Request::new(-1, Infinity::Raise, cast);
            assert!(builder(&request(None)).is_some(), "{name}");
            for (listed, spelled, data_type) in &all {
                let parsed = spelled.parse::<Override>().unwrap();
                assert_eq!(parsed.to_string(), *spelled);
                let taken = builder(&request(Some(parsed)));
                assert_eq!(taken.is_some(), casts.contains(listed), "{name} as {spelled}");
                if let Some(built) = taken {
                    let data_type = match data_type {
                        // A column with a time zone keeps it.
                        DataType::Timestamp(_, None) if name == "timestamptz" => {
                            timestamp(Some("UTC"))
                        }
                        other => other.clone(),
                    };
                    assert_eq!(built.builder.data_type(), data_type, "{name} as {spelled}");
                }
            }
            let known = |cast| all.iter().any(|(listed, _, _)| *listed == cast);
            assert!(casts.iter().all(|cast| known(*cast)), "{name}: {casts:?}");
        }
    }

    #[test]
    fn names_and_formats() {
        let named = |oid| built_in(oid).map(|made| (made.name.as_str(), made.format()));
        assert_eq!(named(23), Some(("int4", Format::Binary)));
        assert_eq!(named(1007), Some(("int4[]", Format::Binary)));
        assert_eq!(named(1033), Some(("aclitem", Format::Text)));
        assert_eq!(named(1034), Some(("aclitem[]", Format::Text)));
        assert_eq!(named(6150), Some(("int4multirange[]", Format::Binary)));
        assert_eq!(named(99_999), None);
        assert_eq!(named(0), None);
    }
}
