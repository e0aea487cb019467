//! Sums and means of groups, exact for integers and decimals.
//!
//! | values | added as | sum | mean |
//! |---|---|---|---|
//! | integers | 64 bits, after an overflow 128 | int64, or an error | float64 |
//! | floats | float64, row by row | float64 | float64 |
//! | decimals | 128 bits, after an overflow 256 | of the same scale | six more digits |
//! | durations | as integers | the same, or an error | none |
//! | intervals | months, days and nanoseconds | the same, or an error | none |

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{self, ArrowPrimitiveType, IntervalMonthDayNanoType};
use arrow_array::{
    Array, ArrayRef, ArrowNativeTypeOp, Decimal128Array, Decimal256Array, Float64Array, Int64Array,
    PrimitiveArray,
};
use arrow_buffer::{IntervalMonthDayNano, NullBuffer, i256};
use arrow_schema::{DataType, TimeUnit};

use super::{GroupError, place};

/// The digits of the decimals of 128 and of 256 bits.
const DIGITS: (u8, u8) = (38, 76);

/// The digits that a mean has after those of the values.
const MEAN_DIGITS: i8 = 6;

/// The sums of groups, of one batch after another.
#[derive(Clone)]
pub(super) struct Sums {
    totals: Totals,
    /// The number of values of each group, for means.
    counts: Option<Vec<i64>>,
    /// The groups that have a value; `None` if all have.
    seen: Option<Vec<bool>>,
    /// The Arrow type of the values.
    data_type: DataType,
}

#[derive(Clone)]
enum Totals {
    Int(Vec<i64>),
    /// Integers and decimals.
    Wide(Vec<i128>),
    /// Decimals.
    Widest(Vec<i256>),
    Float(Vec<f64>),
    Interval(Vec<IntervalMonthDayNano>),
}

impl Sums {
    /// No sums yet; `None` for a type without them.
    pub(super) fn of(data_type: &DataType, is_mean: bool) -> Option<Self> {
        use DataType::{
            Decimal128, Decimal256, Duration, Float16, Float32, Float64, Interval, UInt64,
        };
        let totals = match data_type {
            Float16 => return None,
            Float32 | Float64 => Totals::Float(Vec::new()),
            Decimal128(..) | UInt64 => Totals::Wide(Vec::new()),
            Decimal256(..) => Totals::Widest(Vec::new()),
            Interval(_) if !is_mean => Totals::Interval(Vec::new()),
            Duration(_) if !is_mean => Totals::Int(Vec::new()),
            other if other.is_integer() => Totals::Int(Vec::new()),
            _ => return None,
        };
        let counts = is_mean.then(Vec::new);
        Some(Self { totals, counts, seen: None, data_type: data_type.clone() })
    }

    /// Adds the values of some rows; `groups` is the number of groups so far. A group that is new
    /// since the last call has at least one row among them.
    pub(super) fn add(
        &mut self,
        values: &ArrayRef,
        codes: &[u32],
        groups: usize,
    ) -> Result<(), GroupError> {
        let nulls = values.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let valid = nulls.as_ref();
        self.see(codes, valid, groups);
        if let Some(counts) = &mut self.counts {
            counts.resize(groups, 0);
            super::aggregate::count(counts, Some(values), codes);
        }
        self.rescale(values.data_type())?;
        self.totals.resize(groups);
        self.totals.add(values, codes, valid, &self.data_type)
    }

    /// Notes the groups that have a value.
    fn see(&mut self, codes: &[u32], valid: Option<&NullBuffer>, groups: usize) {
        let known = self.totals.len();
        if self.seen.is_none() && valid.is_none() {
            return;
        }
        let seen = self.seen.get_or_insert_with(|| vec![true; known]);
        seen.resize(groups, false);
        each(codes, valid, 0, |_, code| {
            if let Some(seen) = place(code).and_then(|group| seen.get_mut(group)) {
                *seen = true;
            }
            true
        });
    }

