//! `point`, `line`, `lseg`, `box`, `circle`: two to four `float8` and nothing else. `polygon`: a
//! 32-bit number of points, then the points. `path`: a byte that is 1 if the last point is
//! connected to the first, then as a polygon.
//!
//! Every bit pattern of a float is a value. A NULL in a column of fixed width holds NaN.

use std::sync::Arc;

use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, BooleanArray, StructArray};
use arrow_schema::{DataType, Field, Fields as ArrowFields};

use super::floats::{FixedBuilder, ListBuilder, Lists, Shape, extend_float64};
use super::{Built, Codec, Kind, Request, boolean};
use crate::column::{ColumnBuilder, Fields};
use crate::error::{EncodeError, LayoutFault, Reason};
use crate::validity::{Bits, Validity};
use crate::value::Value;

/// Bytes of a point.
const POINT_LEN: usize = 16;

pub(super) const POINT: Codec = Codec {
    arrow: "fixed_size_list[float64, 2]",
    kind: Kind::Point,
    width: Some(16),
    casts: &[],
    value: |raw| floats(raw).map(Value::Point),
    encode: |value, out| match value {
        Value::Point(floats) => write_floats(floats, out),
        other => Err(wrong_kind("a point", other)),
    },
    builder: fixed_builder::<2>,
};

pub(super) const LSEG: Codec = Codec {
    arrow: "fixed_size_list[float64, 4]",
    kind: Kind::LineSegment,
    width: Some(32),
    casts: &[],
    value: |raw| floats(raw).map(Value::LineSegment),
    encode: |value, out| match value {
        Value::LineSegment(floats) => write_floats(floats, out),
        other => Err(wrong_kind("a line segment", other)),
    },
    builder: fixed_builder::<4>,
};

pub(super) const BOX: Codec = Codec {
    arrow: "fixed_size_list[float64, 4]",
    kind: Kind::Box,
    width: Some(32),
    casts: &[],
    value: |raw| floats(raw).map(Value::Box),
    encode: |value, out| match value {
        Value::Box(floats) => write_floats(floats, out),
        other => Err(wrong_kind("a box", other)),
    },
    builder: fixed_builder::<4>,
};

pub(super) const LINE: Codec = Codec {
    arrow: "fixed_size_list[float64, 3]",
    kind: Kind::Line,
    width: Some(24),
    casts: &[],
    value: |raw| floats(raw).map(Value::Line),
    encode: |value, out| match value {
        Value::Line(floats) => write_floats(floats, out),
        other => Err(wrong_kind("a line", other)),
    },
    builder: fixed_builder::<3>,
};

pub(super) const CIRCLE: Codec = Codec {
    arrow: "fixed_size_list[float64, 3]",
    kind: Kind::Circle,
    width: Some(24),
    casts: &[],
    value: |raw| floats(raw).map(Value::Circle),
    encode: |value, out| match value {
        Value::Circle(floats) => write_floats(floats, out),
        other => Err(wrong_kind("a circle", other)),
    },
    builder: fixed_builder::<3>,
};

pub(super) const POLYGON: Codec = Codec {
    arrow: "list[fixed_size_list[float64, 2]]",
    kind: Kind::Polygon,
    width: None,
    casts: &[],
    value: |raw| points(raw).map(|points| Value::Polygon(to_points(points))),
    encode: |value, out| match value {
        Value::Polygon(points) => write_points("polygon", points, out),
        other => Err(wrong_kind("a polygon", other)),
    },
    builder: |request| match request.cast {
        None => Built::plain(ListBuilder::<Polygon>::new(Lists::of_points())),
        Some(_) => None,
    },
};

pub(super) const PATH: Codec = Codec {
    arrow: "struct[is_closed: bool, points: list[fixed_size_list[float64, 2]]]",
    kind: Kind::Path,
    width: None,
    casts: &[],
    value: |raw| {
        let (is_closed, points) = path(raw)?;
        Ok(Value::Path { is_closed, points: to_points(points) })
    },
    encode: |value, out| match value {
        Value::Path { is_closed, points } => {
            out.push(u8::from(*is_closed));
            write_points("path", points, out)
        }
        other => Err(wrong_kind("a path", other)),
    },
    builder: |request| match request.cast {
        None => Built::plain(PathBuilder::new()),
        Some(_) => None,
    },
};

