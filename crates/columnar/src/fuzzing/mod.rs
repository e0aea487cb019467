//! Entry points for a fuzzer: bytes that no server would send, and what must hold even for them.
//! They stand here and not in `fuzz/`, so that the crate's tests call them too.

mod arrow;
mod catalog;
mod column;
mod seeds;

pub use arrow::arrow;
pub use catalog::catalog;
pub use column::column;
pub use seeds::seeds;

use std::sync::{Arc, LazyLock};

use arrow_array::Array;
use colonnade_protocol::fuzzing::Input;
use colonnade_protocol::{Format, Frame, Span, next_frame};

use crate::builder::{BatchBuilder, DecodeOptions, ResultColumn};
use crate::catalog::Types;
use crate::column::Fields;
use crate::error::{LayoutFault, Reason};
use crate::schema::Infinity;
use crate::types::{
    Attribute, EXTENSION_TYPES, RANGES, Request, Shape, TYPES, Type, column_builder, type_of,
};
use crate::value::Value;

/// Rows of a batch: more than in a block.
const BATCH_ROWS: usize = 1_000;

/// Every type of the tables, and types built of them.
static CANDIDATES: LazyLock<Vec<Arc<Type>>> = LazyLock::new(|| {
    let made =
        |shape| Arc::new(Type { oid: 0, name: "fuzzed".to_owned(), schema: String::new(), shape });
    let scalar = |line| made(Shape::Scalar(line));
    let mut types: Vec<_> = TYPES.iter().chain(EXTENSION_TYPES).map(scalar).collect();
    for subtype in RANGES.iter().filter_map(|line| type_of(line.subtype)) {
        let subtype = scalar(subtype);
        types.push(made(Shape::Multirange(Arc::clone(&subtype))));
        types.push(made(Shape::Range(subtype)));
    }
    let labels = ["a".to_owned(), "b".to_owned()];
    types.push(made(Shape::Enum(labels.into())));
    types.push(made(Shape::Record(Types::default())));
    types.push(made(Shape::Opaque));
    let attribute = |(number, pg_type): (usize, &Arc<Type>)| {
        let (name, pg_type) = (format!("field{number}"), Arc::clone(pg_type));
        Attribute { name, pg_type, type_modifier: -1 }
    };
    let composites: Vec<_> = types
        .chunks(3)
        .map(|parts| made(Shape::Composite(parts.iter().enumerate().map(attribute).collect())))
        .collect();
    types.extend(composites);
    let arrays: Vec<_> = types.iter().cloned().map(|element| made(Shape::Array(element))).collect();
    types.extend(arrays);
    types
});

fn candidate(choice: [u8; 2]) -> Arc<Type> {
    let index = usize::from(u16::from_be_bytes(choice)) % CANDIDATES.len();
    CANDIDATES.get(index).map_or_else(|| Arc::new(Type::opaque(0)), Arc::clone)
}

fn any_type(input: &mut Input<'_>) -> Arc<Type> {
    candidate([input.byte(), input.byte()])
}

/// Decodes one value as a row and as a column: neither panics, both agree whether it is valid, and
/// a valid value that can be sent decodes to itself. The first two bytes choose the type.
pub fn value(data: &[u8]) {
    let Some((choice, raw)) = data.split_first_chunk() else { return };
    let pg_type = candidate(*choice);
    let request = Request::new(-1, Infinity::Null, None);
    let Ok((mut built, _)) = column_builder(&pg_type, &request) else { return };
    let spans = [Span::NULL, Span::new(0, raw.len())];
    let appended = built.builder.append(Fields::new(raw, &spans));
    let value = pg_type.value(raw);
    match (&value, &appended) {
        (Ok(_), Ok(())) => {
            let announced = built.builder.data_type();
            let array = built.builder.finish();
            assert_eq!((array.len(), array.data_type()), (2, &announced), "{pg_type:?}");
            let checked = array.to_data().validate_full();
            assert!(checked.is_ok(), "{pg_type:?}: {checked:?}");
        }
        (Ok(_), Err((_, reason))) => assert!(is_of_arrow(reason), "{pg_type:?}: {reason:?}"),
        (Err(reason), _) => {
            let row = appended.as_ref().err().map(|(row, _)| *row);
            assert_eq!(row, Some(1), "{pg_type:?}: {reason:?}, but not in a column");
        }
    }
    if let Ok(value) = value {
        comes_back(&pg_type, &value);
    }
}