    /// Batches of a stream may have decimals of several scales: the sums take the greatest.
    fn rescale(&mut self, data_type: &DataType) -> Result<(), GroupError> {
        if let (Some(from), Some(to)) = (scale(&self.data_type), scale(data_type))
            && from < to
        {
            let factor = power_of_ten(to.abs_diff(from)).ok_or(OVERFLOW)?;
            let totals = self.totals.widest()?;
            for total in totals {
                *total = total.mul_checked(factor).map_err(|_| OVERFLOW)?;
            }
            self.data_type = data_type.clone();
        }
        Ok(())
    }

    /// The sums or means.
    pub(super) fn finish(self) -> Result<ArrayRef, GroupError> {
        let nulls = self.seen.as_ref().map(|seen| NullBuffer::from(seen.as_slice()));
        if let Some(counts) = &self.counts {
            return means(self.totals, counts, nulls, scale(&self.data_type));
        }
        match self.totals {
            Totals::Float(mut sums) => {
                clear_unseen(&mut sums, self.seen.as_deref(), f64::NAN);
                Ok(Arc::new(Float64Array::new(sums.into(), nulls)))
            }
            Totals::Interval(sums) => {
                Ok(Arc::new(PrimitiveArray::<IntervalMonthDayNanoType>::new(sums.into(), nulls)))
            }
            Totals::Int(sums) => Ok(integers(sums, nulls, &self.data_type, self.seen.as_deref())),
            totals => match scale(&self.data_type) {
                Some(scale) => decimals(totals, nulls, scale),
                None => {
                    let Totals::Wide(sums) = totals else { return Err(OVERFLOW) };
                    let narrow = sums.into_iter().map(i64::try_from).collect::<Result<_, _>>();
                    let narrow = narrow.map_err(|_| GroupError::Overflow { kind: "int64" })?;
                    Ok(integers(narrow, nulls, &self.data_type, self.seen.as_deref()))
                }
            },
        }
    }
}

const OVERFLOW: GroupError = GroupError::Overflow { kind: "decimal256" };

fn scale(data_type: &DataType) -> Option<i8> {
    match data_type {
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => Some(*scale),
        _ => None,
    }
}

fn power_of_ten(digits: u8) -> Option<i256> {
    i256::from_i128(10).pow_checked(u32::from(digits)).ok()
}

/// Puts NumPy's missing value below NULL.
fn clear_unseen<T: Copy>(sums: &mut [T], seen: Option<&[bool]>, missing: T) {
    for (sum, seen) in sums.iter_mut().zip(seen.unwrap_or_default()) {
        if !seen {
            *sum = missing;
        }
    }
}

/// Sums of integers, as the type of the values if that is a duration.
fn integers(
    mut sums: Vec<i64>,
    nulls: Option<NullBuffer>,
    data_type: &DataType,
    seen: Option<&[bool]>,
) -> ArrayRef {
    if let DataType::Duration(unit) = data_type {
        clear_unseen(&mut sums, seen, i64::MIN);
        let sums = sums.into();
        return match unit {
            TimeUnit::Second => durations::<types::DurationSecondType>(sums, nulls),
            TimeUnit::Millisecond => durations::<types::DurationMillisecondType>(sums, nulls),
            TimeUnit::Microsecond => durations::<types::DurationMicrosecondType>(sums, nulls),
            TimeUnit::Nanosecond => durations::<types::DurationNanosecondType>(sums, nulls),
        };
    }
    Arc::new(Int64Array::new(sums.into(), nulls))
}

fn durations<T: ArrowPrimitiveType<Native = i64>>(
    sums: arrow_buffer::ScalarBuffer<i64>,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(sums, nulls))
}

