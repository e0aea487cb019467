//! Blobs to Arrow columns: only of the fields that are asked for, each in one pass.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, IntervalYearMonthType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeListArray, ListArray, PrimitiveArray, StructArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, NullBufferBuilder, OffsetBuffer};
use arrow_schema::DataType;
use arrow_select::concat::concat;
use half::f16;

use crate::arrow_types::{arrow_fields, arrow_units, days_to_month, item};
use crate::blob::Span;
use crate::kind::{Kind, Scalar, Unit};
use crate::layout::HEADER_BYTES;
use crate::list::ListView;
use crate::scalar::{ascii, characters, signed, trimmed, unsigned};
use crate::{Blob, Fault, Layout};

/// A column of blobs; a row may be NULL.
pub struct Blobs<'a>(Vec<Option<&'a [u8]>>);

impl<'a> Blobs<'a> {
    /// The values of a binary array; none for another type.
    #[must_use]
    pub fn of(array: &'a dyn Array) -> Option<Self> {
        let rows = 0..array.len();
        let valid = |row: usize| array.is_valid(row);
        Some(Self(match array.data_type() {
            DataType::Binary => {
                let array = array.as_binary_opt::<i32>()?;
                rows.map(|row| valid(row).then(|| array.value(row))).collect()
            }
            DataType::LargeBinary => {
                let array = array.as_binary_opt::<i64>()?;
                rows.map(|row| valid(row).then(|| array.value(row))).collect()
            }
            DataType::BinaryView => {
                let array = array.as_binary_view_opt()?;
                rows.map(|row| valid(row).then(|| array.value(row))).collect()
            }
            _ => return None,
        }))
    }

    /// These values.
    #[must_use]
    pub fn of_slices(slices: Vec<Option<&'a [u8]>>) -> Self {
        Self(slices)
    }
}

/// Rows that are read together: their blobs stay in the processor's cache from field to field.
const ROWS_AT_ONCE: usize = 2048;

/// The fields at these positions as the columns of a struct array: one row per blob, NULL where
/// there is none. A fault names row and field.
pub fn unpack(layout: &Layout, blobs: &Blobs<'_>, wanted: &[usize]) -> Result<StructArray, Fault> {
    let rows = &blobs.0;
    if rows.len() <= ROWS_AT_ONCE || !are_joinable(layout, rows) {
        return unpack_at_once(layout, rows, wanted);
    }
    let mut parts = Vec::with_capacity(rows.len().div_ceil(ROWS_AT_ONCE));
    for (index, some) in rows.chunks(ROWS_AT_ONCE).enumerate() {
        let part = unpack_at_once(layout, some, wanted).map_err(|mut fault| {
            fault.row = fault.row.map(|row| row + index * ROWS_AT_ONCE);
            fault
        });
        parts.push(part?);
    }
    let parts: Vec<&dyn Array> = parts.iter().map(|part| part as &dyn Array).collect();
    let joined = concat(&parts).map_err(|error| Fault::new(error.to_string()))?;
    Ok(joined.as_struct().clone())
}

/// Whether the offsets of no column can pass Arrow's small layout. A value has no more bytes or
/// elements than its blob has bytes, or than the blob of the defaults, which each struct within
/// may have, too: it has a header at least.
fn are_joinable(layout: &Layout, rows: &[Option<&[u8]>]) -> bool {
    let stored: usize = rows.iter().flatten().map(|bytes| bytes.len()).sum();
    let defaults = layout.defaults().size().saturating_mul(rows.len());
    let within = (stored / HEADER_BYTES).saturating_mul(largest_defaults_within(layout));
    i32::try_from(stored.saturating_add(defaults).saturating_add(within)).is_ok()
}

/// The size of the largest blob of defaults among the structs in the fields.
fn largest_defaults_within(layout: &Layout) -> usize {
    let of_kind = |mut kind: &Kind| loop {
        match kind {
            Kind::List { element, .. } => kind = element,
            Kind::Struct(inner) => {
                break inner.defaults().size().max(largest_defaults_within(inner));
            }
            _ => break 0,
        }
    };
    layout.fields().iter().map(|field| of_kind(&field.kind)).max().unwrap_or(0)
}

fn unpack_at_once(
    layout: &Layout,
    blobs: &[Option<&[u8]>],
    wanted: &[usize],
) -> Result<StructArray, Fault> {
    let mut rows = Vec::with_capacity(blobs.len());
    for (row, bytes) in blobs.iter().enumerate() {
        let opened = bytes.map(|bytes| Blob::open(layout, bytes)).transpose();
        rows.push(opened.map_err(|fault| fault.in_row(row))?);
    }
    let mut columns = Vec::with_capacity(wanted.len());
    for index in wanted {
        let Some((field, _)) = layout.field(*index) else {
            return Err(Fault::new(format!("there is no field {index}")));
        };
        let column = field_column(layout, *index, &rows);
        columns.push(column.map_err(|fault| fault.within(&field.name))?);
    }
    let nulls = nulls(rows.iter().map(Option::is_some));
    let fields = arrow_fields(layout, wanted);
    StructArray::try_new_with_length(fields, columns, nulls, rows.len())
        .map_err(|error| Fault::new(error.to_string()))
}

