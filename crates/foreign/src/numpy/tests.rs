use arrow_array::types::{Date32Type, Float64Type, Int8Type};
use arrow_array::{DurationSecondArray, Float64Array, Int8Array};

use super::*;

fn of(width: usize) -> NonZeroUsize {
    NonZeroUsize::new(width).unwrap()
}

fn seconds(counts: Vec<i64>, unit: &str, step: i64) -> Option<Vec<i64>> {
    let array = moments(counts, unit, step, false)?;
    Some(array.as_primitive::<TimestampSecondType>().values().to_vec())
}

#[test]
fn nat_stays_nat_in_each_unit() {
    for unit in ["Y", "M", "W", "h", "m", "s"] {
        assert_eq!(seconds(vec![NAT, 0], unit, 1), Some(vec![NAT, 0]), "{unit}");
    }
    let days = moments(vec![NAT, 3], "D", 1, false).unwrap();
    let days = days.as_primitive::<Date32Type>();
    assert!(days.is_null(0));
    assert_eq!(days.value(1), 3);
}

#[test]
fn years_and_months_become_their_first_days() {
    assert_eq!(seconds(vec![-1, 0, 1], "Y", 1), Some(vec![-365 * DAY_S, 0, 365 * DAY_S]));
    assert_eq!(seconds(vec![1, 2], "M", 1), Some(vec![31 * DAY_S, 59 * DAY_S]));
    assert_eq!(seconds(vec![1], "M", 2), Some(vec![59 * DAY_S]));
}

#[test]
fn what_exceeds_arrows_units_is_left_to_objects() {
    assert_eq!(seconds(vec![i64::MAX / 60], "m", 1), Some(vec![i64::MAX / 60 * 60]));
    assert_eq!(seconds(vec![i64::MAX / 60 + 1], "m", 1), None);
    // The product would be read as NaT.
    assert_eq!(seconds(vec![i64::MIN / 2], "s", 2), None);
    assert_eq!(seconds(vec![1], "Y", i64::MAX), None);
    assert_eq!(seconds(vec![1], "ps", 1), None);
    assert!(durations(vec![1], "D", 1).is_none());
    assert!(durations(vec![1], "generic", 1).is_none());
}

#[test]
fn days_beyond_32_bits_are_no_dates() {
    assert!(moments(vec![i64::from(i32::MAX)], "D", 1, false).is_some());
    assert!(moments(vec![i64::from(i32::MAX) + 1], "D", 1, false).is_none());
    // The smallest number would be NaT.
    assert!(moments(vec![i64::from(i32::MIN)], "D", 1, false).is_none());
    let zoned = moments(vec![1], "D", 1, true).unwrap();
    assert_eq!(zoned.data_type(), &DataType::Timestamp(TimeUnit::Second, Some("UTC".into())));
}

#[test]
fn durations_keep_arrows_units() {
    let hours = durations(vec![2, NAT], "h", 3).unwrap();
    assert_eq!(hours.as_primitive::<DurationSecondType>().values(), &[6 * HOUR_S, NAT]);
    let millis = durations(vec![7], "ms", 1).unwrap();
    assert_eq!(millis.data_type(), &DataType::Duration(TimeUnit::Millisecond));
}

#[test]
fn timedeltas_become_times_of_day() {
    let array: ArrayRef = Arc::new(DurationSecondArray::from(vec![1, NAT]));
    let made = times(array).unwrap().unwrap();
    assert_eq!(made.as_primitive::<Time64MicrosecondType>().values(), &[1_000_000, NAT]);
    let long: ArrayRef = Arc::new(DurationSecondArray::from(vec![i64::MAX]));
    assert!(times(long).unwrap().is_none());
    let other: ArrayRef = Arc::new(Int8Array::from(vec![1]));
    assert_eq!(times(other).unwrap().unwrap().data_type(), &DataType::Int8);
}

#[test]
fn strings_end_before_their_padding() {
    let made = fixed_bytes(b"ab\0\0\0\0\0a\0", of(3));
    let values: Vec<_> = made.as_binary::<i32>().iter().map(Option::unwrap).collect();
    assert_eq!(values, [b"ab".as_slice(), b"", b"\0a"]);
    let points = ['ä' as u32, 0, 0, 'b' as u32];
    let made = fixed_text(&points, of(2)).unwrap();
    let values: Vec<_> = made.as_string::<i32>().iter().map(Option::unwrap).collect();
    assert_eq!(values, ["ä", "\0b"]);
    // Half of a surrogate pair.
    assert!(fixed_text(&[0xd800], of(1)).is_none());
}

#[test]
fn bits_are_packed_across_words() {
    let bytes: Vec<u8> = (0..130_u8).map(|index| index % 3).collect();
    let bits = packed(&bytes);
    assert_eq!(bits.len(), bytes.len());
    assert!(bits.iter().zip(&bytes).all(|(bit, byte)| bit == (*byte != 0)));
    assert_eq!(packed(&[]).len(), 0);
}

#[test]
fn lists_nest_from_the_outermost_length() {
    let values: ArrayRef = Arc::new(Float64Array::from_iter_values((0..12).map(f64::from)));
    let made = nested(values, &[2, 3]).unwrap();
    assert_eq!(made.len(), 2);
    let row = made.as_fixed_size_list().value(1);
    let last = row.as_fixed_size_list().value(1);
    assert_eq!(last.as_primitive::<Float64Type>().values(), &[9.0, 10.0, 11.0]);
}

#[test]
fn lists_without_length_are_refused() {
    let values = || -> ArrayRef { Arc::new(Int8Array::from(vec![1, 2])) };
    assert_eq!(nested(values(), &[]).unwrap().data_type(), &DataType::Int8);
    assert!(matches!(nested(values(), &[0]), Err(NestError::Empty)));
    assert!(matches!(nested(values(), &[1 << 40]), Err(NestError::Length(_))));
}

#[test]
fn a_mask_adds_to_the_nulls() {
    let array: ArrayRef = Arc::new(Int8Array::from(vec![Some(1), None, Some(3)]));
    let made = masked(&array, &[1, 0, 0]).unwrap();
    let values: Vec<_> = made.as_primitive::<Int8Type>().iter().collect();
    assert_eq!(values, [None, None, Some(3)]);
}
