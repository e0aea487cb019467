//! Values in the text format, for types that only the server parses, and for arrays, composites and
//! ranges with such a part. They cannot be sent in the binary format.
//!
//! A value is first encoded as its carrier: the same type, with text in place of the parts that
//! only the server parses. So every part is checked and converted as anywhere else. The result is
//! then decoded and printed.

use std::io::Write;
use std::sync::Arc;

use colonnade_protocol::{Format, Oid};

use super::extensions::printed_line;
use super::tree::{Attribute, Shape, Type};
use super::{PgType, array_text, built_in, float_text, network, text, type_of};
use crate::calendar::{DAY_US, civil_from_days, clock_from_us};
use crate::error::{EncodeError, Place};
use crate::interval_text::interval_text;
use crate::value::{Bits, Range, Sign, Value};

/// A value is smaller than 1 GiB; 1 MiB in tests, to save memory.
const BYTES_END: usize = if cfg!(test) { 1 << 20 } else { 1 << 30 };

/// The OID of `text`.
const TEXT: Oid = 25;

/// How to write values of one type.
pub(crate) struct TextForm {
    /// Without domains and codecs.
    pg_type: Type,
    carrier: Arc<Type>,
}

/// The form in which composites, ranges and multiranges with such a part are given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parts {
    /// Each value is a single text.
    Whole,
    /// Each value is given by its parts.
    Apart,
}

impl TextForm {
    /// For values whose composites and ranges are single texts. `None` if a part has no text format
    /// or no format at all.
    pub(crate) fn of_texts(pg_type: &Type) -> Option<Self> {
        Self::of(pg_type, Parts::Whole)
    }

    /// For values whose composites and ranges are given by their parts. `None` as for `of_texts`.
    pub(crate) fn of_parts(pg_type: &Type) -> Option<Self> {
        Self::of(pg_type, Parts::Apart)
    }

    fn of(pg_type: &Type, parts: Parts) -> Option<Self> {
        let pg_type = pg_type.without_codecs();
        let carrier = carrier(&pg_type, parts).map(Arc::new)?;
        Some(Self { pg_type, carrier })
    }

    /// The type whose binary format [`TextForm::write`] takes.
    pub(crate) fn carrier(&self) -> &Arc<Type> {
        &self.carrier
    }

    /// Appends the text format of a value given in the carrier's binary format.
    pub(crate) fn write(&self, carried: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let Ok(value) = self.carrier.value(carried) else {
            // A carrier decodes its own output, unless values are nested deeper than any type.
            return Err(EncodeError::TextOnly { given: "a value of too many levels" });
        };
        print(&self.pg_type, &value, out)
    }
}

/// Appends the text format of a value.
pub(crate) fn encode(
    pg_type: &Type,
    value: &Value<'_>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let form = if pg_type.has_codecs() { None } else { TextForm::of_parts(pg_type) };
    let form = form.ok_or(EncodeError::TextOnly { given: value.describe() })?;
    let mut carried = Vec::new();
    form.carrier.encode(value, &mut carried)?;
    form.write(&carried, out)
}

/// The type that carries another type's values. It has no domains and no codecs.
fn carrier(pg_type: &Type, parts: Parts) -> Option<Type> {
    let part = |part: &Arc<Type>| carrier(part, parts).map(Arc::new);
    let is_text = pg_type.parameter_format() == Format::Text;
    let shape = match &pg_type.shape {
        Shape::Array(element) if pg_type.is_vector() => {
            let Shape::Scalar(line) = &element.shape else { return None };
            return built_in(line.array_oid).map(|list| Type::clone(list));
        }
        Shape::Scalar(line) => Shape::Scalar(carrying_line(line)?),
        Shape::Array(element) => Shape::Array(part(element)?),
        Shape::Composite(_) | Shape::Range(_) | Shape::Multirange(_)
            if is_text && parts == Parts::Whole =>
        {
            Shape::Scalar(type_of(TEXT)?)
        }
        Shape::Range(subtype) => Shape::Range(part(subtype)?),
        Shape::Multirange(subtype) => Shape::Multirange(part(subtype)?),
        Shape::Composite(attributes) => {
            let carried = |attribute: &Attribute| {
                let pg_type = part(&attribute.pg_type)?;
                Some(Attribute { pg_type, ..attribute.clone() })
            };
            Shape::Composite(attributes.iter().map(carried).collect::<Option<_>>()?)
        }
        Shape::Enum(_) => pg_type.shape.clone(),
        Shape::Record(_) | Shape::Opaque | Shape::Domain { .. } | Shape::Custom { .. } => {
            return None;
        }
    };
    Some(Type { shape, ..pg_type.clone() })
}

