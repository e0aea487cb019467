//! Writes blobs.

use crate::kind::{Kind, Scalar};
use crate::{Blob, Fault, Layout, Value};

/// PostgreSQL's values are smaller than 1 GiB, with a header of four bytes.
const BLOB_BYTES_MOST: usize = (1 << 30) - 5;

/// Writes one blob behind the bytes of earlier ones. The fields come in order.
pub struct Writer<'l> {
    layout: &'l Layout,
    out: Vec<u8>,
    base: usize,
    next: usize,
}

impl<'l> Writer<'l> {
    /// Begins a blob at the end of `out`.
    #[must_use]
    pub fn begin(layout: &'l Layout, mut out: Vec<u8>) -> Self {
        let base = out.len();
        out.extend_from_slice(layout.template());
        Self { layout, out, base, next: 0 }
    }

    /// Writes the value of the next field. A fault names the field.
    pub fn push(&mut self, value: &Value<'_>) -> Result<(), Fault> {
        let layout = self.layout;
        let Some((field, place)) = layout.field(self.next) else {
            return Err(Fault::new("there are more values than fields"));
        };
        let value = if is_missing(&field.kind, value) { &Value::Null } else { value };
        let written = match (&field.kind, value) {
            (_, Value::Null) if !field.optional => {
                Err(Fault::new("it is not optional, and the value is missing"))
            }
            (_, Value::Null) => {
                self.skip();
                return Ok(());
            }
            (Kind::Scalar(scalar), value) => {
                let slot = self.base + place.slot;
                match self.out.get_mut(slot..slot + scalar.size()) {
                    Some(slot) => scalar.write(value, slot),
                    None => Err(Fault::new("its place is not in the fixed part")),
                }
            }
            (kind, value) => push_tail(kind, value, &mut self.out, self.base),
        };
        written.map_err(|fault| fault.within(&field.name))?;
        if let Some((byte, bit)) = place.flag
            && let Some(flags) = self.out.get_mut(self.base + byte)
        {
            *flags |= 1 << bit;
        }
        self.end_field();
        Ok(())
    }

    /// The fault, which names the next field if it names none.
    pub(crate) fn named(&self, fault: Fault) -> Fault {
        match self.layout.field(self.next) {
            Some((field, _)) if fault.field.is_none() => fault.within(&field.name),
            _ => fault,
        }
    }

    /// Leaves the next field without a value.
    pub fn skip(&mut self) {
        self.end_field();
    }

    fn end_field(&mut self) {
        if let Some((field, place)) = self.layout.field(self.next)
            && !matches!(field.kind, Kind::Scalar(_))
        {
            let end = (self.out.len() - self.base) as u32;
            self.set_word(place.slot, end);
        }
        self.next += 1;
    }

