//! The text of a `numeric`, as the server prints it, and back.

use super::scaled;
use super::wire::{
    Finite, MINUS_INFINITY, NAN, NEGATIVE, Numeric, PLUS_INFINITY, POSITIVE, SCALE_MOST, parse,
};
use crate::column::Fields;
use crate::error::{DecimalDigits, EncodeError, Reason};
use crate::types::varlen::{Shape, append_written};
use crate::value::Sign;

/// The maximum number of digits before the point.
const WHOLE_MOST: i64 = 131_072;

/// The longest text: sign, digits, point.
const TEXT_MOST: usize = WHOLE_MOST as usize + SCALE_MOST as usize + 2;

/// A wrong text is quoted in a message up to this length.
const QUOTED_MOST: usize = 40;

/// A column of texts, with NaN and infinities as words.
pub(super) struct NumericAsText;

impl Shape for NumericAsText {
    const UNCHECKED_TEXT: bool = false;

    fn append(
        fields: Fields<'_>,
        data: &mut Vec<u8>,
        ends: impl FnMut(usize),
    ) -> Result<usize, (usize, Reason)> {
        append_written(fields, data, ends, write)
    }

    fn most_bytes(fields: Fields<'_>) -> usize {
        fields.len() * TEXT_MOST
    }
}

/// Appends the output of the server's output function.
pub(super) fn write(raw: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
    match parse(raw)? {
        Numeric::Finite(number) => {
            scaled::check(&number)?;
            write_finite(&number, out);
        }
        Numeric::Nan => out.extend_from_slice(b"NaN"),
        Numeric::Infinite(Sign::Positive) => out.extend_from_slice(b"Infinity"),
        Numeric::Infinite(Sign::Negative) => out.extend_from_slice(b"-Infinity"),
    }
    Ok(())
}

/// [`write`] for a validated number.
pub(super) fn write_finite(number: &Finite<'_>, out: &mut Vec<u8>) {
    if number.negative {
        out.push(b'-');
    }
    let whole_groups = i32::from(number.weight) + 1;
    let mut leading = true;
    for index in 0..whole_groups {
        let digits = digits_of(number, index);
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
        let skipped = if leading { zeros } else { 0 };
        leading = leading && zeros == digits.len();
        out.extend_from_slice(digits.get(skipped..).unwrap_or(&[]));
    }
    if leading {
        out.push(b'0');
    }
    if number.scale == 0 {
        return;
    }
    out.push(b'.');
    let fraction_end = out.len() + usize::from(number.scale);
    let mut index = whole_groups;
    while out.len() < fraction_end {
        out.extend_from_slice(&digits_of(number, index));
        index += 1;
    }
    out.truncate(fraction_end);
}

/// The digits of a validated number, without leading and trailing zeros.
#[cold]
pub(super) fn digits(number: &Finite<'_>) -> DecimalDigits {
    let mut text = Vec::new();
    write_finite(number, &mut text);
    let point = text.iter().position(|byte| *byte == b'.').unwrap_or(text.len());
    let (whole, fraction) = text.split_at(point);
    let is_zero = |byte: &&u8| matches!(byte, b'-' | b'0' | b'.');
    let zeros = whole.iter().take_while(is_zero).count();
    let ends = fraction.iter().rev().take_while(is_zero).count();
    // At most 131,072 and 16,383.
    DecimalDigits {
        whole: (whole.len() - zeros) as u32,
        fraction: fraction.len().saturating_sub(ends).saturating_sub(1) as u32,
    }
}

/// The four digits of a group; zeros if the value lacks the group.
fn digits_of(number: &Finite<'_>, index: i32) -> [u8; 4] {
    let group = usize::try_from(index).ok().and_then(|index| number.groups.get(index));
    let group = group.map_or(0, |group| u16::from_be_bytes(*group));
    [group / 1000, group / 100 % 10, group / 10 % 10, group % 10].map(|digit| b'0' + digit as u8)
}

