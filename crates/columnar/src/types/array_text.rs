//! Arrays in the text format, the only one if the elements have no binary format: braces, commas
//! between elements, quotes around elements with special characters, a backslash before a literal
//! special character, NULL for a NULL.

use std::borrow::Cow;

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use colonnade_protocol::Span;

use super::array::Levels;
use super::nested_wire::DIMENSIONS_MAX;
use super::part::Part;
use super::tree::{Shape, Type};
use super::{Built, Request};
use crate::column::{ColumnBuilder, Fields};
use crate::error::{EncodeError, Reason};
use crate::error::{LayoutFault, Place, within};
use crate::validity::Validity;
use crate::value::{List, Value};

pub(super) fn builder(element: &Type, request: &Request) -> Built {
    Built::of(TextListBuilder {
        levels: Levels::new(),
        validity: Validity::default(),
        elements: Part::new("item", element, request.type_modifier, request),
    })
}

/// An array as a value.
pub(super) fn value<'a>(element: &Type, raw: &'a [u8]) -> Result<Value<'a>, Reason> {
    let parsed = Parsed::read(raw)?;
    let mut elements = Vec::with_capacity(parsed.cells.len());
    for (index, cell) in parsed.cells.iter().enumerate() {
        elements.push(match cell.slice(&parsed.bytes) {
            None => Value::Null,
            Some(cell) => element
                .value(cell)
                .map(Value::into_owned)
                .map_err(|reason| within(Place::Element(index), reason))?,
        });
    }
    Ok(Value::List(List { dimensions: parsed.lengths, elements }))
}

/// The delimiter between two elements.
pub(super) fn delimiter(element: &Type) -> u8 {
    match &element.bare().shape {
        Shape::Scalar(line) if line.name == "box" => b';',
        // As PostGIS defines them.
        Shape::Scalar(line) if matches!(line.name, "geometry" | "geography") => b':',
        _ => b',',
    }
}

/// Appends the text format of an array; `encode_element` appends that of an element.
pub(super) fn encode(
    list: &List<'_>,
    delimiter: u8,
    out: &mut Vec<u8>,
    mut encode_element: impl FnMut(&Value<'_>, &mut Vec<u8>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    if list.dimensions.is_empty() {
        out.extend_from_slice(b"{}");
        return Ok(());
    }
    let mut text = Vec::new();
    for (index, value) in list.elements.iter().enumerate() {
        let opened = boundaries(&list.dimensions, index);
        out.extend(if index == 0 { None } else { Some(delimiter) });
        out.extend(std::iter::repeat_n(b'{', opened));
        if *value == Value::Null {
            out.extend_from_slice(b"NULL");
        } else {
            text.clear();
            encode_element(value, &mut text)
                .map_err(|error| error.within(Place::Element(index)))?;
            push_quoted(&text, out);
        }
        out.extend(std::iter::repeat_n(b'}', boundaries(&list.dimensions, index + 1)));
    }
    Ok(())
}

/// Appends the text format of an `int2vector` or `oidvector`: numbers separated by spaces.
pub(super) fn encode_vector(list: &List<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    for (index, value) in list.elements.iter().enumerate() {
        out.extend(if index == 0 { None } else { Some(b' ') });
        match value {
            Value::Int(number) if list.dimensions.len() == 1 => {
                out.extend_from_slice(number.to_string().as_bytes());
            }
            Value::UInt(number) if list.dimensions.len() == 1 => {
                out.extend_from_slice(number.to_string().as_bytes());
            }
            other => {
                let given = other.describe();
                let error = EncodeError::WrongKind { expected: "an int", given };
                return Err(error.within(Place::Element(index)));
            }
        }
    }
    Ok(())
}

/// The number of dimensions that begin, or end, at the boundary before an element.
pub(super) fn boundaries(dimensions: &[usize], index: usize) -> usize {
    let mut size = 1_usize;
    let is_boundary = |length: &&usize| {
        size = size.saturating_mul(**length);
        size > 0 && index.is_multiple_of(size)
    };
    dimensions.iter().rev().take_while(is_boundary).count()
}

/// Appends a text in quotes, as in an array, a composite or a range.
pub(super) fn push_quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'"');
}

/// A parsed text format.
struct Parsed<'a> {
    /// The elements' texts, without quotes and backslashes.
    bytes: Cow<'a, [u8]>,
    /// The position of each in `bytes`.
    cells: Vec<Span>,
    /// The length of each dimension; empty if there are no elements.
    lengths: Vec<usize>,
}

