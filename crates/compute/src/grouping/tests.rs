use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type, Float64Type, Int64Type};
use arrow_array::{
    Array, Decimal128Array, Float64Array, Int32Array, Int64Array, StringArray, UInt64Array,
};
use arrow_schema::ArrowError;

use super::*;

/// Numbers that look random.
fn noise(count: usize) -> impl Iterator<Item = u64> {
    let step = |state: u64| state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    std::iter::successors(Some(0x1234_5678), move |state| Some(step(*state)))
        .map(|state| state ^ (state >> 31))
        .take(count)
}

fn naive<K: Eq + Hash>(keys: impl IntoIterator<Item = K>, dropped: impl Fn(&K) -> bool) -> Groups {
    let mut known = HashMap::new();
    let mut groups = Groups::default();
    for (row, key) in keys.into_iter().enumerate() {
        if dropped(&key) {
            groups.codes.push(DROPPED);
            continue;
        }
        let code = *known.entry(key).or_insert_with(|| {
            groups.firsts.push(number(row));
            number(groups.firsts.len() - 1)
        });
        groups.codes.push(code);
    }
    groups
}

fn grouped(columns: &[ArrayRef], order: Order, nulls: Nulls) -> Groups {
    let keys: Vec<KeyColumn> =
        columns.iter().map(|column| KeyColumn::of(column, KeyRule::Plain).unwrap()).collect();
    group(&keys, order, nulls).unwrap()
}

fn check(values: &[Option<i64>]) {
    let column: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
    let groups = grouped(&[Arc::clone(&column)], Order::FirstSeen, Nulls::Group);
    assert_eq!(groups, naive(values, |_| false));
    let groups = grouped(&[Arc::clone(&column)], Order::FirstSeen, Nulls::Drop);
    assert_eq!(groups, naive(values, |value| value.is_none()));
    let sorted = grouped(&[Arc::clone(&column)], Order::Sorted, Nulls::Group);
    let keys: Vec<Option<i64>> = sorted.firsts.iter().map(|row| values[*row as usize]).collect();
    assert!(keys.windows(2).all(|pair| match (pair[0], pair[1]) {
        (Some(left), Some(right)) => left < right,
        (_, right) => right.is_none(),
    }));
    assert!(sorted.codes.iter().zip(values).all(|(code, value)| keys[*code as usize] == *value));
}

#[test]
fn every_way_gives_the_same_groups() {
    const MANY: usize = 200_000;
    let way = |count: usize, value: &dyn Fn(u64) -> i64| {
        let mut values: Vec<Option<i64>> = noise(count).map(|bits| Some(value(bits))).collect();
        check(&values);
        values.sort_unstable();
        check(&values);
        values.push(Some(i64::MIN));
        check(&values);
        for (value, bits) in values.iter_mut().zip(noise(count)) {
            *value = value.filter(|_| bits % 7 > 0);
        }
        check(&values);
    };
    for count in [0, 1, 2, 100, MANY] {
        way(count, &|bits| i64::try_from(bits % 1000).unwrap());
        way(count, &|bits| bits.cast_signed());
        way(count, &|bits| (bits % 1000).wrapping_mul(0x9E37_79B9_7F4A_7C15).cast_signed());
        way(count, &|_| -1);
    }
}

#[test]
fn integers_of_128_bits_are_partitioned_too() {
    let values: Vec<i128> = noise(200_000)
        .map(|bits| i128::from(bits % 150_000) * 1_000_000_000_000_000_000_000 - 17)
        .collect();
    let column: ArrayRef = Arc::new(Decimal128Array::from(values.clone()));
    let groups = grouped(&[column], Order::FirstSeen, Nulls::Group);
    assert_eq!(groups, naive(&values, |_| false));
}

#[test]
fn texts_are_grouped_alike_by_every_way() {
    let spread =
        [("shop ", 1000), ("customer ", 1000), ("customer ", 1 << 40), ("of the shop ", 9)];
    for (begin, different) in spread {
        let mut rows: Vec<Option<String>> =
            noise(40_000).map(|bits| Some(format!("{begin}{}", bits % different))).collect();
        for sorted in [false, true] {
            if sorted {
                rows.sort_unstable();
            }
            for (row, bits) in rows.iter_mut().zip(noise(40_000)) {
                if sorted && bits % 5 == 0 {
                    *row = None;
                }
            }
            let column: ArrayRef = Arc::new(StringArray::from(rows.clone()));
            // The last text ends where the data end, and a slice begins amid them.
            for (column, rows) in [(column.slice(7, 39_993), &rows[7..]), (column, &rows[..])] {
                let groups = grouped(&[Arc::clone(&column)], Order::FirstSeen, Nulls::Group);
                assert_eq!(groups, naive(rows, |_| false));
                let groups = grouped(&[column], Order::FirstSeen, Nulls::Drop);
                assert_eq!(groups, naive(rows, |row| row.is_none()));
            }
        }
    }
}