fn wrong_kind(expected: &'static str, value: &Value<'_>) -> EncodeError {
    EncodeError::WrongKind { expected, given: value.describe() }
}

/// Exactly `N` floats.
#[inline]
fn floats<const N: usize>(raw: &[u8]) -> Result<[f64; N], Reason> {
    let wrong = Reason::WrongLength { expected: N * 8, actual: raw.len() };
    match raw.as_chunks() {
        (chunks, []) => match <&[[u8; 8]; N]>::try_from(chunks) {
            Ok(chunks) => Ok(chunks.map(f64::from_be_bytes)),
            Err(_) => Err(wrong),
        },
        _ => Err(wrong),
    }
}

fn write_floats(floats: &[f64], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    for float in floats {
        out.extend_from_slice(&float.to_be_bytes());
    }
    Ok(())
}

/// The bytes of a polygon's points, checked for their number.
#[inline]
fn points(raw: &[u8]) -> Result<&[u8], Reason> {
    let Some((count, points)) = raw.split_first_chunk() else {
        return Err(Reason::TooShort { least: 4, actual: raw.len() });
    };
    let count = i32::from_be_bytes(*count);
    let Ok(announced) = usize::try_from(count) else {
        return Err(LayoutFault::Count(count).into());
    };
    let expected = announced.saturating_mul(POINT_LEN);
    if points.len() != expected {
        return Err(Reason::WrongLength {
            expected: expected.saturating_add(4),
            actual: raw.len(),
        });
    }
    Ok(points)
}

/// Whether a path is closed, and the bytes of its points.
#[inline]
fn path(raw: &[u8]) -> Result<(bool, &[u8]), Reason> {
    match raw.split_at_checked(1) {
        Some((flag, rest)) => Ok((boolean::decode(flag)?, points(rest)?)),
        None => Err(Reason::TooShort { least: 5, actual: 0 }),
    }
}

fn to_points(points: &[u8]) -> Vec<[f64; 2]> {
    let (chunks, _) = points.as_chunks::<POINT_LEN>();
    chunks.iter().filter_map(|point| floats(point).ok()).collect()
}

fn write_points(
    type_name: &'static str,
    points: &[[f64; 2]],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let count = i32::try_from(points.len()).map_err(|_| EncodeError::TooManyParts {
        type_name,
        most: i32::MAX as usize,
        given: points.len(),
    })?;
    out.extend_from_slice(&count.to_be_bytes());
    write_floats(points.as_flattened(), out)
}

struct Fixed<const N: usize>;

impl<const N: usize> Shape for Fixed<N> {
    type Arrow = Float64Type;
    const NULL: f64 = f64::NAN;

    #[inline]
    fn append(raw: &[u8], column: &mut Vec<f64>) -> Result<(), Reason> {
        column.extend_from_slice(&floats::<N>(raw)?);
        Ok(())
    }
}

fn fixed_builder<const N: usize>(request: &Request) -> Option<Built> {
    match request.cast {
        None => Built::plain(FixedBuilder::<Fixed<N>>::new(N)),
        Some(_) => None,
    }
}

struct Polygon;

impl Shape for Polygon {
    type Arrow = Float64Type;
    const NULL: f64 = f64::NAN;

    #[inline]
    fn append(raw: &[u8], column: &mut Vec<f64>) -> Result<(), Reason> {
        extend_float64(points(raw)?, column);
        Ok(())
    }
}

/// A NULL holds an open path without points.
struct PathBuilder {
    is_closed: Bits,
    points: Lists<Float64Type>,
    /// As long as `is_closed` and `points`.
    validity: Validity,
}

impl PathBuilder {
    fn new() -> Self {
        let points = Lists::of_points();
        Self { is_closed: Bits::default(), points, validity: Validity::default() }
    }

    fn fields(&self) -> ArrowFields {
        let is_closed = Field::new("is_closed", DataType::Boolean, false);
        [is_closed, Field::new("points", self.points.data_type(), false)].into_iter().collect()
    }

    /// Appends a block and returns the number of NULLs.
    fn append_rows(&mut self, fields: Fields<'_>) -> Result<usize, (usize, Reason)> {
        let mut nulls = 0;
        for (row, field) in fields.iter().enumerate() {
            let mut closed = false;
            match field.map(path) {
                Some(Ok((is_closed, points))) => {
                    closed = is_closed;
                    extend_float64(points, &mut self.points.floats);
                }
                Some(Err(reason)) => return Err((row, reason)),
                None => nulls += 1,
            }
            self.is_closed.push_word(u64::from(closed), 1);
            self.points.end_list().map_err(|reason| (row, reason))?;
        }
        Ok(nulls)
    }
}

