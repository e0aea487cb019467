//! A complete type: lines of the table, and the types that PostgreSQL builds from them.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use colonnade_protocol::{Format, Oid};

use super::{
    Built, Kind, PgType, RANGES, RECORDS, Request, TYPES, array, array_text, composite,
    enumeration, opaque, printed_line, range, record, text, type_of, varlen, written,
};
use crate::catalog::Types;
use crate::error::{EncodeError, Reason};
use crate::schema::Override;
use crate::value::{List, Value};

/// A type, resolved down to the lines of the table.
#[derive(Clone, Debug)]
pub struct Type {
    /// Its OID; for a user-defined type it differs between databases.
    pub oid: Oid,
    /// Its name: `int4`, `mood`; for an array its element's name with brackets, `int4[]`.
    pub name: String,
    /// Its schema.
    pub schema: String,
    /// Its structure.
    pub shape: Shape,
}

/// The structure of a type.
#[derive(Clone, Debug)]
pub enum Shape {
    /// A line of the table.
    Scalar(&'static PgType),
    /// An array of one type.
    Array(Arc<Type>),
    /// A composite, including a table's row type.
    Composite(Arc<[Attribute]>),
    /// An anonymous record: each value describes itself.
    Record(Types),
    /// An enum, with its labels in order.
    Enum(Arc<[String]>),
    /// A range over a type.
    Range(Arc<Type>),
    /// A multirange of ranges over a type.
    Multirange(Arc<Type>),
    /// A domain.
    Domain {
        /// Its base type.
        base: Arc<Type>,
        /// The type modifier that it adds, -1 for none.
        type_modifier: i32,
    },
    /// An unknown type.
    Opaque,
    /// A type with a user's codec.
    Custom {
        /// The codec's number, which its owner has assigned.
        codec: usize,
        /// The format that the codec reads and writes.
        format: CodecFormat,
        /// The type without the codec.
        under: Arc<Type>,
    },
}

/// A field of a composite.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Its type.
    pub pg_type: Arc<Type>,
    /// Its type modifier, -1 for none.
    pub type_modifier: i32,
}

/// The format that a user's codec reads and writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CodecFormat {
    /// The text form.
    Text,
    /// The binary form.
    Binary,
    /// The parts of the type's own value.
    Tuple,
}

/// Array types with their own names: OID, OID of the array type, name, type of the elements.
const VECTORS: [(Oid, Oid, &str, Oid); 2] =
    [(22, 1006, "int2vector", 21), (30, 1013, "oidvector", 26)];

/// The types that are the same on every server, ordered by OID.
static BUILT_IN: LazyLock<Vec<Arc<Type>>> = LazyLock::new(|| {
    let mut types: Vec<Arc<Type>> = Vec::new();
    let mut add = |oid: Oid, name: String, shape: Shape| {
        let made = Arc::new(Type { oid, name, schema: "pg_catalog".to_owned(), shape });
        types.push(Arc::clone(&made));
        made
    };
    for line in TYPES {
        let scalar = add(line.oid, line.name.to_owned(), Shape::Scalar(line));
        if line.array_oid != 0 {
            let _ = add(line.array_oid, format!("{}[]", line.name), Shape::Array(scalar));
        }
    }
    for line in RANGES {
        let Some(subtype) = type_of(line.subtype) else { continue };
        let subtype = Arc::new(Type::of_line(subtype));
        let shapes = [
            (line.oid, line.array_oid, line.name, Shape::Range(Arc::clone(&subtype))),
            (
                line.multirange_oid,
                line.multirange_array_oid,
                line.multirange_name,
                Shape::Multirange(subtype),
            ),
        ];
        for (oid, array_oid, name, shape) in shapes {
            let made = add(oid, name.to_owned(), shape);
            let _ = add(array_oid, format!("{name}[]"), Shape::Array(made));
        }
    }
    for (oid, array_oid, name, element) in VECTORS {
        let Some(element) = type_of(element) else { continue };
        let vector = add(oid, name.to_owned(), Shape::Array(Arc::new(Type::of_line(element))));
        let _ = add(array_oid, format!("{name}[]"), Shape::Array(vector));
    }
    let record = add(RECORDS[0], "record".to_owned(), Shape::Record(Types::default()));
    let _ = add(RECORDS[1], "record[]".to_owned(), Shape::Array(record));
    types.sort_by_key(|made| made.oid);
    types
});