impl<'a> Parsed<'a> {
    fn read(raw: &'a [u8]) -> Result<Self, LayoutFault> {
        let mut parser =
            Parser { raw, position: body_start(raw), bytes: Vec::new(), is_after_value: false };
        let mut cells = Vec::new();
        let mut counts = vec![0_usize; DIMENSIONS_MAX];
        let mut lengths: Vec<Option<usize>> = vec![None; DIMENSIONS_MAX];
        let mut depth = 0;
        let mut deepest = 0;
        let mut depth_of_elements = None;
        loop {
            match parser.next_token()? {
                Token::Open if depth < DIMENSIONS_MAX => {
                    // A dimension has lists or elements, not both.
                    if depth_of_elements.is_some_and(|deepest| depth >= deepest) {
                        return Err(parser.fault());
                    }
                    if let Some(count) = counts.get_mut(depth) {
                        *count = 0;
                    }
                    depth += 1;
                    deepest = deepest.max(depth);
                }
                Token::Element(span) if depth > 0 => {
                    // Only the innermost lists have elements.
                    if *depth_of_elements.get_or_insert(depth) != depth || depth != deepest {
                        return Err(parser.fault());
                    }
                    cells.push(span);
                    count_one(&mut counts, depth);
                }
                Token::Close if depth > 0 => {
                    depth -= 1;
                    let count = counts.get(depth).copied().unwrap_or(0);
                    let Some(length) = lengths.get_mut(depth) else { return Err(parser.fault()) };
                    if *length.get_or_insert(count) != count {
                        return Err(parser.fault());
                    }
                    if depth == 0 {
                        break;
                    }
                    count_one(&mut counts, depth);
                }
                _ => return Err(parser.fault()),
            }
        }
        if parser.position != raw.len() {
            return Err(parser.fault());
        }
        let lengths = match depth_of_elements {
            Some(deepest) => lengths.into_iter().take(deepest).flatten().collect(),
            None => Vec::new(),
        };
        Ok(Self { bytes: Cow::Owned(parser.bytes), cells, lengths })
    }
}

fn count_one(counts: &mut [usize], depth: usize) {
    if let Some(count) = counts.get_mut(depth - 1) {
        *count += 1;
    }
}

/// The position of the first brace: lower bounds other than 1 precede it, as in `[0:1]={a,b}`.
fn body_start(raw: &[u8]) -> usize {
    match raw {
        [b'[', ..] => raw.iter().position(|byte| *byte == b'=').map_or(0, |place| place + 1),
        _ => 0,
    }
}

enum Token {
    Open,
    Close,
    Element(Span),
}

struct Parser<'a> {
    raw: &'a [u8],
    position: usize,
    /// The elements' texts so far.
    bytes: Vec<u8>,
    /// The last token was an element or a list: a comma or the end must follow.
    is_after_value: bool,
}

impl Parser<'_> {
    fn fault(&self) -> LayoutFault {
        LayoutFault::ArrayText { position: self.position }
    }

    fn peek(&self) -> Result<u8, LayoutFault> {
        self.raw.get(self.position).copied().ok_or_else(|| self.fault())
    }

    fn next_byte(&mut self) -> Result<u8, LayoutFault> {
        let byte = self.peek()?;
        self.position += 1;
        Ok(byte)
    }

    /// The next token; skips a comma before it.
    fn next_token(&mut self) -> Result<Token, LayoutFault> {
        let follows_comma = self.peek()? == b',';
        self.position += usize::from(follows_comma);
        let next = self.peek()?;
        // A comma separates two values; the end follows a value or an opening brace.
        let is_in_place = match next {
            b'}' => !follows_comma,
            _ => follows_comma == self.is_after_value,
        };
        if !is_in_place {
            return Err(self.fault());
        }
        self.is_after_value = next != b'{';
        match next {
            b'{' => {
                self.position += 1;
                Ok(Token::Open)
            }
            b'}' => {
                self.position += 1;
                Ok(Token::Close)
            }
            b'"' => {
                self.position += 1;
                self.quoted()
            }
            _ => self.bare(),
        }
    }

    fn quoted(&mut self) -> Result<Token, LayoutFault> {
        let start = self.bytes.len();
        loop {
            let byte = match self.next_byte()? {
                b'"' => break,
                b'\\' => self.next_byte()?,
                other => other,
            };
            self.bytes.push(byte);
        }
        Ok(Token::Element(Span::new(start, self.bytes.len() - start)))
    }

    fn bare(&mut self) -> Result<Token, LayoutFault> {
        let start = self.bytes.len();
        let first = self.position;
        while !matches!(self.peek()?, b',' | b'{' | b'}' | b'"') {
            let byte = match self.next_byte()? {
                b'\\' => self.next_byte()?,
                other => other,
            };
            self.bytes.push(byte);
        }
        let written = self.raw.get(first..self.position).unwrap_or(&[]);
        if written.eq_ignore_ascii_case(b"NULL") {
            self.bytes.truncate(start);
            return Ok(Token::Element(Span::NULL));
        }
        if written.is_empty() {
            return Err(self.fault());
        }
        Ok(Token::Element(Span::new(start, self.bytes.len() - start)))
    }
}

/// Builds a column of lists from texts. These types are rare, so a block is processed value by
/// value.
struct TextListBuilder {
    levels: Levels,
    validity: Validity,
    elements: Part,
}

