//! Columns of exact decimals.

use std::sync::Arc;

use arrow_array::types::{Decimal128Type, Decimal256Type};
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_buffer::{ScalarBuffer, i256};
use arrow_schema::DataType;

use super::room::scale_with_room;
use super::scaled::{Integer, Misfit};
use super::text;
use super::wire::{self, Numeric};
use crate::column::{ColumnBuilder, Fields, take_buffer};
use crate::error::{DecimalDigits, FixedBy, Reason};
use crate::schema::Infinity;
use crate::validity::Validity;

/// Builds a decimal column, with a fixed or growing scale.
pub(super) struct DecimalBuilder {
    /// Each value times ten to `scale`, at most `precision` digits; 0 for NULL.
    values: Values,
    /// As long as `values`.
    validity: Validity,
    precision: u8,
    /// 0 to `precision`.
    scale: u8,
    /// The origin of precision and scale; `None` while they grow with the values.
    fixed_by: Option<FixedBy>,
    infinity: Infinity,
    /// Whether the first batch reserves digits for later ones.
    is_stream: bool,
}

enum Values {
    Narrow(Vec<i128>),
    Wide(Vec<i256>),
}

impl Values {
    fn new(wide: bool) -> Self {
        if wide { Self::Wide(Vec::new()) } else { Self::Narrow(Vec::new()) }
    }
}

impl DecimalBuilder {
    /// A column as it is declared; -1 for a `numeric` without precision.
    pub(super) fn declared(type_modifier: i32, infinity: Infinity) -> Self {
        let declared = declared_digits(type_modifier);
        let fixed = declared.filter(|(precision, _)| *precision <= i256::PRECISION.into());
        // If no Arrow type has that many digits, the scale grows with the values, starting from the
        // declared one: a stream whose first batch is all NULL then already has the later scale.
        let (precision, scale) = match (fixed, declared) {
            (Some((precision, scale)), _) => (precision as u8, scale as u8),
            (None, Some((_, scale))) => grown(u8::try_from(scale).unwrap_or(0)),
            (None, None) => (i128::PRECISION, 0),
        };
        Self {
            values: Values::new(precision > i128::PRECISION),
            validity: Validity::default(),
            precision,
            scale,
            fixed_by: fixed.map(|_| FixedBy::Declaration),
            infinity,
            is_stream: false,
        }
    }

    /// The same column, for a stream or a whole result.
    pub(super) fn with_room(self, is_stream: bool) -> Self {
        Self { is_stream, ..self }
    }

    /// A column as requested by a schema.
    pub(super) fn asked(precision: u8, scale: u8, wide: bool, infinity: Infinity) -> Self {
        Self {
            values: Values::new(wide),
            validity: Validity::default(),
            precision,
            scale,
            fixed_by: Some(FixedBy::Schema),
            infinity,
            is_stream: false,
        }
    }

    fn append_block(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        if self.fixed_by.is_none() {
            self.grow_to(fields)?;
        }
        let mut made_null = Vec::new();
        let (scale, precision, infinity) = (self.scale, self.precision, self.infinity);
        let appended = match &mut self.values {
            Values::Narrow(values) => {
                append(fields, values, scale, precision, infinity, &mut made_null)
            }
            Values::Wide(values) => {
                append(fields, values, scale, precision, infinity, &mut made_null)
            }
        };
        match (appended, self.fixed_by, &self.values) {
            (Ok(nulls), _, _) => {
                self.validity.append(fields, nulls, &made_null);
                Ok(())
            }
            (Err((_, Fault::Misfit(Misfit::Width))), None, Values::Narrow(_)) => {
                self.widen();
                self.append_block(fields)
            }
            (Err((row, fault)), _, _) => {
                let raw = fields.row(row).iter().next().flatten();
                Err((row, self.reason(fault, raw.unwrap_or_default())))
            }
        }
    }