/// Decimals of as many digits as they need.
fn decimals(totals: Totals, nulls: Option<NullBuffer>, scale: i8) -> Result<ArrayRef, GroupError> {
    let fits = |limit: i256| move |sum: &i256| *sum < limit && sum.wrapping_neg() < limit;
    let totals = match totals {
        Totals::Widest(sums) => {
            let limit = power_of_ten(DIGITS.0).ok_or(OVERFLOW)?;
            if sums.iter().all(fits(limit)) {
                Totals::Wide(sums.into_iter().filter_map(i256::to_i128).collect())
            } else {
                Totals::Widest(sums)
            }
        }
        other => other,
    };
    if let Totals::Wide(sums) = &totals {
        let limit = 10_i128.pow(u32::from(DIGITS.0));
        if sums.iter().all(|sum| -limit < *sum && *sum < limit) {
            let array = Decimal128Array::new(sums.clone().into(), nulls);
            return Ok(Arc::new(array.with_precision_and_scale(DIGITS.0, scale)?));
        }
    }
    let mut totals = totals;
    let sums = totals.widest()?;
    let limit = power_of_ten(DIGITS.1).ok_or(OVERFLOW)?;
    if !sums.iter().all(fits(limit)) {
        return Err(OVERFLOW);
    }
    let array = Decimal256Array::new(std::mem::take(sums).into(), nulls);
    Ok(Arc::new(array.with_precision_and_scale(DIGITS.1, scale)?))
}

#[allow(clippy::cast_precision_loss, reason = "a mean of integers is a float")]
fn means(
    mut totals: Totals,
    counts: &[i64],
    nulls: Option<NullBuffer>,
    scale: Option<i8>,
) -> Result<ArrayRef, GroupError> {
    if let Some(scale) = scale {
        let digits = MEAN_DIGITS.min(38 - scale).max(0);
        let factor = power_of_ten(digits.unsigned_abs()).ok_or(OVERFLOW)?;
        let sums = totals.widest()?;
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum = rounded(*sum, factor, (*count).max(1))?;
        }
        return decimals(totals, nulls, scale + digits);
    }
    let divided = |sum: f64, count: &i64| if *count == 0 { f64::NAN } else { sum / *count as f64 };
    let means: Vec<f64> = match totals {
        Totals::Float(sums) => sums.into_iter().zip(counts).map(|(s, n)| divided(s, n)).collect(),
        Totals::Int(sums) => {
            sums.into_iter().zip(counts).map(|(s, n)| divided(s as f64, n)).collect()
        }
        Totals::Wide(sums) => {
            sums.into_iter().zip(counts).map(|(s, n)| divided(s as f64, n)).collect()
        }
        _ => return Err(OVERFLOW),
    };
    Ok(Arc::new(Float64Array::new(means.into(), nulls)))
}

/// `sum * factor / count`, halves away from zero as PostgreSQL rounds.
fn rounded(sum: i256, factor: i256, count: i64) -> Result<i256, GroupError> {
    let overflow = |_| OVERFLOW;
    let count = i256::from_i128(i128::from(count));
    let scaled = sum.mul_checked(factor).map_err(overflow)?;
    let quotient = scaled.div_checked(count).map_err(overflow)?;
    let rest = scaled.mod_checked(count).map_err(overflow)?;
    let twice = rest.wrapping_add(rest);
    let away = if twice >= count {
        i256::ONE
    } else if twice.wrapping_neg() >= count {
        i256::MINUS_ONE
    } else {
        i256::ZERO
    };
    Ok(quotient.wrapping_add(away))
}

impl Totals {
    fn len(&self) -> usize {
        match self {
            Self::Int(sums) => sums.len(),
            Self::Wide(sums) => sums.len(),
            Self::Widest(sums) => sums.len(),
            Self::Float(sums) => sums.len(),
            Self::Interval(sums) => sums.len(),
        }
    }

    fn resize(&mut self, groups: usize) {
        match self {
            Self::Int(sums) => sums.resize(groups, 0),
            Self::Wide(sums) => sums.resize(groups, 0),
            Self::Widest(sums) => sums.resize(groups, i256::ZERO),
            // -0.0 is the zero that changes no number: the sum of -0.0 alone is -0.0.
            Self::Float(sums) => sums.resize(groups, -0.0),
            Self::Interval(sums) => sums.resize(groups, IntervalMonthDayNano::new(0, 0, 0)),
        }
    }

