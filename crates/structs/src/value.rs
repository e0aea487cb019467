//! Neutral values of fields.

use std::borrow::Cow;

/// The value of a field or of a list's element.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer, a number of units since 1970, or a number of units.
    Int(i64),
    /// An integer, where it is not signed.
    UInt(u64),
    /// A float.
    Float(f64),
    /// A complex number.
    Complex(f64, f64),
    /// Text.
    Text(Cow<'a, str>),
    /// Bytes.
    Bytes(Cow<'a, [u8]>),
    /// The blob of a struct within the struct.
    Struct(Cow<'a, [u8]>),
    /// The elements of a list.
    List(Vec<Self>),
    /// The elements of a list as they are in the blob: of a fixed size, and none of them NULL.
    Elements(Cow<'a, [u8]>),
}

impl Value<'_> {
    /// The same value, which borrows nothing.
    #[must_use]
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Int(value) => Value::Int(value),
            Self::UInt(value) => Value::UInt(value),
            Self::Float(value) => Value::Float(value),
            Self::Complex(real, imaginary) => Value::Complex(real, imaginary),
            Self::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Self::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes.into_owned())),
            Self::Struct(bytes) => Value::Struct(Cow::Owned(bytes.into_owned())),
            Self::Elements(bytes) => Value::Elements(Cow::Owned(bytes.into_owned())),
            Self::List(values) => Value::List(values.into_iter().map(Value::into_owned).collect()),
        }
    }
}