/// The type of an OID that is the same on every server.
pub(crate) fn built_in(oid: Oid) -> Option<&'static Arc<Type>> {
    let place = BUILT_IN.binary_search_by_key(&oid, |made| made.oid).ok()?;
    BUILT_IN.get(place)
}

impl Type {
    fn of_line(line: &'static PgType) -> Self {
        Self {
            oid: line.oid,
            name: line.name.to_owned(),
            schema: "pg_catalog".to_owned(),
            shape: Shape::Scalar(line),
        }
    }

    /// An unknown type.
    pub fn opaque(oid: Oid) -> Self {
        Self { oid, name: format!("oid {oid}"), schema: String::new(), shape: Shape::Opaque }
    }

    /// Whether its parts are nested no deeper than `depth`, and number at most `parts_left`, which
    /// is reduced by that number.
    pub(crate) fn is_within(&self, depth: usize, parts_left: &mut usize) -> bool {
        let (Some(depth), Some(left)) = (depth.checked_sub(1), parts_left.checked_sub(1)) else {
            return false;
        };
        *parts_left = left;
        match &self.shape {
            Shape::Array(part)
            | Shape::Domain { base: part, .. }
            | Shape::Custom { under: part, .. } => part.is_within(depth, parts_left),
            // Two bounds.
            Shape::Range(part) | Shape::Multirange(part) => {
                part.is_within(depth, parts_left) && part.is_within(depth, parts_left)
            }
            Shape::Composite(attributes) => {
                attributes.iter().all(|attribute| attribute.pg_type.is_within(depth, parts_left))
            }
            Shape::Scalar(_) | Shape::Enum(_) | Shape::Record(_) | Shape::Opaque => true,
        }
    }

    /// The type below all domains and codecs.
    pub fn bare(&self) -> &Self {
        match &self.shape {
            Shape::Domain { base, .. } => base.bare(),
            Shape::Custom { under, .. } => under.bare(),
            _ => self,
        }
    }

    /// The type without domains and codecs, at any depth.
    pub fn without_codecs(&self) -> Self {
        let bare = self.bare();
        let part = |part: &Arc<Self>| Arc::new(part.without_codecs());
        let shape = match &bare.shape {
            Shape::Array(element) => Shape::Array(part(element)),
            Shape::Range(subtype) => Shape::Range(part(subtype)),
            Shape::Multirange(subtype) => Shape::Multirange(part(subtype)),
            Shape::Composite(attributes) => Shape::Composite(
                attributes
                    .iter()
                    .map(|attribute| Attribute {
                        pg_type: part(&attribute.pg_type),
                        ..attribute.clone()
                    })
                    .collect(),
            ),
            other => other.clone(),
        };
        Self { shape, ..bare.clone() }
    }

    /// The format in which to request its values: binary, unless the type or a part of it has no
    /// binary format, or one that this crate does not decode.
    pub fn format(&self) -> Format {
        match &self.shape {
            Shape::Scalar(line) if line.send.is_empty() => Format::Text,
            Shape::Scalar(_) | Shape::Enum(_) | Shape::Record(_) | Shape::Opaque => Format::Binary,
            Shape::Array(part) | Shape::Range(part) | Shape::Multirange(part) => part.format(),
            Shape::Domain { base, .. } => base.format(),
            Shape::Composite(attributes) => {
                let is_text = |attribute: &Attribute| attribute.pg_type.format() == Format::Text;
                if attributes.iter().any(is_text) { Format::Text } else { Format::Binary }
            }
            Shape::Custom { format: CodecFormat::Text, .. } => Format::Text,
            Shape::Custom { format: CodecFormat::Binary, .. } => Format::Binary,
            Shape::Custom { format: CodecFormat::Tuple, under, .. } => under.format(),
        }
    }

    /// The type as rows read it: an unknown type comes as text, alone and in arrays.
    pub fn in_rows(self: &Arc<Self>) -> Arc<Self> {
        let part_in_rows = |part: &Arc<Self>| {
            let other = part.in_rows();
            (!Arc::ptr_eq(&other, part)).then_some(other)
        };
        let shape = match &self.shape {
            Shape::Opaque => Some(Shape::Scalar(&opaque::AS_TEXT)),
            Shape::Array(element) => part_in_rows(element).map(Shape::Array),
            Shape::Domain { base, type_modifier } => {
                part_in_rows(base).map(|base| Shape::Domain { base, type_modifier: *type_modifier })
            }
            _ => None,
        };
        shape.map_or_else(|| Arc::clone(self), |shape| Arc::new(Self { shape, ..(**self).clone() }))
    }