    /// The sums with 256 bits.
    fn widest(&mut self) -> Result<&mut Vec<i256>, GroupError> {
        if let Self::Wide(sums) = self {
            *self = Self::Widest(sums.iter().map(|sum| i256::from_i128(*sum)).collect());
        }
        match self {
            Self::Widest(sums) => Ok(sums),
            _ => Err(OVERFLOW),
        }
    }

    fn add(
        &mut self,
        values: &ArrayRef,
        codes: &[u32],
        valid: Option<&NullBuffer>,
        sums_type: &DataType,
    ) -> Result<(), GroupError> {
        let rows = Rows { codes, valid };
        match values.data_type() {
            DataType::Int8 => self.add_ints::<types::Int8Type>(values, rows),
            DataType::Int16 => self.add_ints::<types::Int16Type>(values, rows),
            DataType::Int32 => self.add_ints::<types::Int32Type>(values, rows),
            DataType::Int64 => self.add_ints::<types::Int64Type>(values, rows),
            DataType::UInt8 => self.add_ints::<types::UInt8Type>(values, rows),
            DataType::UInt16 => self.add_ints::<types::UInt16Type>(values, rows),
            DataType::UInt32 => self.add_ints::<types::UInt32Type>(values, rows),
            DataType::Duration(TimeUnit::Second) => {
                self.add_ints::<types::DurationSecondType>(values, rows)
            }
            DataType::Duration(TimeUnit::Millisecond) => {
                self.add_ints::<types::DurationMillisecondType>(values, rows)
            }
            DataType::Duration(TimeUnit::Microsecond) => {
                self.add_ints::<types::DurationMicrosecondType>(values, rows)
            }
            DataType::Duration(TimeUnit::Nanosecond) => {
                self.add_ints::<types::DurationNanosecondType>(values, rows)
            }
            DataType::UInt64 => {
                let values = values.as_primitive::<types::UInt64Type>().values();
                self.add_wide(values, 0, rows, |value| Some(i128::from(value)))
            }
            DataType::Float32 => {
                let values = values.as_primitive::<types::Float32Type>().values();
                self.add_floats(values, rows, f64::from)
            }
            DataType::Float64 => {
                let values = values.as_primitive::<types::Float64Type>().values();
                self.add_floats(values, rows, |value| value)
            }
            DataType::Decimal128(_, from) => {
                let values = values.as_primitive::<types::Decimal128Type>().values();
                let factor = factor(*from, sums_type).and_then(i256::to_i128);
                self.add_wide(values, 0, rows, |value| value.checked_mul(factor?))
            }
            DataType::Decimal256(_, from) => {
                let values = values.as_primitive::<types::Decimal256Type>().values();
                let factor = factor(*from, sums_type);
                self.add_widest(values, 0, rows, |value| value.mul_checked(factor?).ok())
            }
            DataType::Interval(_) => {
                self.add_intervals(values.as_primitive::<IntervalMonthDayNanoType>(), rows)
            }
            _ => Err(GroupError::Refused { aggregate: super::Aggregate::Sum }),
        }
    }

    fn add_ints<T: ArrowPrimitiveType>(
        &mut self,
        values: &ArrayRef,
        rows: Rows<'_>,
    ) -> Result<(), GroupError>
    where
        T::Native: Into<i64>,
    {
        let values = values.as_primitive::<T>().values();
        let mut done = 0;
        if let Self::Int(sums) = self {
            done =
                fill(sums, values, 0, rows, |sum, value: T::Native| sum.checked_add(value.into()));
            if done == values.len() {
                return Ok(());
            }
            *self = Self::Wide(sums.iter().map(|sum| i128::from(*sum)).collect());
        }
        self.add_wide(values, done, rows, |value| Some(i128::from(value.into())))
    }