impl ColumnBuilder for PathBuilder {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        let start = self.validity.len();
        let appended = self.append_rows(fields);
        if appended.is_err() {
            self.is_closed.truncate(start);
            self.points.truncate(start);
        }
        self.validity.append(fields, appended?, &[]);
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        let fields = self.fields();
        let is_closed = Arc::new(BooleanArray::new(self.is_closed.finish(), None));
        let points = Arc::new(self.points.finish(None));
        Arc::new(StructArray::new(fields, vec![is_closed, points], self.validity.finish()))
    }

    fn data_type(&self) -> DataType {
        DataType::Struct(self.fields())
    }

    fn nbytes(&self) -> usize {
        self.is_closed.nbytes() + self.points.nbytes() + self.validity.nbytes()
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::{Array, FixedSizeListArray, ListArray};
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Case, assert_both_ways, encode, hex};

    const ONE: &str = "3ff0000000000000";
    const TWO: &str = "4000000000000000";
    const THREE: &str = "4008000000000000";
    const FOUR: &str = "4010000000000000";

    /// The server's bytes, with the SQL next to each.
    #[test]
    fn golden() {
        // '(1.5,-2)'::point
        let bytes = hex("3ff8000000000000 c000000000000000");
        assert_both_ways(600, bytes, Value::Point([1.5, -2.0]));
        // '(Infinity,-Infinity)'::point
        let bytes = hex("7ff0000000000000 fff0000000000000");
        assert_both_ways(600, bytes, Value::Point([f64::INFINITY, f64::NEG_INFINITY]));
        // '[(1,2),(3,4)]'::lseg
        let bytes = hex(&[ONE, TWO, THREE, FOUR].concat());
        assert_both_ways(601, bytes, Value::LineSegment([1.0, 2.0, 3.0, 4.0]));
        // '(1,2),(3,4)'::box
        let bytes = hex(&[THREE, FOUR, ONE, TWO].concat());
        assert_both_ways(603, bytes, Value::Box([3.0, 4.0, 1.0, 2.0]));
        // '{1,2,3}'::line, '<(1,2),3>'::circle
        let bytes = hex(&[ONE, TWO, THREE].concat());
        assert_both_ways(628, bytes.clone(), Value::Line([1.0, 2.0, 3.0]));
        assert_both_ways(718, bytes, Value::Circle([1.0, 2.0, 3.0]));
        // '((1,2),(3,4))'::path
        let bytes = hex(&["0100000002", ONE, TWO, THREE, FOUR].concat());
        let points = vec![[1.0, 2.0], [3.0, 4.0]];
        assert_both_ways(602, bytes, Value::Path { is_closed: true, points: points.clone() });
        // '[(1,2)]'::path
        let bytes = hex(&["0000000001", ONE, TWO].concat());
        assert_both_ways(602, bytes, Value::Path { is_closed: false, points: vec![[1.0, 2.0]] });
        // '((1,2),(3,4))'::polygon
        let bytes = hex(&["00000002", ONE, TWO, THREE, FOUR].concat());
        assert_both_ways(604, bytes, Value::Polygon(points));
        // The server neither sends nor accepts these.
        assert_both_ways(604, hex("00000000"), Value::Polygon(vec![]));
        assert_both_ways(602, hex("0100000000"), Value::Path { is_closed: true, points: vec![] });
    }

    #[test]
    fn columns() {
        let cells = [None, hex(&[ONE, TWO].concat()), None];
        let array: FixedSizeListArray = Case::new(600).array(&cells);
        assert_eq!(array.data_type().to_string(), "FixedSizeList(2 x non-null Float64)");
        let floats = array.values().as_primitive::<Float64Type>();
        assert_eq!(floats.values()[2..4], [1.0, 2.0]);
        assert!(floats.values()[..2].iter().chain(&floats.values()[4..]).all(|f| f.is_nan()));
        assert!(array.is_null(0) && array.is_valid(1) && array.is_null(2));

        let two = hex(&["00000002", ONE, TWO, THREE, FOUR].concat());
        let array: ListArray = Case::new(604).array(&[two, None, hex("00000000")]);
        assert_eq!(array.value_offsets(), [0, 2, 2, 2]);
        assert!(array.is_null(1) && array.is_valid(2));
        let points = array.values().as_fixed_size_list();
        let floats = points.values().as_primitive::<Float64Type>();
        assert_eq!(floats.values(), &[1.0, 2.0, 3.0, 4.0]);

        let cells = [hex(&["0100000001", ONE, TWO].concat()), None, hex("0000000000")];
        let array: StructArray = Case::new(602).array(&cells);
        assert_eq!(array.column_names(), ["is_closed", "points"]);
        let is_closed = array.column(0).as_boolean();
        assert_eq!(is_closed.iter().collect::<Vec<_>>(), [Some(true), Some(false), Some(false)]);
        assert_eq!(array.column(1).as_list::<i32>().value_offsets(), [0, 1, 1, 1]);
        assert!(array.is_null(1));
        // Both are NULL only where the path is.
        assert!(array.fields().iter().all(|field| !field.is_nullable()));
    }

    #[test]
    fn malformed() {
        let good = hex(&[ONE, TWO, THREE, FOUR].concat());
        for (oid, width) in [(600, 2), (601, 4), (603, 4), (628, 3), (718, 3)] {
            for bytes in [0, 7, width * 8 - 1, width * 8 + 1, width * 8 + 8] {
                let bad = Some(vec![0; bytes]);
                let fine = good.as_ref().map(|bytes| bytes[..width * 8].to_vec());
                assert_eq!(Case::new(oid).error(&[fine, None, bad]).0, 2, "{oid} {bytes}");
            }
        }
        let point = [ONE, TWO].concat();
        for bad in ["", "000000", "00000001", "ffffffff", "7fffffff", "0000000000"] {
            assert_eq!(Case::new(604).error(&[hex("00000000"), hex(bad)]).0, 1, "{bad}");
            let bad = format!("01{bad}");
            assert_eq!(Case::new(602).error(&[hex("0000000000"), hex(&bad)]).0, 1, "{bad}");
        }
        for bad in ["", "0200000000", "00", &format!("0000000002{point}")] {
            assert_eq!(Case::new(602).error(&[None, hex(bad)]).0, 1, "{bad}");
        }
        let (_, text) = Case::new(604).error(&[hex("ffffffff")]);
        assert!(text.ends_with("a value cannot have -1 parts"), "{text}");
        for oid in [600, 601, 602, 603, 604, 628, 718] {
            assert!(encode(oid, &Value::Int(1)).is_err());
        }
    }

    proptest! {
        /// Every bit pattern of a float passes, in both directions.
        #[test]
        fn every_bit_is_kept(bits in prop::collection::vec(any::<[u64; 2]>(), 0..6), closed: bool) {
            let floats = bits.as_flattened().iter().flat_map(|bits| bits.to_be_bytes());
            let floats: Vec<u8> = floats.collect();
            let polygon = [&(bits.len() as u32).to_be_bytes()[..], &floats].concat();
            let path = [&[u8::from(closed)][..], &polygon].concat();
            let mut cells = vec![(604, polygon), (602, path)];
            for (oid, width) in [(600, 2), (601, 4), (603, 4), (628, 3), (718, 3)] {
                cells.extend(floats.get(..width * 8).map(|floats| (oid, floats.to_vec())));
            }
            for (oid, bytes) in cells {
                let value = (crate::type_of(oid).unwrap().value)(&bytes).unwrap();
                prop_assert_eq!(&encode(oid, &value).unwrap(), &bytes);
                let array = Case::new(oid).decode(&[None, Some(bytes)]).unwrap();
                prop_assert_eq!((array.is_null(0), array.is_valid(1)), (true, true));
                let lists = array.as_list_opt::<i32>().map(|lists| lists.values().clone());
                let fixed = lists.unwrap_or(array);
                if let Some(fixed) = fixed.as_fixed_size_list_opt() {
                    let decoded = fixed.values().as_primitive::<Float64Type>().values();
                    let decoded = decoded.iter().map(|float| float.to_bits()).collect::<Vec<_>>();
                    let skip = if oid == 604 { 0 } else { fixed.value_length() as usize };
                    let expected = &bits.as_flattened()[..decoded.len() - skip];
                    prop_assert_eq!(&decoded[skip..], expected);
                }
            }
        }
    }
}