    /// Grows the scale to the block's largest.
    fn grow_to(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        let scales = fields.iter().map(|field| field.map_or(0, wire::scale_of));
        let largest = scales.max().unwrap_or(0);
        if largest <= self.scale.into() {
            return Ok(());
        }
        let too_wide = (0, Reason::NumericTooWide { column_scale: largest.into() });
        let scale = u8::try_from(largest).ok().filter(|scale| *scale <= i256::PRECISION);
        let Some(scale) = scale else { return Err(too_wide) };
        let power = u32::from(scale - self.scale);
        if let Values::Narrow(values) = &mut self.values {
            if scale <= i128::PRECISION && i128::rescale(values, power) {
                self.scale = scale;
                return Ok(());
            }
            self.widen();
        }
        if let Values::Wide(values) = &mut self.values {
            if !i256::rescale(values, power) {
                return Err(too_wide);
            }
            self.scale = scale;
        }
        Ok(())
    }

    /// Grows the scale to reserve digits for a stream.
    fn make_room(&mut self) {
        let digits = match &self.values {
            Values::Narrow(values) => i128::most_digits(values),
            Values::Wide(values) => i256::most_digits(values),
        };
        let whole = digits.saturating_sub(self.scale.into());
        let scale = scale_with_room(self.precision, whole, self.scale);
        let power = u32::from(scale - self.scale);
        let is_rescaled = match &mut self.values {
            Values::Narrow(values) => i128::rescale(values, power),
            Values::Wide(values) => i256::rescale(values, power),
        };
        if is_rescaled {
            self.scale = scale;
        }
    }

    /// Undoes [`DecimalBuilder::grow_to`].
    fn shrink_to(&mut self, scale: u8) {
        let power = u32::from(self.scale - scale);
        match &mut self.values {
            Values::Narrow(values) => i128::unscale(values, power),
            Values::Wide(values) => i256::unscale(values, power),
        }
        self.scale = scale;
    }

    fn widen(&mut self) {
        if let Values::Narrow(values) = &self.values {
            self.values = Values::Wide(values.iter().copied().map(i256::from_i128).collect());
            self.precision = i256::PRECISION;
        }
    }

    fn reason(&self, fault: Fault, raw: &[u8]) -> Reason {
        let column_scale = self.scale.into();
        match (fault, self.fixed_by) {
            (Fault::Reason(reason), _) => reason,
            (Fault::Misfit(Misfit::Group(group)), _) => Reason::NumericGroup(group),
            (Fault::Misfit(Misfit::Width), None) => Reason::NumericTooWide { column_scale },
            // The column's scale is at least the value's own.
            (Fault::Misfit(Misfit::Scale), None) => Reason::NumericHiddenDigits,
            (Fault::Misfit(Misfit::Scale), Some(fixed_by)) => {
                Reason::NumericScale { needed: self.needed(raw), column_scale, fixed_by }
            }
            (Fault::Misfit(Misfit::Width), Some(fixed_by)) => {
                let (needed, precision) = (self.needed(raw), self.precision);
                Reason::NumericPrecision { needed, precision, column_scale, fixed_by }
            }
        }
    }

    /// The digits that the column and this value need together.
    fn needed(&self, raw: &[u8]) -> DecimalDigits {
        let scale = self.scale.into();
        match wire::parse(raw) {
            Ok(Numeric::Finite(number)) => {
                let digits = text::digits(&number);
                DecimalDigits { fraction: digits.fraction.max(scale), ..digits }
            }
            _ => DecimalDigits { whole: 0, fraction: scale },
        }
    }
}

