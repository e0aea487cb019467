//! Values of a fixed size: from bytes and to bytes.

use half::f16;

use crate::kind::Scalar;
use crate::{Fault, Value};

/// The bytes as an array; zeros if there are fewer.
#[inline]
fn bytes<const N: usize>(slot: &[u8]) -> [u8; N] {
    slot.first_chunk().copied().unwrap_or([0; N])
}

/// Writes the low bytes of an integer.
#[inline]
fn write_low(number: [u8; 8], slot: &mut [u8]) {
    match (slot.len(), number) {
        (8, number) => slot.copy_from_slice(&number),
        (4, [a, b, c, d, ..]) => slot.copy_from_slice(&[a, b, c, d]),
        (2, [a, b, ..]) => slot.copy_from_slice(&[a, b]),
        (_, [a, ..]) => slot.fill(a),
    }
}

/// A little-endian integer of 1, 2, 4 or 8 bytes, as unsigned.
#[inline]
pub(crate) fn unsigned(slot: &[u8]) -> u64 {
    match slot.len() {
        1 => u8::from_le_bytes(bytes(slot)).into(),
        2 => u16::from_le_bytes(bytes(slot)).into(),
        4 => u32::from_le_bytes(bytes(slot)).into(),
        _ => u64::from_le_bytes(bytes(slot)),
    }
}

/// A little-endian integer of 1, 2, 4 or 8 bytes, with its sign.
#[inline]
pub(crate) fn signed(slot: &[u8]) -> i64 {
    match slot.len() {
        1 => i8::from_le_bytes(bytes(slot)).into(),
        2 => i16::from_le_bytes(bytes(slot)).into(),
        4 => i32::from_le_bytes(bytes(slot)).into(),
        _ => i64::from_le_bytes(bytes(slot)),
    }
}

/// A float of 2, 4 or 8 bytes.
pub(crate) fn float(slot: &[u8]) -> f64 {
    match slot.len() {
        2 => f16::from_le_bytes(bytes(slot)).to_f64(),
        4 => f64::from(f32::from_le_bytes(bytes(slot))),
        _ => f64::from_le_bytes(bytes(slot)),
    }
}

/// Without the zeros at the end.
pub(crate) fn trimmed(slot: &[u8]) -> &[u8] {
    let length = slot.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    slot.get(..length).unwrap_or_default()
}

/// The text of characters in four bytes each.
pub(crate) fn characters(slot: &[u8]) -> Result<String, Fault> {
    let codes = slot.chunks_exact(4).map(|code| u32::from_le_bytes(bytes(code)));
    let codes: Vec<u32> = codes.collect();
    let length = codes.iter().rposition(|code| *code != 0).map_or(0, |last| last + 1);
    let text = codes.iter().take(length).map(|code| char::from_u32(*code)).collect::<Option<_>>();
    text.ok_or_else(|| Fault::new("its characters are not Unicode"))
}

/// ASCII text.
pub(crate) fn ascii(slot: &[u8]) -> Result<&str, Fault> {
    let text = trimmed(slot);
    match std::str::from_utf8(text) {
        Ok(found) if found.is_ascii() => Ok(found),
        _ => Err(Fault::new("its bytes are not ASCII")),
    }
}