fn nulls(valid: impl Iterator<Item = bool>) -> Option<NullBuffer> {
    let buffer = NullBuffer::from(valid.collect::<BooleanBuffer>());
    (buffer.null_count() > 0).then_some(buffer)
}

fn field_column(
    layout: &Layout,
    index: usize,
    rows: &[Option<Blob<'_>>],
) -> Result<ArrayRef, Fault> {
    let Some((field, place)) = layout.field(index) else {
        return Err(Fault::new("there is no such field"));
    };
    if let Kind::Scalar(scalar) = field.kind {
        let slots = rows
            .iter()
            .map(|row| row.as_ref()?.slot(layout, index, place.slot, scalar.size(), place.flag));
        return scalars(scalar, slots);
    }
    let mut spans = Vec::with_capacity(rows.len());
    for (row, blob) in rows.iter().enumerate() {
        let span = blob.map_or(Ok(None), |blob| blob.span(layout, index));
        spans.push(span.map_err(|fault| fault.in_row(row))?);
    }
    tails(&field.kind, &spans)
}

/// A column of values in the tails.
fn tails(kind: &Kind, spans: &[Option<Span<'_>>]) -> Result<ArrayRef, Fault> {
    match kind {
        Kind::Str => strings(spans),
        Kind::Bytes => binaries(spans.iter().map(|span| span.map(Span::bytes))),
        Kind::Struct(layout) => {
            let blobs = Blobs(spans.iter().map(|span| span.map(Span::bytes)).collect());
            let all: Vec<usize> = (0..layout.fields().len()).collect();
            unpack(layout, &blobs, &all).map(|array| Arc::new(array) as ArrayRef)
        }
        Kind::List { element, optional } => lists(element, *optional, spans),
        Kind::Scalar(scalar) => scalars(*scalar, spans.iter().map(|span| span.map(Span::bytes))),
    }
}

/// Offsets of Arrow's small layout end at 2 GiB.
fn check_size(bytes: usize) -> Result<(), Fault> {
    if i32::try_from(bytes).is_ok() {
        return Ok(());
    }
    let reason = "its values are larger than 2 GiB together: read the rows in batches";
    Err(Fault::new(reason))
}

fn strings(spans: &[Option<Span<'_>>]) -> Result<ArrayRef, Fault> {
    let bytes: usize = spans.iter().flatten().map(|span| span.end - span.start).sum();
    check_size(bytes)?;
    let mut made = StringBuilder::with_capacity(spans.len(), bytes);
    for (row, span) in spans.iter().enumerate() {
        match span.map(|span| std::str::from_utf8(span.bytes())) {
            Some(Ok(text)) => made.append_value(text),
            Some(Err(_)) => return Err(Fault::new("its bytes are not UTF-8").in_row(row)),
            None => made.append_null(),
        }
    }
    Ok(Arc::new(made.finish()))
}

fn binaries<'a>(values: impl Iterator<Item = Option<&'a [u8]>> + Clone) -> Result<ArrayRef, Fault> {
    let bytes: usize = values.clone().flatten().map(<[u8]>::len).sum();
    check_size(bytes)?;
    let mut made = BinaryBuilder::with_capacity(values.size_hint().0, bytes);
    values.for_each(|value| made.append_option(value));
    Ok(Arc::new(made.finish()))
}

fn lists(kind: &Kind, optional: bool, spans: &[Option<Span<'_>>]) -> Result<ArrayRef, Fault> {
    let mut views = Vec::with_capacity(spans.len());
    let mut ends = Vec::with_capacity(spans.len() + 1);
    let mut count = 0;
    ends.push(0);
    for (row, span) in spans.iter().enumerate() {
        if let Some(span) = span {
            let view = ListView::new(kind, optional, *span).map_err(|fault| fault.in_row(row))?;
            count += view.len();
            check_size(count)?;
            views.push((row, view));
        }
        ends.push(count as i32);
    }
    let row_of = |mut fault: Fault, ends: &[i32]| {
        let element = fault.row.unwrap_or_default() as i32;
        fault.row = Some(ends.partition_point(|end| *end <= element).saturating_sub(1));
        fault
    };
    let values = match kind {
        Kind::Scalar(scalar) => {
            let slots: Vec<Option<&[u8]>> = views
                .iter()
                .flat_map(|(_, view)| (0..view.len()).map(|i| view.slot(i, scalar.size())))
                .collect();
            scalars(*scalar, slots.iter().copied())
        }
        kind => {
            let mut parts = Vec::with_capacity(count);
            for (row, view) in &views {
                for index in 0..view.len() {
                    parts.push(view.part(index).map_err(|fault| fault.in_row(*row))?);
                }
            }
            tails(kind, &parts)
        }
    };
    let values = values.map_err(|fault| row_of(fault, &ends))?;
    let nulls = nulls(spans.iter().map(Option::is_some));
    let made = ListArray::try_new(item(kind), OffsetBuffer::new(ends.into()), values, nulls);
    made.map(|array| Arc::new(array) as ArrayRef).map_err(|error| Fault::new(error.to_string()))
}

/// A column of values of a fixed size, of the bytes of each row.
fn scalars<'a>(
    scalar: Scalar,
    slots: impl Iterator<Item = Option<&'a [u8]>> + Clone,
) -> Result<ArrayRef, Fault> {
    Ok(match scalar {
        Scalar::Bool => {
            let nulls = nulls(slots.clone().map(|slot| slot.is_some()));
            let values = slots.map(|slot| slot.is_some_and(|slot| unsigned(slot) != 0));
            Arc::new(BooleanArray::new(values.collect(), nulls))
        }
        Scalar::Int(1) => plain::<Int8Type, 1>(slots, 0, i8::from_le_bytes),
        Scalar::Int(2) => plain::<Int16Type, 2>(slots, 0, i16::from_le_bytes),
        Scalar::Int(4) => plain::<Int32Type, 4>(slots, 0, i32::from_le_bytes),
        Scalar::Int(_) => plain::<Int64Type, 8>(slots, 0, i64::from_le_bytes),
        Scalar::UInt(1) => plain::<UInt8Type, 1>(slots, 0, u8::from_le_bytes),
        Scalar::UInt(2) => plain::<UInt16Type, 2>(slots, 0, u16::from_le_bytes),
        Scalar::UInt(4) => plain::<UInt32Type, 4>(slots, 0, u32::from_le_bytes),
        Scalar::UInt(_) => plain::<UInt64Type, 8>(slots, 0, u64::from_le_bytes),
        Scalar::Float(2) => plain::<Float16Type, 2>(slots, f16::NAN, f16::from_le_bytes),
        Scalar::Float(4) => plain::<Float32Type, 4>(slots, f32::NAN, f32::from_le_bytes),
        Scalar::Float(_) => plain::<Float64Type, 8>(slots, f64::NAN, f64::from_le_bytes),
        Scalar::Complex(size) => return complex(size, slots),
        Scalar::Datetime(unit) => return datetimes(scalar, unit, slots),
        Scalar::Timedelta(unit) => return timedeltas(scalar, unit, slots),
        Scalar::Chars(_) => return texts(slots, |slot| characters(slot).map(Into::into)),
        Scalar::Ascii(_) => return texts(slots, |slot| ascii(slot).map(Into::into)),
        Scalar::Bytes(_) => return binaries(slots.map(|slot| slot.map(trimmed))),
    })
}

fn plain<'a, T: ArrowPrimitiveType, const N: usize>(
    slots: impl Iterator<Item = Option<&'a [u8]>>,
    null: T::Native,
    read: impl Fn([u8; N]) -> T::Native,
) -> ArrayRef {
    let mut valid = NullBufferBuilder::new(slots.size_hint().0);
    let value = |slot: Option<&[u8]>| match slot.and_then(<[u8]>::first_chunk) {
        Some(bytes) => {
            valid.append_non_null();
            read(*bytes)
        }
        None => {
            valid.append_null();
            null
        }
    };
    let values: Vec<T::Native> = slots.map(value).collect();
    Arc::new(PrimitiveArray::<T>::new(values.into(), valid.finish()))
}

/// Pairs of floats; a NULL has two.
fn complex<'a>(
    size: usize,
    slots: impl Iterator<Item = Option<&'a [u8]>> + Clone,
) -> Result<ArrayRef, Fault> {
    let nulls = nulls(slots.clone().map(|slot| slot.is_some()));
    let halves = slots.flat_map(move |slot| {
        let halves = slot.and_then(|slot| slot.split_at_checked(size / 2));
        [halves.map(|(real, _)| real), halves.map(|(_, imaginary)| imaginary)]
    });
    let part = Scalar::Float(size / 2);
    let values = scalars_of_floats(part, halves);
    let made = FixedSizeListArray::try_new(item(&Kind::Scalar(part)), 2, values, nulls);
    made.map(|array| Arc::new(array) as ArrayRef).map_err(|error| Fault::new(error.to_string()))
}