fn carrying_line(line: &'static PgType) -> Option<&'static PgType> {
    match line.parameter {
        Format::Text => type_of(TEXT),
        Format::Binary => Some(printed_line(line).unwrap_or(line)),
    }
}

fn print(pg_type: &Type, value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match (&pg_type.shape, value) {
        (Shape::Array(_), Value::List(list)) if pg_type.is_vector() => {
            array_text::encode_vector(list, out)
        }
        (Shape::Array(element), Value::List(list)) => {
            array_text::encode(list, array_text::delimiter(element), out, |value, out| {
                print(element, value, out)
            })
        }
        (Shape::Composite(attributes), Value::Composite(values)) => {
            composite(attributes, values, out)
        }
        (Shape::Range(subtype), Value::Range(value)) => range(subtype, value, out),
        (Shape::Multirange(subtype), Value::Multirange(ranges)) => {
            out.push(b'{');
            for (index, value) in ranges.iter().enumerate() {
                out.extend(if index == 0 { None } else { Some(b',') });
                range(subtype, value, out).map_err(|error| error.within(Place::Element(index)))?;
            }
            out.push(b'}');
            Ok(())
        }
        (Shape::Scalar(line), value) => scalar(line, value, out),
        _ => (text::TEXT.encode)(value, out),
    }
}

fn composite(
    attributes: &[Attribute],
    values: &[Value<'_>],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    out.push(b'(');
    for (index, (attribute, value)) in attributes.iter().zip(values).enumerate() {
        out.extend(if index == 0 { None } else { Some(b',') });
        quoted(&attribute.pg_type, value, out)
            .map_err(|error| error.within(Place::Field(attribute.name.clone())))?;
    }
    out.push(b')');
    Ok(())
}

fn range(subtype: &Type, value: &Range<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let Range::Bounds { lower, upper, lower_inclusive, upper_inclusive } = value else {
        out.extend_from_slice(b"empty");
        return Ok(());
    };
    out.push(if *lower_inclusive { b'[' } else { b'(' });
    quoted(subtype, lower, out).map_err(|error| error.within(Place::LowerBound))?;
    out.push(b',');
    quoted(subtype, upper, out).map_err(|error| error.within(Place::UpperBound))?;
    out.push(if *upper_inclusive { b']' } else { b')' });
    Ok(())
}

/// Writes a field or a bound; NULL is written as nothing.
fn quoted(pg_type: &Type, value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    if *value == Value::Null {
        return Ok(());
    }
    let mut text = Vec::new();
    print(pg_type, value, &mut text)?;
    array_text::push_quoted(&text, out);
    // Nested quotes grow with each level.
    if out.len() >= BYTES_END { Err(EncodeError::TooLong { bytes: out.len() }) } else { Ok(()) }
}

/// As the server prints it in ISO style with all digits, which it reads under any of its settings.
pub(super) fn scalar(
    line: &PgType,
    value: &Value<'_>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let written = match value {
        Value::Bool(is_true) => out.write_all(if *is_true { b"t" } else { b"f" }),
        Value::UInt(place) if line.name == "pg_lsn" => {
            write!(out, "{:X}/{:X}", place >> 32, place & u64::from(u32::MAX))
        }
        Value::Int(number) => write!(out, "{number}"),
        Value::UInt(number) => write!(out, "{number}"),
        Value::Float(number) => write!(out, "{}", float8(*number)),
        Value::Float32(number) => {
            let mut digits = String::new();
            float_text::print_float4(*number, &mut digits);
            write!(out, "{digits}")
        }
        Value::Numeric(digits) => write!(out, "{digits}"),
        Value::Bytes(bytes) if line.name == "char" => match **bytes {
            [] | [0] => Ok(()),
            [byte @ 1..=127] => out.write_all(&[byte]),
            [byte, ..] => write!(out, "\\{byte:03o}"),
        },
        Value::Bytes(bytes) => {
            out.extend_from_slice(b"\\x");
            bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
        }
        Value::Uuid(bytes) => bytes.iter().enumerate().try_for_each(|(index, byte)| {
            let dash = if matches!(index, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(out, "{dash}{byte:02x}")
        }),
        Value::Bits(bits) => print_bits(bits, out),
        Value::Network(network) => {
            network::print(network, out);
            Ok(())
        }
        Value::Tid { block, offset } => write!(out, "({block},{offset})"),
        Value::Snapshot { xmin, xmax, running } => {
            let running: Vec<_> = running.iter().map(u64::to_string).collect();
            write!(out, "{xmin}:{xmax}:{}", running.join(","))
        }
        Value::Date(_)
        | Value::DateInfinity(_)
        | Value::Time(_)
        | Value::Timestamp(_)
        | Value::TimestampTz(_)
        | Value::TimestampInfinity(_)
        | Value::Interval { .. }
        | Value::IntervalInfinity(_)
        | Value::TimeTz { .. } => print_moment(value, out),
        Value::Point(_)
        | Value::Line(_)
        | Value::LineSegment(_)
        | Value::Box(_)
        | Value::Circle(_)
        | Value::Path { .. }
        | Value::Polygon(_) => print_figure(value, out),
        other => return (text::TEXT.encode)(other, out),
    };
    // Writing to a vector does not fail.
    written.map_err(|_| EncodeError::TextOnly { given: value.describe() })
}

fn float8(number: f64) -> String {
    let mut digits = String::new();
    float_text::print_float8(number, &mut digits);
    digits
}

fn print_bits(bits: &Bits<'_>, out: &mut Vec<u8>) -> std::io::Result<()> {
    let digit = |place: usize| {
        let byte = bits.bytes.get(place / 8).copied().unwrap_or(0);
        b'0' + (byte >> (7 - place % 8) & 1)
    };
    out.extend((0..bits.len).map(digit));
    Ok(())
}

fn print_moment(value: &Value<'_>, out: &mut Vec<u8>) -> std::io::Result<()> {
    match *value {
        Value::DateInfinity(sign)
        | Value::TimestampInfinity(sign)
        | Value::IntervalInfinity(sign) => {
            let minus = if sign == Sign::Negative { "-" } else { "" };
            write!(out, "{minus}infinity")
        }
        Value::Date(days) => {
            let era = print_day(days.into(), out)?;
            write!(out, "{era}")
        }
        Value::Time(micros) => print_clock(micros, out),
        Value::Timestamp(micros) | Value::TimestampTz(micros) => {
            let era = print_day(micros.div_euclid(DAY_US), out)?;
            out.push(b' ');
            print_clock(micros.rem_euclid(DAY_US), out)?;
            let zone = if matches!(value, Value::TimestampTz(_)) { "+00" } else { "" };
            write!(out, "{zone}{era}")
        }
        Value::TimeTz { micros, offset_s } => {
            print_clock(micros, out)?;
            let sign = if offset_s < 0 { '-' } else { '+' };
            let (hours, minutes, seconds, _) =
                clock_from_us(i64::from(offset_s).abs().saturating_mul(1_000_000));
            write!(out, "{sign}{hours:02}")?;
            match (minutes, seconds) {
                (0, 0) => Ok(()),
                (minutes, 0) => write!(out, ":{minutes:02}"),
                (minutes, seconds) => write!(out, ":{minutes:02}:{seconds:02}"),
            }
        }
        Value::Interval { months, days, micros } => {
            write!(out, "{}", interval_text(months, days, micros))
        }
        _ => Ok(()),
    }
}

/// Prints year, month and day; returns the suffix that follows the date and time.
fn print_day(days: i64, out: &mut Vec<u8>) -> std::io::Result<&'static str> {
    let civil = civil_from_days(days);
    let (year, era) = if civil.year > 0 { (civil.year, "") } else { (1 - civil.year, " BC") };
    write!(out, "{year:04}-{:02}-{:02}", civil.month, civil.day)?;
    Ok(era)
}

fn print_clock(micros: i64, out: &mut Vec<u8>) -> std::io::Result<()> {
    let (hours, minutes, seconds, micros) = clock_from_us(micros);
    write!(out, "{hours:02}:{minutes:02}:{seconds:02}")?;
    if micros == 0 {
        return Ok(());
    }
    write!(out, "{}", format!(".{micros:06}").trim_end_matches('0'))
}

fn print_figure(value: &Value<'_>, out: &mut Vec<u8>) -> std::io::Result<()> {
    let point = |x: &f64, y: &f64| format!("({},{})", float8(*x), float8(*y));
    let joined = |points: &[[f64; 2]]| {
        let points: Vec<_> = points.iter().map(|[x, y]| point(x, y)).collect();
        points.join(",")
    };
    match value {
        Value::Point([x, y]) => write!(out, "{}", point(x, y)),
        Value::Line([a, b, c]) => write!(out, "{{{},{},{}}}", float8(*a), float8(*b), float8(*c)),
        Value::LineSegment([x, y, u, v]) => write!(out, "[{},{}]", point(x, y), point(u, v)),
        Value::Box([x, y, u, v]) => write!(out, "{},{}", point(x, y), point(u, v)),
        Value::Circle([x, y, radius]) => write!(out, "<{},{}>", point(x, y), float8(*radius)),
        Value::Path { is_closed: false, points } => write!(out, "[{}]", joined(points)),
        Value::Path { points, .. } | Value::Polygon(points) => {
            write!(out, "({})", joined(points))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::types::TYPES;
    use crate::value::List;

    fn composite_of(parts: &[(&str, Arc<Type>)]) -> Arc<Type> {
        let attribute = |(name, pg_type): &(&str, Arc<Type>)| Attribute {
            name: (*name).to_owned(),
            pg_type: Arc::clone(pg_type),
            type_modifier: -1,
        };
        let shape = Shape::Composite(parts.iter().map(attribute).collect());
        let (name, schema) = ("made".to_owned(), "public".to_owned());
        Arc::new(Type { oid: 70_000, name, schema, shape })
    }

    fn built(oid: Oid) -> Arc<Type> {
        Arc::clone(built_in(oid).unwrap())
    }

    /// `tsvector`, which forces its neighbours into text.
    fn words() -> Arc<Type> {
        built(3614)
    }

    fn written(pg_type: &Type, value: &Value<'_>) -> Result<String, EncodeError> {
        let mut out = Vec::new();
        pg_type.encode(value, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    /// The text of one value next to a NULL `tsvector`, without its quotes.
    fn part(oid: Oid, value: Value<'static>) -> String {
        let pair = composite_of(&[("a", built(oid)), ("words", words())]);
        let text = written(&pair, &Value::Composite(vec![value, Value::Null])).unwrap();
        text.strip_prefix("(\"").unwrap().strip_suffix("\",)").unwrap().to_owned()
    }

    #[test]
    fn scalars() {
        let interval = Value::Interval { months: -14, days: 3, micros: 1 };
        let snapshot = Value::Snapshot { xmin: 1, xmax: 9, running: vec![3, 5] };
        let bits = Value::Bits(Bits { len: 9, bytes: vec![0b1010_0000, 0x80].into() });
        let cases = [
            (16, Value::Bool(true), "t"),
            (17, Value::Bytes(vec![0, 255].into()), r"\\x00ff"),
            (18, Value::Bytes(vec![0].into()), ""),
            (18, Value::Bytes(vec![200].into()), r"\\310"),
            (20, Value::Int(i64::MIN), "-9223372036854775808"),
            (700, Value::Float32(0.1), "0.1"),
            (701, Value::Float(-1e300), "-1e+300"),
            (701, Value::Float(f64::NAN), "NaN"),
            (701, Value::Float(f64::NEG_INFINITY), "-Infinity"),
            (1082, Value::Date(0), "1970-01-01"),
            (1082, Value::Date(-719_163), "0001-12-31 BC"),
            (1082, Value::DateInfinity(Sign::Negative), "-infinity"),
            (1083, Value::Time(86_400_000_000), "24:00:00"),
            (1114, Value::Timestamp(-1), "1969-12-31 23:59:59.999999"),
            (1184, Value::TimestampTz(1), "1970-01-01 00:00:00.000001+00"),
            (1184, Value::TimestampInfinity(Sign::Positive), "infinity"),
            (1186, interval, "-1 years -2 mons +3 days 00:00:00.000001"),
            (1186, Value::IntervalInfinity(Sign::Positive), "infinity"),
            (1266, Value::TimeTz { micros: 0, offset_s: -3_661 }, "00:00:00-01:01:01"),
            (1562, bits, "101000001"),
            (1700, Value::Numeric("1.50".into()), "1.50"),
            (2950, Value::Uuid([7; 16]), "07070707-0707-0707-0707-070707070707"),
            (3220, Value::UInt(0x16_B374_D848), "16/B374D848"),
            (5069, Value::UInt(u64::MAX), "18446744073709551615"),
            (27, Value::Tid { block: 1, offset: 2 }, "(1,2)"),
            (5038, snapshot, "1:9:3,5"),
            (600, Value::Point([1.0, -2.5]), "(1,-2.5)"),
            (628, Value::Line([1.0, 2.0, 3.0]), "{1,2,3}"),
            (718, Value::Circle([0.0, 0.0, 1.0]), "<(0,0),1>"),
            (602, Value::Path { is_closed: false, points: vec![[0.0, 1.0]] }, "[(0,1)]"),
            (602, Value::Path { is_closed: true, points: vec![[0.0, 1.0]] }, "((0,1))"),
            (869, Value::Text("::1/64".into()), "::1/64"),
            (
                22,
                Value::List(List { dimensions: vec![2], elements: vec![Value::Int(1); 2] }),
                "1 1",
            ),
            (25, Value::Text(r#"a"b\c"#.into()), r#"a\"b\\c"#),
        ];
        for (oid, value, expected) in cases {
            assert_eq!(part(oid, value.clone()), expected, "{value:?}");
        }
    }

    #[test]
    fn parts_within_parts() {
        let range = Arc::new(Type { shape: Shape::Range(words()), ..(*words()).clone() });
        let many = Arc::new(Type { shape: Shape::Multirange(words()), ..(*words()).clone() });
        let made = composite_of(&[("b", built(1020)), ("r", range), ("m", many), ("w", words())]);
        let boxes = List { dimensions: vec![2], elements: vec![Value::Box([1.0; 4]), Value::Null] };
        let bounds = || Range::Bounds {
            lower: Value::Text("'a'".into()),
            upper: Value::Null,
            lower_inclusive: true,
            upper_inclusive: false,
        };
        let value = Value::Composite(vec![
            Value::List(boxes),
            Value::Range(Box::new(Range::Empty)),
            Value::Multirange(vec![bounds(), Range::Empty]),
            Value::Text("".into()),
        ]);
        let expected = r#"("{\"(1,1),(1,1)\";NULL}","empty","{[\"'a'\",),empty}","")"#;
        assert_eq!(written(&made, &value).unwrap(), expected);
    }

    #[test]
    fn what_has_no_text() {
        let made = composite_of(&[("a", Arc::new(Type::opaque(90_000))), ("w", words())]);
        assert!(TextForm::of_parts(&made).is_none());
        let error = written(&made, &Value::Composite(vec![Value::Null, Value::Null])).unwrap_err();
        assert_eq!(error, EncodeError::TextOnly { given: "a composite" });
        let pair = composite_of(&[("a", built(23)), ("w", words())]);
        let wrong = Value::Composite(vec![Value::Int(1 << 40), Value::Null]);
        assert!(written(&pair, &wrong).unwrap_err().to_string().contains("out of range"));
    }

    /// Nested quotes double with each level, until memory would be exhausted.
    #[test]
    fn quotes_without_end() {
        let mut pg_type = words();
        let mut value = Value::Text("'a'".into());
        for _ in 0..40 {
            pg_type = composite_of(&[("w", pg_type)]);
            value = Value::Composite(vec![value]);
        }
        assert!(matches!(quotes(&pg_type, &value), EncodeError::TooLong { .. }));
    }

    fn quotes(pg_type: &Type, value: &Value<'_>) -> EncodeError {
        let mut error = written(pg_type, value).unwrap_err();
        while let EncodeError::Within(_, inner) = error {
            error = *inner;
        }
        error
    }

    #[test]
    fn every_type_of_the_table_has_a_carrier() {
        for line in TYPES {
            let pair = composite_of(&[("a", built(line.oid)), ("w", words())]);
            let form = TextForm::of_parts(&pair).unwrap();
            assert_eq!(form.carrier().parameter_format(), Format::Binary, "{}", line.name);
        }
    }

    proptest! {
        /// The text of every value of every type can be written.
        #[test]
        fn any_value(
            line in prop::sample::select(TYPES),
            raw in prop::collection::vec(any::<u8>(), 0..24),
        ) {
            let Ok(value) = (line.value)(&raw) else { return Ok(()) };
            let pair = composite_of(&[("a", built(line.oid)), ("w", words())]);
            let value = Value::Composite(vec![value.into_owned(), Value::Null]);
            if let Err(error) = written(&pair, &value) {
                let shown = error.to_string();
                prop_assert!(shown.contains("NUL") || line.kind == crate::Kind::Void, "{shown}");
            }
        }
    }
}