impl ColumnBuilder for DecimalBuilder {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        let scale_before = self.scale;
        let appended = self.append_block(fields);
        if appended.is_ok() || self.fixed_by.is_some() {
            return appended;
        }
        // While the scale grows, the faulty row is the first for which, together with all rows
        // before it, there is no decimal type. Finding it requires going row by row.
        self.shrink_to(scale_before);
        let rows_before = self.validity.len();
        for row in 0..fields.len() {
            if let Err((_, reason)) = self.append_block(fields.row(row)) {
                match &mut self.values {
                    Values::Narrow(values) => values.truncate(rows_before),
                    Values::Wide(values) => values.truncate(rows_before),
                }
                self.validity.truncate(rows_before);
                return Err((row, reason));
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        if self.fixed_by.is_none() && self.is_stream {
            self.make_room();
        }
        self.fixed_by = self.fixed_by.or(Some(FixedBy::FirstBatch));
        let data_type = self.data_type();
        let nulls = self.validity.finish();
        match &mut self.values {
            Values::Narrow(values) => {
                let values = ScalarBuffer::from(take_buffer(values));
                let array = PrimitiveArray::<Decimal128Type>::new(values, nulls);
                Arc::new(array.with_data_type(data_type))
            }
            Values::Wide(values) => {
                let values = ScalarBuffer::from(take_buffer(values));
                let array = PrimitiveArray::<Decimal256Type>::new(values, nulls);
                Arc::new(array.with_data_type(data_type))
            }
        }
    }

    fn data_type(&self) -> DataType {
        // At most 76, see `scale`.
        let scale = self.scale as i8;
        match self.values {
            Values::Narrow(_) => DataType::Decimal128(self.precision, scale),
            Values::Wide(_) => DataType::Decimal256(self.precision, scale),
        }
    }

    fn nbytes(&self) -> usize {
        let values = match &self.values {
            Values::Narrow(values) => size_of_val(values.as_slice()),
            Values::Wide(values) => size_of_val(values.as_slice()),
        };
        values + self.validity.nbytes()
    }
}

/// The reason why a value does not fit the column.
enum Fault {
    Reason(Reason),
    Misfit(Misfit),
}

/// Appends a block and returns the number of NULLs. After an error the block is removed.
fn append<T: Integer>(
    fields: Fields<'_>,
    values: &mut Vec<T>,
    scale: u8,
    precision: u8,
    infinity: Infinity,
    made_null: &mut Vec<usize>,
) -> Result<usize, (usize, Fault)> {
    let start = values.len();
    let most = T::most(precision);
    let scale = i32::from(scale);
    let mut nulls = 0;
    values.reserve(fields.len());
    for (row, field) in fields.iter().enumerate() {
        let Some(raw) = field else {
            nulls += 1;
            values.push(T::default());
            continue;
        };
        if let Some(value) = T::quick(raw, scale, most) {
            values.push(value);
            continue;
        }
        match decode(raw, scale, most, infinity) {
            Ok(Some(value)) => values.push(value),
            Ok(None) => {
                made_null.push(row);
                values.push(T::default());
            }
            Err(fault) => {
                values.truncate(start);
                return Err((row, fault));
            }
        }
    }
    Ok(nulls)
}

/// Decodes any value; `None` for one that becomes NULL. Kept out of the loop over short values.
#[inline(never)]
fn decode<T: Integer>(
    raw: &[u8],
    scale: i32,
    most: T,
    infinity: Infinity,
) -> Result<Option<T>, Fault> {
    match wire::parse(raw).map_err(Fault::Reason)? {
        Numeric::Finite(number) => T::scaled(&number, scale, most).map(Some).map_err(Fault::Misfit),
        _ if infinity == Infinity::Null => Ok(None),
        Numeric::Nan => Err(Fault::Reason(Reason::NumericNan)),
        Numeric::Infinite(sign) => Err(Fault::Reason(Reason::NumericInfinite(sign))),
    }
}

/// Precision and scale of a declaration in Arrow's terms (see the table at the top of the module),
/// but without its limit; `None` without a declaration.
fn declared_digits(type_modifier: i32) -> Option<(i32, i32)> {
    let scale = declared_scale(type_modifier)?;
    let precision = (type_modifier - 4) >> 16 & 0xFFFF;
    let (precision, scale) =
        if scale < 0 { (precision - scale, 0) } else { (precision.max(scale), scale) };
    (precision >= 1).then_some((precision, scale))
}

/// The scale of a declaration, which may be negative; `None` without a declaration.
pub(crate) fn declared_scale(type_modifier: i32) -> Option<i32> {
    let packed = type_modifier.checked_sub(4).filter(|packed| *packed >= 0)?;
    // Eleven bits in two's complement.
    Some((packed & 0x7FF ^ 0x400) - 0x400)
}

/// The initial precision and scale of a growing column: decimal128 as long as possible.
fn grown(scale: u8) -> (u8, u8) {
    match scale {
        _ if scale <= i128::PRECISION => (i128::PRECISION, scale),
        _ if scale <= i256::PRECISION => (i256::PRECISION, scale),
        // No Arrow type has this scale; the first value reports it.
        _ => (i128::PRECISION, 0),
    }
}