/// A sent value decodes to itself. Texts are parsed by the server only.
fn comes_back(pg_type: &Type, value: &Value<'_>) {
    let mut sent = Vec::new();
    let is_sent = pg_type.encode(value, &mut sent).is_ok();
    if is_sent && pg_type.format() == Format::Binary && pg_type.parameter_format() == Format::Binary
    {
        let again = pg_type.value(&sent);
        // Compared as printed, because a NaN is not equal to itself.
        assert_eq!(format!("{again:?}"), format!("{:?}", Ok::<_, Reason>(value)), "{pg_type:?}");
    }
}

/// Whether the value was valid, but a column cannot hold it.
fn is_of_arrow(reason: &Reason) -> bool {
    match reason {
        Reason::EndOfDay
        | Reason::EndOfDayWithZone
        | Reason::IntervalNanoseconds(_)
        | Reason::NumericTooWide { .. }
        | Reason::Layout(LayoutFault::Dimensions { .. })
        | Reason::Layout(LayoutFault::MixedDimensions { .. } | LayoutFault::MixedRecords) => true,
        Reason::Layout(LayoutFault::Within(_, reason)) => is_of_arrow(reason),
        _ => false,
    }
}

/// A whole batch of arbitrary frames. The first byte gives the number of columns, and two bytes
/// choose the type of each.
pub fn batch(data: &[u8]) {
    let Some((count, mut rest)) = data.split_first() else { return };
    let mut columns = Vec::new();
    for _ in 0..*count % 5 {
        let Some((choice, behind)) = rest.split_first_chunk() else { return };
        let pg_type = candidate(*choice);
        columns.push(ResultColumn::new("column", pg_type, -1));
        rest = behind;
    }
    let Ok(mut builder) = BatchBuilder::new(&columns, &DecodeOptions::default()) else { return };
    while let Ok(Some((frame, consumed))) = next_frame(rest) {
        if let Frame::DataRows(mut rows) = frame
            && builder.append(&mut rows, BATCH_ROWS).is_err()
        {
            break;
        }
        rest = rest.get(consumed..).unwrap_or_default();
    }
    let rows = builder.rows();
    let Ok(batch) = builder.finish() else { return };
    assert_eq!(batch.num_rows(), rows);
    for column in batch.columns() {
        assert_eq!(column.len(), rows);
        let checked = column.to_data().validate_full();
        assert!(checked.is_ok(), "{columns:?}: {checked:?}");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::testing::messages;
    use crate::types::{Shape, Type};

    /// Bytes that are more often meaningful than arbitrary ones.
    fn bytes(len: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            prop::collection::vec(any::<u8>(), len.clone()),
            prop::collection::vec(prop_oneof![Just(0), 0..5_u8, Just(0xff)], len),
        ]
    }

    /// The bytes that choose a candidate.
    fn choice(is_wanted: impl Fn(&Shape) -> bool) -> [u8; 2] {
        let place = super::CANDIDATES.iter().position(|pg_type| is_wanted(&pg_type.shape)).unwrap();
        (place as u16).to_be_bytes()
    }

    #[test]
    fn records_in_records_are_followed_as_far_in_rows_as_in_columns() {
        const RECORD: u32 = 2249;
        const RECORDS: u32 = 2287;
        let choice = choice(|shape| matches!(shape, Shape::Record(_)));
        let field = |oid: u32, cell: &[u8]| {
            let numbers = [1, oid, cell.len() as u32].map(u32::to_be_bytes);
            [numbers.as_flattened(), cell].concat()
        };
        let array = |cell: &[u8]| {
            let numbers = [1, 0, RECORD, 1, 1, cell.len() as u32].map(u32::to_be_bytes);
            [numbers.as_flattened(), cell].concat()
        };
        let mut nested = 0_u32.to_be_bytes().to_vec();
        let mut of_arrays = nested.clone();
        for depth in 0..5_000 {
            if depth < 100 || depth == 4_999 {
                super::value(&[&choice[..], &nested].concat());
                super::value(&[&choice[..], &of_arrays].concat());
            }
            nested = field(RECORD, &nested);
            of_arrays = field(RECORDS, &array(&of_arrays));
        }
    }

    #[test]
    fn a_fuzzer_begins_with_what_is_right() {
        for seed in super::seeds("value") {
            super::value(&seed);
        }
        for (number, pg_type) in super::CANDIDATES.iter().enumerate() {
            let is_line = matches!(pg_type.shape, Shape::Scalar(_));
            let has_none = super::seeds::seeds_of("value", number).is_empty();
            assert!(!(is_line && has_none), "{pg_type:?}");
        }
        assert!(super::seeds("value").len() > 2 * super::CANDIDATES.len());
        super::seeds("batch").iter().for_each(|seed| super::batch(seed));
        super::seeds("column").iter().for_each(|seed| super::column(seed));
        super::seeds("arrow").iter().for_each(|seed| super::arrow(seed, |array| array));
    }

    /// A smaller part, for which Miri takes three minutes.
    #[test]
    fn a_fuzzer_begins_with_every_shape() {
        let shapes: [fn(&Type) -> bool; 7] = [
            |it| matches!(it.shape, Shape::Scalar(line) if line.name == "text"),
            |it| matches!(it.shape, Shape::Composite(_)),
            |it| matches!(it.shape, Shape::Record(_)),
            |it| matches!(it.shape, Shape::Enum(_)),
            |it| matches!(it.shape, Shape::Range(_)),
            |it| matches!(it.shape, Shape::Multirange(_)),
            |it| matches!(it.shape, Shape::Opaque),
        ];
        for has_shape in shapes {
            let holds_it = |it: &Type| matches!(&it.shape, Shape::Array(of) if has_shape(of));
            let place = |is_wanted: &dyn Fn(&Type) -> bool| {
                super::CANDIDATES.iter().position(|it| is_wanted(it)).unwrap()
            };
            for place in [place(&has_shape), place(&holds_it)] {
                let seeds = |function| super::seeds::seeds_of(function, place);
                seeds("value").iter().for_each(|seed| super::value(seed));
                seeds("batch").iter().for_each(|seed| super::batch(seed));
                seeds("column").iter().for_each(|seed| super::column(seed));
                seeds("arrow").iter().for_each(|seed| super::arrow(seed, |array| array));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_500))]

        #[test]
        fn value(choice: [u8; 2], raw in bytes(0..60)) {
            super::value(&[&choice[..], &raw].concat());
        }

        #[test]
        fn column(choice: [u8; 2], raw in bytes(0..100)) {
            super::column(&[&choice[..], &raw].concat());
        }

        #[test]
        fn arrow(choice: [u8; 2], raw in bytes(0..100)) {
            super::arrow(&[&choice[..], &raw].concat(), |array| array);
        }

        #[test]
        fn catalog(raw in bytes(0..300)) {
            super::catalog(&raw);
        }

        #[test]
        fn batch(
            choices in prop::collection::vec(any::<[u8; 2]>(), 0..5),
            raw in bytes(0..200),
            cells in prop::collection::vec(prop::option::of(bytes(0..30)), 0..5),
        ) {
            let rows = messages([&cells[..choices.len().min(cells.len())]]);
            let count = [choices.len() as u8];
            super::batch(&[&count, choices.as_flattened(), &rows, &raw].concat());
        }
    }
}