/// The parts of complex numbers. A function of its own, or the type of the iterator had no end.
fn scalars_of_floats<'a>(part: Scalar, slots: impl Iterator<Item = Option<&'a [u8]>>) -> ArrayRef {
    match part {
        Scalar::Float(4) => plain::<Float32Type, 4>(slots, f32::NAN, f32::from_le_bytes),
        _ => plain::<Float64Type, 8>(slots, f64::NAN, f64::from_le_bytes),
    }
}

fn texts<'a>(
    slots: impl Iterator<Item = Option<&'a [u8]>>,
    read: impl Fn(&'a [u8]) -> Result<Cow<'a, str>, Fault>,
) -> Result<ArrayRef, Fault> {
    let mut made = StringBuilder::with_capacity(slots.size_hint().0, 0);
    for (row, slot) in slots.enumerate() {
        let text = slot.map(&read).transpose().map_err(|fault| fault.in_row(row))?;
        check_size(made.values_slice().len() + text.as_ref().map_or(0, |text| text.len()))?;
        made.append_option(text);
    }
    Ok(Arc::new(made.finish()))
}

/// Whether NumPy's value is in Arrow's type, whose units are as many as `convert` says.
fn counted<'a, T: ArrowPrimitiveType>(
    scalar: Scalar,
    slots: impl Iterator<Item = Option<&'a [u8]>>,
    null: T::Native,
    convert: impl Fn(i64) -> Option<T::Native>,
) -> Result<ArrayRef, Fault> {
    let mut valid = NullBufferBuilder::new(slots.size_hint().0);
    let mut values = Vec::with_capacity(slots.size_hint().0);
    for (row, slot) in slots.enumerate() {
        let count = slot.map(signed).filter(|count| *count != i64::MIN);
        let value = match count {
            Some(count) => Some(convert(count).ok_or_else(|| {
                let reason = format!("Arrow's type has no place for {count} as a {scalar}");
                Fault::new(reason).in_row(row)
            })?),
            None => None,
        };
        valid.append(value.is_some());
        values.push(value.unwrap_or(null));
    }
    Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), valid.finish())))
}