#[test]
fn the_least_and_the_greatest_of_short_texts() {
    let texts = StringArray::from(vec![Some("twelve bytes"), Some("b"), None, Some("c"), Some("")]);
    let values: ArrayRef = Arc::new(texts);
    let groups = Groups { codes: vec![0, 0, 0, 1, 1], firsts: vec![0, 3] };
    let of = |kind| aggregate(kind, &values, KeyRule::Plain, &groups).unwrap();
    let expected = |texts: [&str; 2]| StringArray::from(texts.to_vec());
    assert_eq!(of(Aggregate::Min).as_string::<i32>(), &expected(["b", ""]));
    assert_eq!(of(Aggregate::Max).as_string::<i32>(), &expected(["twelve bytes", "c"]));
}

#[test]
fn texts_of_every_length_keep_their_order() {
    let texts = ["", "a", "a\0", "a\0\0", "ab", "b", "seven b", "eight by", "\u{e9}", "zz"];
    for longest in ["", "fifteen bytes 1", "sixteen bytes 16", "seventeen bytes 1"] {
        let mut known: Vec<&str> = texts.to_vec();
        known.push(longest);
        let rows: Vec<&str> =
            noise(500).map(|bits| known[(bits >> 8) as usize % known.len()]).collect();
        let column: ArrayRef = Arc::new(StringArray::from(rows.clone()));
        let groups = grouped(&[Arc::clone(&column)], Order::FirstSeen, Nulls::Group);
        assert_eq!(groups, naive(&rows, |_| false));
        let sorted = grouped(&[column], Order::Sorted, Nulls::Group);
        let keys: Vec<&str> = sorted.firsts.iter().map(|row| rows[*row as usize]).collect();
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "{keys:?}");
    }
}

#[test]
fn floats_have_one_nan_and_one_zero() {
    let negative_nan = f64::from_bits(f64::NAN.to_bits() | 1 << 63);
    let values =
        [0.0, -0.0, f64::NAN, negative_nan, f64::INFINITY, -1.0, f64::NEG_INFINITY, 1e-310];
    let column: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
    let groups = grouped(&[Arc::clone(&column)], Order::Sorted, Nulls::Group);
    assert_eq!(groups.codes, [2, 2, 5, 5, 4, 1, 0, 3]);
    let one = Groups { codes: vec![0; 8], firsts: vec![0] };
    let greatest = aggregate(Aggregate::Max, &column, KeyRule::Plain, &one).unwrap();
    assert!(greatest.as_primitive::<Float64Type>().value(0).is_nan());
}

#[test]
fn many_columns_are_packed_numbered_and_combined() {
    let count = 3000;
    let number = |bits: u64, most: u64| (bits >> 7) % most;
    let wide: Vec<u64> =
        noise(count).map(|bits| (bits % 40).wrapping_mul(0x1234_5678_9ABC)).collect();
    let narrow: Vec<Option<i32>> = noise(count)
        .map(|bits| (bits % 5 > 0).then(|| i32::try_from(number(bits, 3)).unwrap()))
        .collect();
    let texts: Vec<String> =
        noise(count).map(|bits| format!("text {}", number(bits, 11))).collect();
    let column = |index: usize| -> ArrayRef {
        match index % 3 {
            0 => Arc::new(UInt64Array::from(wide.clone())),
            1 => Arc::new(Int32Array::from(narrow.clone())),
            _ => Arc::new(StringArray::from(texts.clone())),
        }
    };
    for columns in [2, 3, 7, 20] {
        let arrays: Vec<ArrayRef> = (0..columns).map(column).collect();
        let keys = (0..count).map(|row| {
            (wide[row], narrow[row], if columns > 2 { texts[row].as_str() } else { "" })
        });
        let groups = grouped(&arrays, Order::FirstSeen, Nulls::Group);
        assert_eq!(groups, naive(keys.clone(), |_| false));
        let dropped = grouped(&arrays, Order::FirstSeen, Nulls::Drop);
        assert_eq!(dropped, naive(keys.clone(), |(_, narrow, _)| narrow.is_none()));
        let sorted = grouped(&arrays, Order::Sorted, Nulls::Group);
        let keys: Vec<_> = keys.collect();
        let found: Vec<_> = sorted
            .firsts
            .iter()
            .map(|row| keys[*row as usize])
            .map(|(wide, narrow, text)| (wide, narrow.is_none(), narrow, text))
            .collect();
        assert!(found.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

fn summed(values: &ArrayRef, kind: Aggregate) -> Result<ArrayRef, GroupError> {
    let groups = Groups { codes: vec![0; values.len()], firsts: vec![0] };
    aggregate(kind, values, KeyRule::Plain, &groups)
}

#[test]
fn sums_of_integers_are_exact_or_an_error() {
    let beyond_and_back: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX, 1, -5, 3]));
    let sum = summed(&beyond_and_back, Aggregate::Sum).unwrap();
    assert_eq!(sum.as_primitive::<Int64Type>().value(0), i64::MAX - 1);
    let beyond: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX, 1]));
    assert!(matches!(summed(&beyond, Aggregate::Sum), Err(GroupError::Overflow { .. })));
    let mean = summed(&beyond, Aggregate::Mean).unwrap();
    assert_eq!(mean.as_primitive::<Float64Type>().value(0), 4_611_686_018_427_387_904.0);
}