    /// Whether its Python values depend on more than the neutral value: on the names of a
    /// composite's fields, or on a user's codec.
    pub(super) fn has_own_making(&self) -> bool {
        match &self.shape {
            Shape::Composite(_) | Shape::Custom { .. } => true,
            Shape::Array(part)
            | Shape::Range(part)
            | Shape::Multirange(part)
            | Shape::Domain { base: part, .. } => part.has_own_making(),
            _ => false,
        }
    }

    /// Whether a user's codec reads the type or a part of it.
    pub fn has_codecs(&self) -> bool {
        match &self.shape {
            Shape::Custom { .. } => true,
            Shape::Array(part)
            | Shape::Range(part)
            | Shape::Multirange(part)
            | Shape::Domain { base: part, .. } => part.has_codecs(),
            Shape::Composite(attributes) => {
                attributes.iter().any(|attribute| attribute.pg_type.has_codecs())
            }
            _ => false,
        }
    }

    /// The number of the codec that reads its values, if a user has set one.
    pub fn codec(&self) -> Option<usize> {
        match &self.shape {
            Shape::Custom { codec, .. } => Some(*codec),
            Shape::Domain { base, .. } => base.codec(),
            _ => None,
        }
    }

    /// The type of a column whose type has a codec: the codec's texts or bytes, or the type's own
    /// values.
    pub fn stored(&self) -> Self {
        match &self.shape {
            Shape::Domain { base, .. } => base.stored(),
            Shape::Custom { format: CodecFormat::Tuple, under, .. } => under.without_codecs(),
            Shape::Custom { .. } => Self::opaque(self.oid),
            _ => self.clone(),
        }
    }

    /// A part whose codec reads text where only binary values come: in a composite, or in a range's
    /// bounds. In an array the text format is parsed.
    pub fn text_codec_out_of_place(&self) -> Option<&Self> {
        match &self.shape {
            Shape::Array(element) | Shape::Domain { base: element, .. } => {
                element.text_codec_out_of_place()
            }
            Shape::Composite(attributes) => {
                attributes.iter().find_map(|attribute| attribute.pg_type.text_codec())
            }
            Shape::Range(subtype) | Shape::Multirange(subtype) => subtype.text_codec(),
            _ => None,
        }
    }

    /// A type at or within this one whose codec reads text.
    fn text_codec(&self) -> Option<&Self> {
        match &self.shape {
            Shape::Custom { format: CodecFormat::Text, .. } => Some(self),
            Shape::Array(part) | Shape::Domain { base: part, .. } => part.text_codec(),
            _ => self.text_codec_out_of_place(),
        }
    }

    /// Whether its values come as a single text that is not parsed.
    fn is_plain_text(&self) -> bool {
        let has_parts =
            matches!(self.shape, Shape::Composite(_) | Shape::Range(_) | Shape::Multirange(_));
        has_parts && self.format() == Format::Text
    }

    /// Whether it is an array that must be sent in its text format: the server refuses the empty
    /// one in the binary format, and its lower bound is 0.
    pub fn is_vector(&self) -> bool {
        VECTORS.iter().any(|(oid, ..)| *oid == self.oid)
    }

    /// Whether the server accepts the type's values as text only, even with a user's codec. A
    /// binary COPY can carry them only in a column of type `text`.
    pub fn is_text_only(&self) -> bool {
        self.bare().parameter_format() == Format::Text
    }

    /// The format in which its values are sent.
    pub fn parameter_format(&self) -> Format {
        match &self.shape {
            Shape::Scalar(line) => line.parameter,
            Shape::Array(_) if self.is_vector() => Format::Text,
            Shape::Array(part) | Shape::Range(part) | Shape::Multirange(part) => {
                part.parameter_format()
            }
            Shape::Domain { base, .. } => base.parameter_format(),
            Shape::Composite(attributes) => {
                let is_text =
                    |attribute: &Attribute| attribute.pg_type.parameter_format() == Format::Text;
                if attributes.iter().any(is_text) { Format::Text } else { Format::Binary }
            }
            Shape::Custom { format: CodecFormat::Tuple, under, .. } => under.parameter_format(),
            _ => self.format(),
        }
    }