impl TextListBuilder {
    fn append_value(&mut self, raw: &[u8]) -> Result<(), Reason> {
        let parsed = Parsed::read(raw)?;
        self.levels.push(&parsed.lengths)?;
        self.elements
            .append(Fields::new(&parsed.bytes, &parsed.cells))
            .map_err(|(index, reason)| within(Place::Element(index), reason))
    }
}

impl ColumnBuilder for TextListBuilder {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        let mut nulls = 0;
        for (row, field) in fields.iter().enumerate() {
            let appended = match field {
                Some(raw) => self.append_value(raw),
                None => {
                    nulls += 1;
                    self.levels.push(&[]).map_err(Reason::from)
                }
            };
            appended.map_err(|reason| (row, reason))?;
        }
        self.validity.append(fields, nulls, &[]);
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        let (field, elements) = self.elements.finish();
        self.levels.finish(field, elements, &mut self.validity)
    }

    fn data_type(&self) -> DataType {
        self.levels.data_type(self.elements.field())
    }

    fn nbytes(&self) -> usize {
        self.levels.nbytes() + self.validity.nbytes() + self.elements.builder.nbytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, text};
    use crate::types::{EXTENSION_TYPES, TYPES, built_in};

    /// `aclitem[]`, whose elements have no binary format; their content is not checked.
    const ACLITEMS: u32 = 1034;

    fn parsed(raw: &str) -> Result<(Vec<usize>, Vec<Option<String>>), Reason> {
        match built_in(ACLITEMS).unwrap().value(raw.as_bytes())? {
            Value::List(list) => {
                let text = |value| match value {
                    Value::Text(text) => Some(text.into_owned()),
                    _ => None,
                };
                Ok((list.dimensions, list.elements.into_iter().map(text).collect()))
            }
            other => panic!("{other:?}"),
        }
    }

    fn texts(texts: &[&str]) -> Vec<Option<String>> {
        texts.iter().map(|text| Some((*text).to_owned())).collect()
    }

    #[test]
    fn notations() {
        assert_eq!(parsed("{}"), Ok((vec![], vec![])));
        assert_eq!(parsed("{{},{}}"), Ok((vec![], vec![])));
        assert_eq!(parsed("{a,NULL,\"NULL\",null}").unwrap().1, {
            let mut expected = texts(&["a", "", "NULL", ""]);
            expected[1] = None;
            expected[3] = None;
            expected
        });
        assert_eq!(parsed(r#"{"",a b,"a\"b\\c,{}",\{}"#), {
            Ok((vec![4], texts(&["", "a b", "a\"b\\c,{}", "{"])))
        });
        let six = (vec![2, 3], texts(&["1", "2", "3", "4", "5", "6"]));
        assert_eq!(parsed("{{1,2,3},{4,5,6}}"), Ok(six.clone()));
        assert_eq!(parsed("[0:1][-1:1]={{1,2,3},{4,5,6}}"), Ok(six));
    }

    #[test]
    fn malformed() {
        for bad in [
            "",
            "{",
            "}",
            "a",
            "{a",
            "{a}}",
            "{a}x",
            "{a,}",
            "{,a}",
            "{a b\"c\"}",
            "{\"a\"b}",
            "{\"a",
            "{{a},b}",
            "{{},b}",
            "{a,{b}}",
            "{{a},{b,c}}",
            "{{a}{b}}",
            "{{{{{{{a}}}}}}}",
            "{a\\",
        ] {
            assert!(parsed(bad).is_err(), "{bad}");
            assert_eq!(Case::new(ACLITEMS).error(&[text("{}"), text(bad)]).0, 1, "{bad}");
        }
    }

    #[test]
    fn delimiters() {
        let of = |name: &str| {
            let mut lines = TYPES.iter().chain(EXTENSION_TYPES);
            let line = lines.find(|line| line.name == name).unwrap();
            delimiter(&Type { shape: Shape::Scalar(line), ..Type::opaque(0) })
        };
        assert_eq!(["box", "geometry", "geography", "int4"].map(of), *b";::,");
    }

    #[test]
    fn both_ways() {
        let list = |dimensions: &[usize], elements: &[&str]| {
            let elements = elements.iter().map(|text| Value::Text((*text).to_owned().into()));
            List { dimensions: dimensions.to_vec(), elements: elements.collect() }
        };
        let element = Type::opaque(0);
        let element = built_in(1033).map_or(&element, AsRef::as_ref);
        for made in [
            list(&[], &[]),
            list(&[2], &["a", "\"\\{},NULL "]),
            list(&[2, 1, 2], &["", "b", "c", "d"]),
        ] {
            let mut out = Vec::new();
            encode(&made, b',', &mut out, |value, out| element.encode(value, out)).unwrap();
            assert_eq!(value(element, &out), Ok(Value::List(made)));
        }
    }
}