fn datetimes<'a>(
    scalar: Scalar,
    unit: Unit,
    slots: impl Iterator<Item = Option<&'a [u8]>>,
) -> Result<ArrayRef, Fault> {
    const NAT: i64 = i64::MIN;
    let units = arrow_units(scalar);
    let multiplied = |count: i64| count.checked_mul(units);
    match unit {
        Unit::Year | Unit::Month => {
            let months = if unit == Unit::Year { 12 } else { 1 };
            let days = |count: i64| days_to_month(count.checked_mul(months)?);
            counted::<Date32Type>(scalar, slots, i32::MIN, days)
        }
        Unit::Week | Unit::Day => {
            let days = |count| i32::try_from(multiplied(count)?).ok();
            counted::<Date32Type>(scalar, slots, i32::MIN, days)
        }
        Unit::Millisecond => counted::<TimestampMillisecondType>(scalar, slots, NAT, Some),
        Unit::Microsecond => counted::<TimestampMicrosecondType>(scalar, slots, NAT, Some),
        Unit::Nanosecond => counted::<TimestampNanosecondType>(scalar, slots, NAT, Some),
        Unit::Picosecond | Unit::Femtosecond | Unit::Attosecond => {
            counted::<Int64Type>(scalar, slots, NAT, Some)
        }
        _ => counted::<TimestampSecondType>(scalar, slots, NAT, multiplied),
    }
}

fn timedeltas<'a>(
    scalar: Scalar,
    unit: Unit,
    slots: impl Iterator<Item = Option<&'a [u8]>>,
) -> Result<ArrayRef, Fault> {
    const NAT: i64 = i64::MIN;
    let units = arrow_units(scalar);
    let multiplied = |count: i64| count.checked_mul(units);
    match unit {
        Unit::Year | Unit::Month => {
            let months = |count| i32::try_from(multiplied(count)?).ok();
            counted::<IntervalYearMonthType>(scalar, slots, 0, months)
        }
        Unit::Millisecond => counted::<DurationMillisecondType>(scalar, slots, NAT, Some),
        Unit::Microsecond => counted::<DurationMicrosecondType>(scalar, slots, NAT, Some),
        Unit::Nanosecond => counted::<DurationNanosecondType>(scalar, slots, NAT, Some),
        Unit::Picosecond | Unit::Femtosecond | Unit::Attosecond => {
            counted::<Int64Type>(scalar, slots, NAT, Some)
        }
        _ => counted::<DurationSecondType>(scalar, slots, NAT, multiplied),
    }
}