    /// Decodes one value that came in [`Type::format`].
    ///
    /// # Errors
    /// The bytes are not a value of the type.
    #[inline]
    pub fn value<'a>(&self, raw: &'a [u8]) -> Result<Value<'a>, Reason> {
        self.value_at_depth(raw, 0)
    }

    /// `depth` is the number of enclosing values.
    #[inline]
    pub(crate) fn value_at_depth<'a>(
        &self,
        raw: &'a [u8],
        depth: usize,
    ) -> Result<Value<'a>, Reason> {
        match &self.shape {
            // The fast path for almost every value of a row, and almost every element of an array.
            Shape::Scalar(line) => (line.value)(raw),
            _ => self.made_value(raw, depth),
        }
    }

    /// The value of a type with parts.
    fn made_value<'a>(&self, raw: &'a [u8], depth: usize) -> Result<Value<'a>, Reason> {
        match &self.shape {
            Shape::Scalar(line) => (line.value)(raw),
            _ if self.is_plain_text() => (text::TEXT.value)(raw),
            Shape::Array(element) if element.format() == Format::Text => {
                array_text::value(element, raw)
            }
            Shape::Array(element) => array::value(element, raw, depth),
            Shape::Composite(attributes) => composite::value(attributes, raw, depth),
            Shape::Record(types) => record::value(types, raw, depth),
            Shape::Enum(_) => (text::TEXT.value)(raw),
            Shape::Range(subtype) => range::value(subtype, raw, depth),
            Shape::Multirange(subtype) => range::multirange_value(subtype, raw, depth),
            Shape::Domain { base, .. } => base.value_at_depth(raw, depth),
            Shape::Opaque => opaque::value(raw),
            Shape::Custom { format: CodecFormat::Tuple, under, .. } => {
                under.value_at_depth(raw, depth)
            }
            Shape::Custom { codec, .. } => {
                Ok(Value::Custom { codec: *codec, raw: Cow::Borrowed(raw) })
            }
        }
    }

    /// Appends a value in [`Type::parameter_format`]. Never called with [`Value::Null`].
    pub(crate) fn encode(&self, value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match (&self.shape, value) {
            (Shape::Custom { format: CodecFormat::Tuple, under, .. }, _) => {
                under.encode(value, out)
            }
            (Shape::Custom { .. }, Value::Custom { raw, .. }) => {
                out.extend_from_slice(raw);
                Ok(())
            }
            (Shape::Scalar(line), _) => (line.encode)(value, out),
            (Shape::Domain { base, .. }, _) => base.encode(value, out),
            (Shape::Enum(_), _) => (text::TEXT.encode)(value, out),
            (Shape::Array(_), Value::List(list)) if self.is_vector() => {
                array_text::encode_vector(list, out)
            }
            (Shape::Array(element), Value::List(list)) => match element.parameter_format() {
                Format::Text => {
                    let delimiter = array_text::delimiter(element);
                    array_text::encode(list, delimiter, out, |value, out| {
                        element.encode(value, out)
                    })
                }
                Format::Binary => array::encode(element, list, out),
            },
            _ if self.parameter_format() == Format::Text => match value {
                Value::Text(_) => (text::TEXT.encode)(value, out),
                other => written::encode(self, other, out),
            },
            (Shape::Composite(attributes), Value::Composite(values)) => {
                composite::encode(attributes, values, out)
            }
            (Shape::Range(subtype), Value::Range(value)) => range::encode(subtype, value, out),
            (Shape::Multirange(subtype), Value::Multirange(ranges)) => {
                range::encode_multirange(subtype, ranges, out)
            }
            (_, other) => {
                Err(EncodeError::WrongKind { expected: self.expected(), given: other.describe() })
            }
        }
    }

    /// Whether a list contains texts that the server must parse, although the element type's own
    /// values are not text. Such a list is sent by [`Type::encode_texts`].
    pub(crate) fn has_texts_in(&self, list: &List<'_>) -> bool {
        let is_text = |value: &Value<'_>| matches!(value, Value::Text(_));
        let has_other_values = self.printed_line().is_some() || self.is_unknown();
        has_other_values && list.elements.iter().any(is_text)
    }

    fn is_unknown(&self) -> bool {
        match &self.shape {
            Shape::Opaque => true,
            Shape::Domain { base, .. } => base.is_unknown(),
            _ => false,
        }
    }

    /// Appends the text format of an array, whose texts the server parses.
    pub(crate) fn encode_texts(
        &self,
        list: &List<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        array_text::encode(list, array_text::delimiter(self), out, |value, out| {
            match (value, self.printed_line()) {
                (Value::Text(_), _) | (_, None) => (text::TEXT.encode)(value, out),
                (value, Some(line)) => {
                    let mut bytes = Vec::new();
                    (line.encode)(value, &mut bytes)?;
                    // A value just written can be read.
                    let printed = (line.value)(&bytes).unwrap_or(Value::Null);
                    (text::TEXT.encode)(&printed, out)
                }
            }
        })
    }

    /// Whether this crate can convert its text to its binary format: an extension type, or an array
    /// of one.
    pub fn reads_text(&self) -> bool {
        match &self.shape {
            Shape::Scalar(line) => line.oid == 0 && line.parameter == Format::Binary,
            Shape::Domain { base: part, .. } | Shape::Array(part) => part.reads_text(),
            _ => false,
        }
    }

    /// For an extension type whose values are not text, the line that prints them.
    fn printed_line(&self) -> Option<&'static PgType> {
        match &self.shape {
            Shape::Scalar(line) => printed_line(line),
            Shape::Domain { base, .. } => base.printed_line(),
            _ => None,
        }
    }

    /// Appends a nested value: its length and its bytes, or the length of a NULL.
    pub(crate) fn encode_cell(
        &self,
        value: &Value<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        if *value == Value::Null {
            out.extend_from_slice(&(-1_i32).to_be_bytes());
            return Ok(());
        }
        push_cell(out, |out| self.encode(value, out))
    }

    /// The values that a parameter of the type takes, in words.
    fn expected(&self) -> &'static str {
        match &self.shape {
            Shape::Array(_) => "a list",
            Shape::Composite(_) => "a composite",
            Shape::Range(_) => "a range",
            Shape::Multirange(_) => "a list of ranges",
            Shape::Record(_) => "nothing: PostgreSQL takes no anonymous records as input",
            _ => "an encoded value",
        }
    }

    /// The [`Value`] of a type with a line in the table, below domains.
    pub fn kind(&self) -> Option<Kind> {
        match &self.shape {
            Shape::Scalar(line) => Some(line.kind),
            Shape::Domain { base, .. } => base.kind(),
            Shape::Enum(_) => Some(Kind::Text),
            _ => None,
        }
    }

    /// The builder of a column that comes in [`Type::format`]; `None` for an impossible cast.
    pub(crate) fn builder(&self, request: &Request) -> Option<Built> {
        if let Shape::Domain { base, type_modifier } = &self.shape {
            let inherited =
                if *type_modifier >= 0 { *type_modifier } else { request.type_modifier };
            return base.builder(&Request { type_modifier: inherited, ..request.clone() });
        }
        match &self.shape {
            Shape::Scalar(line) => return (line.builder)(request),
            Shape::Enum(labels) => return enumeration::builder(labels, request),
            Shape::Opaque => return opaque::builder(request),
            Shape::Custom { format: CodecFormat::Text, .. } => {
                return varlen::text_builder::<varlen::AsIs>(request, None);
            }
            Shape::Custom { format: CodecFormat::Binary, .. } => {
                let plain = request.with_cast(Some(Override::Binary));
                return opaque::builder(&plain).filter(|_| request.cast.is_none());
            }
            Shape::Custom { under, .. } => return under.builder(request),
            _ if self.is_plain_text() => {
                return varlen::text_builder::<varlen::AsIs>(request, None);
            }
            _ if request.cast.is_some() => return None,
            _ => {}
        }
        match &self.shape {
            Shape::Array(element) if element.format() == Format::Text => {
                Some(array_text::builder(element, request))
            }
            Shape::Array(element) => Some(array::builder(element, request)),
            Shape::Composite(attributes) => Some(composite::builder(attributes, request)),
            Shape::Record(types) => Some(record::builder(types, request)),
            Shape::Range(subtype) => Some(range::builder(subtype, request)),
            Shape::Multirange(subtype) => Some(range::multirange_builder(subtype, request)),
            _ => None,
        }
    }

    /// The Arrow types that a schema may request without asking the server for the text format.
    pub(crate) fn casts(&self) -> &'static [&'static str] {
        match &self.shape {
            Shape::Scalar(line) => line.casts,
            Shape::Domain { base, .. } => base.casts(),
            Shape::Enum(_) => enumeration::CASTS,
            Shape::Opaque => opaque::CASTS,
            Shape::Custom { format: CodecFormat::Text, .. } => varlen::TEXT_CASTS,
            Shape::Custom { format: CodecFormat::Tuple, under, .. } => under.casts(),
            _ => &[],
        }
    }
}

/// Appends a cell whose bytes `write` writes.
pub(super) fn push_cell(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out)?;
    let bytes = out.len().saturating_sub(start + 4);
    let length = i32::try_from(bytes).map_err(|_| EncodeError::TooLong { bytes })?;
    if let Some(slot) = out.get_mut(start..start + 4) {
        slot.copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}
