//! The text of values whose printing depends on the server's settings, when a schema requests text:
//! dates and moments (DateStyle), intervals (IntervalStyle), floats and figures
//! (extra_float_digits), bytes (bytea_output), and everything that has such a part.
//!
//! They come in the binary format, and are printed here as the server prints them in ISO style with
//! all digits; a moment in UTC. So a role, a database or a variable changes nothing in the text.

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use colonnade_protocol::{Format, Span};

use super::nested_wire::Cursor;
use super::range::Frame;
use super::range::flags::{EMPTY, LOWER_INCLUSIVE, UPPER_INCLUSIVE};
use super::tree::{Attribute, Shape, Type};
use super::{
    Built, Kind, PgType, Request, array, array_text, composite, printed_line, varlen, written,
};
use crate::column::{ColumnBuilder, Fields};
use crate::error::{LayoutFault, Place, Reason, within};

/// The builder of text of a type that depends on settings; `None` for another type, or if only the
/// server can print a part of it.
pub(super) fn builder(pg_type: &Type, request: &Request) -> Option<Built> {
    if pg_type.has_codecs() || !depends_on_settings(pg_type) || !can_print(pg_type) {
        return None;
    }
    let Built { builder, extension } = varlen::text_builder::<varlen::AsIs>(request, None)?;
    let texts = (Vec::new(), Vec::new());
    let printing = TextBuilder { pg_type: pg_type.clone(), builder, texts };
    Some(Built { builder: Box::new(printing), extension })
}

fn depends_on_settings(pg_type: &Type) -> bool {
    match &pg_type.shape {
        Shape::Scalar(line) => {
            let is_figure = matches!(
                line.name,
                "point" | "lseg" | "path" | "box" | "polygon" | "line" | "circle"
            );
            let is_moment = matches!(line.name, "date" | "timestamp" | "timestamptz" | "interval");
            let is_number = matches!(line.name, "float4" | "float8" | "bytea");
            line.oid != 0 && (is_figure || is_moment || is_number)
        }
        Shape::Array(part) | Shape::Range(part) | Shape::Multirange(part) => {
            depends_on_settings(part)
        }
        Shape::Domain { base, .. } => depends_on_settings(base),
        Shape::Composite(attributes) => {
            attributes.iter().any(|attribute| depends_on_settings(&attribute.pg_type))
        }
        Shape::Enum(_) | Shape::Record(_) | Shape::Opaque | Shape::Custom { .. } => false,
    }
}

/// Whether values of the type in the binary format are printed here.
pub(crate) fn can_print(pg_type: &Type) -> bool {
    match &pg_type.shape {
        Shape::Scalar(line) => pg_type.format() == Format::Binary && printer(line).is_some(),
        Shape::Array(_) if pg_type.is_vector() => false,
        Shape::Array(part) | Shape::Range(part) | Shape::Multirange(part) => can_print(part),
        Shape::Domain { base, .. } => can_print(base),
        Shape::Composite(attributes) => {
            attributes.iter().all(|attribute| can_print(&attribute.pg_type))
        }
        Shape::Enum(_) => true,
        Shape::Record(_) | Shape::Opaque | Shape::Custom { .. } => false,
    }
}