    /// Adds the values from row `done` on.
    fn add_wide<T: Copy>(
        &mut self,
        values: &[T],
        mut done: usize,
        rows: Rows<'_>,
        widened: impl Fn(T) -> Option<i128>,
    ) -> Result<(), GroupError> {
        if let Self::Wide(sums) = self {
            done = fill(sums, values, done, rows, |sum, value| sum.checked_add(widened(value)?));
            if done == values.len() {
                return Ok(());
            }
        }
        let _ = self.widest()?;
        self.add_widest(values, done, rows, |value| widened(value).map(i256::from_i128))
    }

    fn add_widest<T: Copy>(
        &mut self,
        values: &[T],
        done: usize,
        rows: Rows<'_>,
        widened: impl Fn(T) -> Option<i256>,
    ) -> Result<(), GroupError> {
        let sums = self.widest()?;
        let add = |sum: i256, value| sum.add_checked(widened(value)?).ok();
        let done = fill(sums, values, done, rows, add);
        if done == values.len() { Ok(()) } else { Err(OVERFLOW) }
    }

    fn add_floats<T: Copy>(
        &mut self,
        values: &[T],
        rows: Rows<'_>,
        float: impl Fn(T) -> f64,
    ) -> Result<(), GroupError> {
        if let Self::Float(sums) = self {
            let _ = fill(sums, values, 0, rows, |sum, value| Some(sum + float(value)));
        }
        Ok(())
    }

    fn add_intervals(
        &mut self,
        values: &PrimitiveArray<IntervalMonthDayNanoType>,
        rows: Rows<'_>,
    ) -> Result<(), GroupError> {
        let Self::Interval(sums) = self else { return Ok(()) };
        let values = values.values();
        let add = |sum: IntervalMonthDayNano, value: IntervalMonthDayNano| {
            Some(IntervalMonthDayNano::new(
                sum.months.checked_add(value.months)?,
                sum.days.checked_add(value.days)?,
                sum.nanoseconds.checked_add(value.nanoseconds)?,
            ))
        };
        let done = fill(sums, values, 0, rows, add);
        if done == values.len() { Ok(()) } else { Err(GroupError::Overflow { kind: "interval" }) }
    }
}

/// The factor from a scale to that of the sums.
fn factor(from: i8, sums_type: &DataType) -> Option<i256> {
    power_of_ten(scale(sums_type)?.checked_sub(from)?.unsigned_abs())
}

/// The group of each row, and the rows that have a value.
#[derive(Clone, Copy)]
struct Rows<'a> {
    codes: &'a [u32],
    valid: Option<&'a NullBuffer>,
}

/// Adds each value from row `done` on to the sum of its group; the row at which `add` has failed,
/// or the number of rows.
fn fill<S: Copy, T: Copy>(
    sums: &mut [S],
    values: &[T],
    done: usize,
    rows: Rows<'_>,
    add: impl Fn(S, T) -> Option<S>,
) -> usize {
    each(rows.codes, rows.valid, done, |row, code| {
        let slot = place(code).and_then(|group| sums.get_mut(group));
        let Some((slot, value)) = slot.zip(values.get(row)) else { return true };
        match add(*slot, *value) {
            Some(sum) => {
                *slot = sum;
                true
            }
            None => false,
        }
    })
}

/// Calls `take` with each row from `done` on that has a value, and its group, until it returns
/// false; the row of that call, or the number of rows.
fn each(
    codes: &[u32],
    valid: Option<&NullBuffer>,
    done: usize,
    mut take: impl FnMut(usize, u32) -> bool,
) -> usize {
    let rows = codes.iter().enumerate().skip(done);
    match valid {
        None => {
            for (row, code) in rows {
                if !take(row, *code) {
                    return row;
                }
            }
        }
        Some(valid) => {
            for ((row, code), valid) in rows.zip(valid.iter().skip(done)) {
                if valid && !take(row, *code) {
                    return row;
                }
            }
        }
    }
    codes.len()
}