    fn set_word(&mut self, position: usize, word: u32) {
        let start = self.base + position;
        if let Some(place) = self.out.get_mut(start..start + 4) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// Ends the blob, and returns all bytes.
    pub fn finish(mut self) -> Result<Vec<u8>, Fault> {
        if let Some((field, _)) = self.layout.field(self.next) {
            return Err(Fault::new("the value is missing").within(&field.name));
        }
        let total = self.out.len() - self.base;
        if total > BLOB_BYTES_MOST {
            let reason = format!("the struct has {total} bytes, and bytea takes less than 1 GiB");
            return Err(Fault::new(reason));
        }
        self.set_word(16, total as u32);
        Ok(self.out)
    }
}

/// NaT is no value.
fn is_missing(kind: &Kind, value: &Value<'_>) -> bool {
    let is_time = matches!(kind, Kind::Scalar(Scalar::Datetime(_) | Scalar::Timedelta(_)));
    is_time && matches!(value, Value::Int(i64::MIN))
}

fn pad(out: &mut Vec<u8>, base: usize, align: usize) {
    let length = (out.len() - base).next_multiple_of(align);
    out.resize(base + length, 0);
}

/// Writes the bytes of a value of varying length.
fn push_tail(kind: &Kind, value: &Value<'_>, out: &mut Vec<u8>, base: usize) -> Result<(), Fault> {
    if out.len() - base > BLOB_BYTES_MOST {
        return Err(Fault::new("the struct becomes larger than 1 GiB"));
    }
    match (kind, value) {
        (Kind::Str, Value::Text(text)) => {
            if text.contains('\0') {
                let reason = "PostgreSQL's text cannot contain NUL characters: use bytes";
                return Err(Fault::new(reason));
            }
            out.extend_from_slice(text.as_bytes());
            Ok(())
        }
        (Kind::Bytes, Value::Bytes(bytes)) => {
            out.extend_from_slice(bytes);
            Ok(())
        }
        (Kind::Struct(layout), Value::Struct(bytes)) => {
            Blob::open(layout, bytes)?;
            pad(out, base, kind.tail_align());
            out.extend_from_slice(bytes);
            Ok(())
        }
        (Kind::List { .. }, Value::List(values)) if values.is_empty() => Ok(()),
        (Kind::List { element, optional }, Value::List(values)) => {
            pad(out, base, kind.tail_align());
            match element.as_ref() {
                Kind::Scalar(scalar) => push_fixed(*scalar, *optional, values, out),
                element => push_varying(element, *optional, values, out, base),
            }
        }
        (Kind::List { element, optional: false }, Value::Elements(bytes)) => {
            let size = element.slot().0;
            if !matches!(element.as_ref(), Kind::Scalar(_)) || !bytes.len().is_multiple_of(size) {
                return Err(Fault::new(format!("a list of {element} is not made of bytes")));
            }
            if !bytes.is_empty() {
                pad(out, base, kind.tail_align());
                out.extend_from_slice(bytes);
            }
            Ok(())
        }
        (kind, _) => Err(Fault::new(format!("the value is not a {kind}"))),
    }
}

fn no_null(index: usize) -> Fault {
    Fault::new(format!("element {index} of the list is missing, and elements are not optional"))
}

fn push_flags(values: &[Value<'_>], kind: &Kind, out: &mut Vec<u8>) {
    for eight in values.chunks(8) {
        let set = eight
            .iter()
            .enumerate()
            .filter(|(_, value)| !matches!(value, Value::Null) && !is_missing(kind, value));
        out.push(set.fold(0, |flags, (bit, _)| flags | 1 << bit));
    }
}

fn push_fixed(
    scalar: Scalar,
    optional: bool,
    values: &[Value<'_>],
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let (start, size, kind) = (out.len(), scalar.size(), Kind::Scalar(scalar));
    out.resize(start + size * values.len(), 0);
    let slots = out.get_mut(start..).unwrap_or_default().chunks_exact_mut(size);
    for (index, (slot, value)) in slots.zip(values).enumerate() {
        if matches!(value, Value::Null) || is_missing(&kind, value) {
            if !optional {
                return Err(no_null(index));
            }
            scalar.write_null(slot);
        } else {
            scalar.write(value, slot).map_err(|fault| of_element(index, &fault))?;
        }
    }
    if optional {
        push_flags(values, &kind, out);
    }
    Ok(())
}

fn of_element(index: usize, fault: &Fault) -> Fault {
    Fault { reason: format!("element {index} of the list: {}", fault.reason), ..fault.clone() }
}

fn push_varying(
    kind: &Kind,
    optional: bool,
    values: &[Value<'_>],
    out: &mut Vec<u8>,
    base: usize,
) -> Result<(), Fault> {
    let start = out.len();
    let count = u32::try_from(values.len()).map_err(|_| Fault::new("the list is too long"))?;
    out.extend_from_slice(&count.to_le_bytes());
    let ends = out.len();
    out.resize(ends + 4 * values.len(), 0);
    if optional {
        push_flags(values, kind, out);
    }
    for (index, value) in values.iter().enumerate() {
        match value {
            Value::Null if optional => {}
            Value::Null => return Err(no_null(index)),
            value => {
                let written = push_tail(kind, value, out, base);
                written.map_err(|fault| of_element(index, &fault))?;
            }
        }
        let end = ((out.len() - start) as u32).to_le_bytes();
        if let Some(place) = out.get_mut(ends + 4 * index..ends + 4 * index + 4) {
            place.copy_from_slice(&end);
        }
    }
    Ok(())
}