/// The line that decodes values for printing; an extension's own type needs one that makes text.
fn printer(line: &'static PgType) -> Option<&'static PgType> {
    let printing = printed_line(line).unwrap_or(line);
    (line.oid != 0 || printing.kind == Kind::Text).then_some(printing)
}

/// Appends the text of a value in the binary format.
pub(crate) fn print(pg_type: &Type, raw: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
    match &pg_type.shape {
        Shape::Scalar(line) => {
            let printing = printer(line).unwrap_or(line);
            let value = (printing.value)(raw)?;
            // A value that was decoded can be written; NUL, which text refuses, cannot be in it.
            written::scalar(line, &value, out)
                .map_err(|_| Reason::from(LayoutFault::Trailing(raw.len())))
        }
        Shape::Domain { base, .. } => print(base, raw, out),
        Shape::Array(element) => print_array(element, raw, out),
        Shape::Range(subtype) => print_range(subtype, raw, out),
        Shape::Multirange(subtype) => print_multirange(subtype, raw, out),
        Shape::Composite(attributes) => print_composite(attributes, raw, out),
        Shape::Enum(_) | Shape::Record(_) | Shape::Opaque | Shape::Custom { .. } => {
            out.extend_from_slice(raw);
            Ok(())
        }
    }
}

fn print_array(element: &Type, raw: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
    let mut cursor = Cursor::whole(raw);
    let head = array::checked_head(&mut cursor, element.oid)?;
    let lengths = &head.lengths().collect::<Vec<_>>();
    if lengths.is_empty() {
        out.extend_from_slice(b"{}");
        return Ok(cursor.finish()?);
    }
    if head.lower_bounds().any(|lower| lower != 1) {
        for (lower, length) in head.lower_bounds().zip(lengths) {
            let upper = i64::from(lower) + *length as i64 - 1;
            out.extend_from_slice(format!("[{lower}:{upper}]").as_bytes());
        }
        out.push(b'=');
    }
    let delimiter = array_text::delimiter(element);
    let mut text = Vec::new();
    for index in 0..head.count {
        out.extend(if index == 0 { None } else { Some(delimiter) });
        out.extend(std::iter::repeat_n(b'{', array_text::boundaries(lengths, index)));
        match cursor.cell()?.slice(raw) {
            None => out.extend_from_slice(b"NULL"),
            Some(cell) => {
                text.clear();
                print(element, cell, &mut text)
                    .map_err(|reason| within(Place::Element(index), reason))?;
                let is_special = |byte: u8| matches!(byte, b'{' | b'}') || byte == delimiter;
                if text.eq_ignore_ascii_case(b"NULL") || needs_quotes(&text, is_special) {
                    array_text::push_quoted(&text, out);
                } else {
                    out.extend_from_slice(&text);
                }
            }
        }
        out.extend(std::iter::repeat_n(b'}', array_text::boundaries(lengths, index + 1)));
    }
    Ok(cursor.finish()?)
}

fn print_composite(attributes: &[Attribute], raw: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
    let mut cursor = Cursor::whole(raw);
    composite::read_head(&mut cursor, attributes.len())?;
    out.push(b'(');
    for (index, attribute) in attributes.iter().enumerate() {
        out.extend(if index == 0 { None } else { Some(b',') });
        let cell = composite::read_field(&mut cursor, attribute)?;
        let is_special = |byte: u8| matches!(byte, b'(' | b')' | b',');
        print_cell(&attribute.pg_type, cell.slice(raw), is_special, out)
            .map_err(|reason| within(Place::Field(attribute.name.clone()), reason))?;
    }
    out.push(b')');
    Ok(cursor.finish()?)
}

fn print_range(subtype: &Type, raw: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
    let frame = Frame::read(&mut Cursor::whole(raw))?;
    if frame.has(EMPTY) {
        out.extend_from_slice(b"empty");
        return Ok(());
    }
    let is_special = |byte: u8| matches!(byte, b'(' | b')' | b'[' | b']' | b',');
    out.push(if frame.has(LOWER_INCLUSIVE) { b'[' } else { b'(' });
    print_cell(subtype, frame.lower.slice(raw), is_special, out)
        .map_err(|reason| within(Place::LowerBound, reason))?;
    out.push(b',');
    print_cell(subtype, frame.upper.slice(raw), is_special, out)
        .map_err(|reason| within(Place::UpperBound, reason))?;
    out.push(if frame.has(UPPER_INCLUSIVE) { b']' } else { b')' });
    Ok(())
}

fn print_multirange(subtype: &Type, raw: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
    let mut cursor = Cursor::whole(raw);
    let claimed = cursor.int()?;
    out.push(b'{');
    for index in 0..usize::try_from(claimed).map_err(|_| LayoutFault::Truncated)? {
        out.extend(if index == 0 { None } else { Some(b',') });
        let range = cursor.cell()?.slice(raw).ok_or(LayoutFault::Truncated)?;
        print_range(subtype, range, out).map_err(|reason| within(Place::Element(index), reason))?;
    }
    out.push(b'}');
    Ok(cursor.finish()?)
}

/// A field or a bound; NULL is nothing. Unlike in arrays, quotes and backslashes are doubled.
fn print_cell(
    pg_type: &Type,
    raw: Option<&[u8]>,
    is_special: impl Fn(u8) -> bool,
    out: &mut Vec<u8>,
) -> Result<(), Reason> {
    let Some(raw) = raw else { return Ok(()) };
    let mut text = Vec::new();
    print(pg_type, raw, &mut text)?;
    if !needs_quotes(&text, is_special) {
        out.extend_from_slice(&text);
        return Ok(());
    }
    out.push(b'"');
    for byte in text {
        out.extend(if matches!(byte, b'"' | b'\\') { Some(byte) } else { None });
        out.push(byte);
    }
    out.push(b'"');
    Ok(())
}

fn needs_quotes(text: &[u8], is_special: impl Fn(u8) -> bool) -> bool {
    let is_space = |byte: u8| matches!(byte, b' ' | b'\t'..=b'\r');
    text.is_empty()
        || text
            .iter()
            .any(|byte| matches!(byte, b'"' | b'\\') || is_space(*byte) || is_special(*byte))
}

/// Prints each block and passes the texts on to a builder of text.
struct TextBuilder {
    pg_type: Type,
    builder: Box<dyn ColumnBuilder>,
    /// Scratch: the texts of a block, one after another, and their places.
    texts: (Vec<u8>, Vec<Span>),
}

impl ColumnBuilder for TextBuilder {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        let (bytes, spans) = &mut self.texts;
        bytes.clear();
        spans.clear();
        let mut fault = None;
        for (row, field) in fields.iter().enumerate() {
            let Some(raw) = field else {
                spans.push(Span::NULL);
                continue;
            };
            let start = bytes.len();
            if let Err(reason) = print(&self.pg_type, raw, bytes) {
                fault = Some((row, reason));
                break;
            }
            spans.push(Span::new(start, bytes.len() - start));
        }
        self.builder.append(Fields::new(bytes, spans))?;
        fault.map_or(Ok(()), Err)
    }

    fn finish(&mut self) -> ArrayRef {
        self.builder.finish()
    }

    fn data_type(&self) -> DataType {
        self.builder.data_type()
    }

    fn nbytes(&self) -> usize {
        self.builder.nbytes()
    }
}