#[test]
fn sums_of_decimals_widen() {
    let most = 10_i128.pow(38) - 1;
    let decimals = |values: Vec<i128>| -> ArrayRef {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(38, 2).unwrap())
    };
    let sum = summed(&decimals(vec![most, -most, 7]), Aggregate::Sum).unwrap();
    assert_eq!(sum.as_primitive::<Decimal128Type>().value_as_string(0), "0.07");
    let sum = summed(&decimals(vec![most; 3]), Aggregate::Sum).unwrap();
    let digits = sum.as_primitive::<Decimal256Type>().value_as_string(0);
    assert_eq!(digits, "2999999999999999999999999999999999999.97");
    let mean = summed(&decimals(vec![-100, -200, -200]), Aggregate::Mean).unwrap();
    assert_eq!(mean.as_primitive::<Decimal128Type>().value_as_string(0), "-1.66666667");
}

#[test]
fn a_stream_gives_the_results_of_the_whole() {
    fn concat(parts: &[ArrayRef]) -> Result<ArrayRef, ArrowError> {
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        arrow_select::concat::concat(&parts)
    }
    let keys: Vec<Option<i64>> =
        noise(1000).map(|b| (b % 9 > 0).then_some((b % 37).cast_signed())).collect();
    let values: Vec<Option<f64>> =
        noise(1000).map(|bits| (bits % 4 > 0).then(|| (bits >> 40) as f64 / 7.0)).collect();
    for (order, nulls) in [(Order::FirstSeen, Nulls::Group), (Order::Sorted, Nulls::Drop)] {
        let asked = Aggregate::ALL.map(|kind| Asked { of: Some((kind, KeyRule::Plain)) });
        let rules = vec![KeyRule::Plain];
        let mut partial = Partial::new(rules, order, nulls, asked.to_vec(), concat);
        for (keys, values) in keys.chunks(83).zip(values.chunks(83)) {
            let keys: ArrayRef = Arc::new(Int64Array::from(keys.to_vec()));
            let values: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
            partial.add(&[keys], &vec![values; asked.len()]).unwrap();
        }
        let (found, results) = partial.finish().unwrap().unwrap();
        let keys: ArrayRef = Arc::new(Int64Array::from(keys.clone()));
        let values: ArrayRef = Arc::new(Float64Array::from(values.clone()));
        let groups = grouped(&[Arc::clone(&keys)], order, nulls);
        assert_eq!(&found[0], &keys_of(&keys, &groups).unwrap());
        for (kind, result) in Aggregate::ALL.into_iter().zip(results) {
            let whole = aggregate(kind, &values, KeyRule::Plain, &groups).unwrap();
            assert_eq!(result.to_data(), whole.to_data(), "{kind:?}");
        }
    }
}

#[test]
fn rows_are_laid_out_by_group() {
    let groups = Groups { codes: vec![1, 0, DROPPED, 1, 0], firsts: vec![1, 0] };
    let made = layout(&groups);
    assert_eq!((made.order, made.offsets), (Some(vec![1, 4, 0, 3]), vec![0, 2, 4]));
    let ascending = Groups { codes: vec![0, 0, 1, DROPPED], firsts: vec![0, 2] };
    let made = layout(&ascending);
    assert_eq!((made.order, made.offsets), (None, vec![0, 2, 3]));
}