impl Scalar {
    #[inline]
    pub(crate) fn read(self, slot: &[u8]) -> Result<Value<'_>, Fault> {
        Ok(match self {
            Self::Bool => Value::Bool(unsigned(slot) != 0),
            Self::Int(_) => Value::Int(signed(slot)),
            Self::UInt(_) => Value::UInt(unsigned(slot)),
            Self::Float(_) => Value::Float(float(slot)),
            Self::Complex(size) => {
                let (real, imaginary) = slot.split_at_checked(size / 2).unwrap_or_default();
                Value::Complex(float(real), float(imaginary))
            }
            Self::Datetime(_) | Self::Timedelta(_) => match signed(slot) {
                i64::MIN => Value::Null,
                count => Value::Int(count),
            },
            Self::Chars(_) => Value::Text(characters(slot)?.into()),
            Self::Ascii(_) => Value::Text(ascii(slot)?.into()),
            Self::Bytes(_) => Value::Bytes(trimmed(slot).into()),
        })
    }

    pub(crate) fn write(self, value: &Value<'_>, slot: &mut [u8]) -> Result<(), Fault> {
        match (self, value) {
            (Self::Bool, Value::Bool(truth)) => slot.fill(u8::from(*truth)),
            (Self::Int(_), Value::Int(number)) => self.write_signed(*number, slot)?,
            (Self::Int(_), Value::UInt(number)) => match i64::try_from(*number) {
                Ok(number) => self.write_signed(number, slot)?,
                Err(_) => return Err(self.too_large(number)),
            },
            (Self::UInt(_), Value::Int(number)) => match u64::try_from(*number) {
                Ok(number) => self.write_unsigned(number, slot)?,
                Err(_) => return Err(self.too_large(number)),
            },
            (Self::UInt(_), Value::UInt(number)) => self.write_unsigned(*number, slot)?,
            (Self::Float(_), Value::Float(number)) => self.write_float(*number, slot)?,
            (Self::Float(_), Value::Int(number)) => {
                let float = *number as f64;
                if float as i128 != i128::from(*number) {
                    return Err(Fault::new(format!("{number} is not exact as a {self}")));
                }
                self.write_float(float, slot)?;
            }
            (Self::Complex(size), Value::Complex(real, imaginary)) => {
                let part = Self::Float(size / 2);
                if let Some((first, second)) = slot.split_at_mut_checked(size / 2) {
                    part.write_float(*real, first)?;
                    part.write_float(*imaginary, second)?;
                }
            }
            (Self::Datetime(_) | Self::Timedelta(_), Value::Int(count)) => {
                slot.copy_from_slice(&count.to_le_bytes());
            }
            (Self::Chars(_) | Self::Ascii(_), Value::Text(text)) => self.write_text(text, slot)?,
            (Self::Bytes(width), Value::Bytes(value)) => {
                if value.len() > width {
                    let reason = format!("{} bytes do not fit {self}", value.len());
                    return Err(Fault::new(reason));
                }
                if value.last() == Some(&0) {
                    let reason = "zeros at the end are lost in a fixed width: use bytes";
                    return Err(Fault::new(reason));
                }
                slot.fill(0);
                slot.iter_mut().zip(value.iter()).for_each(|(to, from)| *to = *from);
            }
            _ => return Err(Fault::new(format!("the value is not a {self}"))),
        }
        Ok(())
    }

    fn too_large(self, number: &dyn std::fmt::Display) -> Fault {
        Fault::new(format!("{number} is out of the range of {self}"))
    }

    fn write_signed(self, number: i64, slot: &mut [u8]) -> Result<(), Fault> {
        write_low(number.to_le_bytes(), slot);
        if signed(slot) == number { Ok(()) } else { Err(self.too_large(&number)) }
    }

    fn write_unsigned(self, number: u64, slot: &mut [u8]) -> Result<(), Fault> {
        write_low(number.to_le_bytes(), slot);
        if unsigned(slot) == number { Ok(()) } else { Err(self.too_large(&number)) }
    }

    /// Rounds to the nearest float of the slot's size. A finite number does not become infinite,
    /// nor one that is not 0 a 0.
    fn write_float(self, number: f64, slot: &mut [u8]) -> Result<(), Fault> {
        match slot.len() {
            2 => slot.copy_from_slice(&f16::from_f64(number).to_le_bytes()),
            4 => slot.copy_from_slice(&(number as f32).to_le_bytes()),
            _ => slot.copy_from_slice(&number.to_le_bytes()),
        }
        let rounded = float(slot);
        if (number.is_finite() && !rounded.is_finite()) || (number != 0.0 && rounded == 0.0) {
            return Err(self.too_large(&format_args!("{number:e}")));
        }
        Ok(())
    }

    fn write_text(self, text: &str, slot: &mut [u8]) -> Result<(), Fault> {
        if text.contains('\0') {
            return Err(Fault::new("PostgreSQL's text cannot contain NUL characters: use bytes"));
        }
        slot.fill(0);
        let (count, width) = match self {
            Self::Chars(width) => (text.chars().count(), width),
            _ if !text.is_ascii() => {
                return Err(Fault::new(format!(
                    "{self} takes ASCII characters only: use U or str"
                )));
            }
            _ => (text.len(), slot.len()),
        };
        if count > width {
            return Err(Fault::new(format!("a text of {count} characters does not fit {self}")));
        }
        if let Self::Chars(_) = self {
            let codes = text.chars().flat_map(|code| u32::from(code).to_le_bytes());
            slot.iter_mut().zip(codes).for_each(|(to, from)| *to = from);
        } else {
            slot.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
        }
        Ok(())
    }
}