/// Appends the binary format of a decimal number in text: digits, optionally with a sign, a point
/// and an exponent; or NaN, Infinity, inf in any case. The number of digits after the point is
/// kept.
pub(crate) fn encode(text: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let not_a_number =
        || EncodeError::NotANumber { given: text.chars().take(QUOTED_MOST).collect() };
    let (negative, body) = match text.as_bytes() {
        [b'-', body @ ..] => (true, body),
        [b'+', body @ ..] => (false, body),
        body => (false, body),
    };
    let special = [
        ("nan", NAN),
        ("snan", NAN),
        ("infinity", if negative { MINUS_INFINITY } else { PLUS_INFINITY }),
        ("inf", if negative { MINUS_INFINITY } else { PLUS_INFINITY }),
    ];
    if let Some((_, sign)) = special.iter().find(|(w, _)| body.eq_ignore_ascii_case(w.as_bytes())) {
        write_wire(&[], 0, *sign, 0, out);
        return Ok(());
    }
    let decimal = Decimal::parse(body).ok_or_else(not_a_number)?;
    decimal.encode(negative, out)
}

/// Digits with a point: before the digit at `point`, which may lie beyond either end.
struct Decimal {
    digits: Vec<u8>,
    point: i64,
    /// The number of digits after the point as written; negative if an exponent moves the point
    /// beyond the last digit.
    scale: i64,
}

impl Decimal {
    fn parse(text: &[u8]) -> Option<Self> {
        let exponent_at = text.iter().position(|byte| matches!(byte, b'e' | b'E'));
        let (mantissa, exponent) = match exponent_at {
            Some(at) => (text.get(..at)?, parse_exponent(text.get(at + 1..)?)?),
            None => (text, 0),
        };
        let point_at = mantissa.iter().position(|byte| *byte == b'.');
        let (whole, fraction) = match point_at {
            Some(at) => (mantissa.get(..at)?, mantissa.get(at + 1..)?),
            None => (mantissa, &[][..]),
        };
        let digits: Vec<u8> = [whole, fraction].concat();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        Some(Self {
            digits: digits.into_iter().map(|digit| digit - b'0').collect(),
            point: whole.len() as i64 + exponent,
            scale: fraction.len() as i64 - exponent,
        })
    }

    fn encode(&self, negative: bool, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let scale = self.scale.max(0);
        if scale > SCALE_MOST.into() {
            return Err(EncodeError::NumericTooLarge);
        }
        let scale = scale as u16;
        let first = self.digits.iter().position(|digit| *digit != 0);
        let last = self.digits.iter().rposition(|digit| *digit != 0);
        let (Some(first), Some(last)) = (first, last) else {
            write_wire(&[], 0, POSITIVE, scale, out);
            return Ok(());
        };
        let whole = self.point - first as i64;
        if whole > WHOLE_MOST {
            return Err(EncodeError::NumericTooLarge);
        }
        // The position of the point gives the first digit's place in the first group.
        let weight = (whole - 1).div_euclid(4);
        let mut place = ((weight + 1) * 4 - whole) as usize;
        let mut groups = Vec::new();
        let mut group = 0;
        for digit in self.digits.get(first..=last).unwrap_or(&[]) {
            group = group * 10 + u16::from(*digit);
            place += 1;
            if place == 4 {
                groups.push(group);
                (group, place) = (0, 0);
            }
        }
        if place > 0 {
            groups.push(group * 10_u16.pow(4 - place as u32));
        }
        let sign = if negative { NEGATIVE } else { POSITIVE };
        // Between -4096 and 32767 after the checks above.
        write_wire(&groups, weight as i16, sign, scale, out);
        Ok(())
    }
}

/// An exponent is clamped where no number can be encoded with it.
fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let magnitude = digits
        .iter()
        .fold(0_i64, |sum, digit| (sum * 10 + i64::from(digit - b'0')).min(1_000_000_000_000));
    Some(if negative { -magnitude } else { magnitude })
}

fn write_wire(groups: &[u16], weight: i16, sign: u16, scale: u16, out: &mut Vec<u8>) {
    // At most 131,072 / 4 + 16,383 / 4 + 1, which 16 bits hold.
    out.extend_from_slice(&(groups.len() as u16).to_be_bytes());
    out.extend_from_slice(&weight.to_be_bytes());
    out.extend_from_slice(&sign.to_be_bytes());
    out.extend_from_slice(&scale.to_be_bytes());
    for group in groups {
        out.extend_from_slice(&group.to_be_bytes());
    }
}
