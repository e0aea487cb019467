//! A `numeric` as an int64, if it is whole and in range.

use arrow_array::types::Int64Type;

use super::scaled::{Integer, Misfit as Scaling};
use super::wire::{self, Numeric};
use crate::error::{Misfit, Reason};
use crate::schema::Infinity;
use crate::types::primitive::Shape;

/// A column of integers.
pub(super) struct NumericAsInteger;

/// Greater than any int64 in magnitude, so that the conversion alone checks the range.
const MOST: i128 = 10_i128.pow(20);

impl Shape for NumericAsInteger {
    type Arrow = Int64Type;
    const NULL: i64 = 0;

    #[inline]
    fn decode(raw: &[u8]) -> Option<i64> {
        i128::quick(raw, 0, MOST)?.try_into().ok()
    }

    fn edge(raw: &[u8], infinity: Infinity) -> Result<Option<i64>, Reason> {
        match wire::parse(raw)? {
            Numeric::Finite(number) => match i128::scaled(&number, 0, MOST) {
                Ok(value) => value.try_into().map(Some).map_err(|_| Misfit::NotInt64.into()),
                Err(Scaling::Width) => Err(Misfit::NotInt64.into()),
                Err(Scaling::Scale) => super::scaled::check(&number)
                    .and(Err(Misfit::NotWhole(super::text::digits(&number)).into())),
                Err(Scaling::Group(group)) => Err(Reason::NumericGroup(group)),
            },
            _ if infinity == Infinity::Null => Ok(None),
            Numeric::Nan => Err(Reason::NumericNan),
            Numeric::Infinite(sign) => Err(Reason::NumericInfinite(sign)),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;

    use crate::Value;
    use crate::schema::Infinity;
    use crate::testing::{Case, Cell, encode};

    fn cell(text: &str) -> Cell {
        Some(encode(1700, &Value::Numeric(text.into())).unwrap())
    }

    #[test]
    fn whole_numbers() {
        let texts = ["0", "-1", "12.000", "9223372036854775807", "-9223372036854775808", "1e4"];
        let mut cells: Vec<_> = texts.iter().map(|text| cell(text)).collect();
        cells.push(None);
        let array: Int64Array = Case::new(1700).cast("int64").array(&cells);
        let wanted = [0, -1, 12, i64::MAX, i64::MIN, 10_000].into_iter().map(Some);
        assert_eq!(array, wanted.chain([None]).collect::<Int64Array>());
    }

    #[test]
    fn others_are_refused() {
        for (text, reason) in [
            ("1.5", "digits after the point, int64 has none; pass schema={\"c\": \"decimal128("),
            ("9223372036854775808", "out of range for an int64; pass schema={\"c\": \"decimal128("),
            ("-1e30", "out of range for an int64"),
            ("1e100", "out of range for an int64"),
            ("0.00000000000000000000001", "digits after the point"),
        ] {
            let (row, message) =
                Case::new(1700).cast("int64").error(&[cell("1"), None, cell(text)]);
            assert_eq!(row, 2);
            assert!(message.contains(reason), "{message}");
        }
        let nan = [cell("NaN")];
        assert_eq!(Case::new(1700).cast("int64").error(&nan).0, 0);
        let nulls: Int64Array = Case::new(1700).cast("int64").infinity(Infinity::Null).array(&nan);
        assert_eq!(nulls, Int64Array::from(vec![None]));
    }
}
