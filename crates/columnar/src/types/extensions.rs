//! Types from extensions: their OIDs differ between databases, so they are recognized by their
//! names and send functions.
//!
//! Rows have each of them as text, as in every other driver, and parameters accept that text, which
//! the server parses. A connection can request the types' own values in rows instead. Columns
//! always have those. Where no text can be sent, in a composite or by COPY, the driver parses the
//! text itself.

use super::Comparison::{EqualityOnly, Neither};
use super::{PgType, ewkb, hstore, line, ltree, sparsevec, text, vector};

const GEOGRAPHY: PgType =
    line("geography", 0, 0, "geography_send", ewkb::GEOMETRY).compared(EqualityOnly);
const GEOMETRY: PgType =
    line("geometry", 0, 0, "geometry_send", ewkb::GEOMETRY).compared(EqualityOnly);
const HALFVEC: PgType = line("halfvec", 0, 0, "halfvec_send", vector::HALFVEC);
const HSTORE: PgType = line("hstore", 0, 0, "hstore_send", hstore::HSTORE).compared(EqualityOnly);
const VECTOR: PgType = line("vector", 0, 0, "vector_send", vector::VECTOR);

/// All known extension types, ordered by name. They have no OID here.
pub static EXTENSION_TYPES: &[PgType] = &[
    line("citext", 0, 0, "citextsend", text::TEXT).compared(Neither),
    GEOGRAPHY,
    GEOMETRY,
    HALFVEC,
    HSTORE,
    line("lquery", 0, 0, "lquery_send", ltree::LTREE),
    line("ltree", 0, 0, "ltree_send", ltree::LTREE).compared(EqualityOnly),
    line("ltxtquery", 0, 0, "ltxtq_send", ltree::LTREE),
    line("sparsevec", 0, 0, "sparsevec_send", sparsevec::SPARSEVEC),
    VECTOR,
];

/// The types whose own values are not text, as rows have them by default.
static PRINTED: &[PgType] = &[
    GEOGRAPHY.printed(ewkb::print),
    GEOMETRY.printed(ewkb::print),
    HALFVEC.printed(vector::print_halfvec),
    HSTORE.printed(hstore::print),
    VECTOR.printed(vector::print_vector),
];

/// For an extension type whose own values are not text, the line for printed rows.
pub(crate) fn printed_line(line: &PgType) -> Option<&'static PgType> {
    if line.oid != 0 {
        return None;
    }
    PRINTED.iter().find(|printed| printed.name == line.name)
}

/// For the line of printed rows, the line of the type's own values.
pub(crate) fn unprinted_line(line: &'static PgType) -> Option<&'static PgType> {
    if line.oid != 0 || !PRINTED.iter().any(|printed| std::ptr::eq(printed, line)) {
        return None;
    }
    EXTENSION_TYPES.iter().find(|other| other.name == line.name)
}

/// Shared by the tests of these types, which cannot be found by OID.
#[cfg(test)]
pub(super) mod testing {
    use arrow_array::{Array, ArrayRef};
    use colonnade_protocol::Spans;

    use super::super::{Built, Request};
    use super::*;
    use crate::column::Fields;
    use crate::error::{EncodeError, Reason};
    use crate::schema::Infinity;
    use crate::testing::{Cell, data_rows, messages};
    use crate::value::Value;

    /// One column of a type.
    pub(in super::super) struct Extended {
        line: &'static PgType,
        request: Request,
    }

    impl Extended {
        pub(in super::super) fn new(name: &str) -> Self {
            let line = EXTENSION_TYPES.iter().find(|line| line.name == name).unwrap();
            let request = Request::new(-1, Infinity::Raise, None);
            Self { line, request }
        }

        pub(in super::super) fn modifier(mut self, type_modifier: i32) -> Self {
            self.request.type_modifier = type_modifier;
            self
        }

        pub(in super::super) fn cast(mut self, arrow_type: &str) -> Self {
            self.request.cast = Some(arrow_type.parse().unwrap());
            self
        }

        pub(in super::super) fn built(&self) -> Built {
            (self.line.builder)(&self.request).unwrap()
        }

        /// Decodes a column; the split into blocks must not change the result.
        pub(in super::super) fn decode(&self, cells: &[Cell]) -> Result<ArrayRef, (usize, Reason)> {
            let whole = self.decode_in_blocks(cells, usize::MAX);
            for block in [1, 3] {
                assert_eq!(self.decode_in_blocks(cells, block), whole, "blocks of {block}");
            }
            whole
        }

        fn decode_in_blocks(
            &self,
            cells: &[Cell],
            block: usize,
        ) -> Result<ArrayRef, (usize, Reason)> {
            let mut builder = self.built().builder;
            for (index, chunk) in cells.chunks(block).enumerate() {
                let bytes = messages(chunk.chunks(1));
                let mut rows = data_rows(&bytes).unwrap();
                let mut spans = Spans::new();
                rows.scan(1, usize::MAX, &mut spans).unwrap();
                builder
                    .append(Fields::new(rows.bytes(), spans.column(0)))
                    .map_err(|(row, reason)| (index * block.min(cells.len()) + row, reason))?;
            }
            let used = builder.nbytes();
            let announced = builder.data_type();
            let array = builder.finish();
            assert_eq!((array.len(), array.data_type()), (cells.len(), &announced));
            assert!(used >= cells.len() / 8);
            array.to_data().validate_full().unwrap();
            Ok(array)
        }

        pub(in super::super) fn array<A: Array + Clone + 'static>(&self, cells: &[Cell]) -> A {
            self.decode(cells).unwrap().as_any().downcast_ref::<A>().unwrap().clone()
        }

        pub(in super::super) fn error(&self, cells: &[Cell]) -> (usize, Reason) {
            let error = self.decode(cells).unwrap_err();
            let cell = cells[error.0].as_deref().unwrap();
            // A row does not know the column's type modifier.
            if self.request.type_modifier == -1 {
                assert_eq!(self.value(cell).unwrap_err(), error.1);
            }
            error
        }

        pub(in super::super) fn value<'a>(&self, bytes: &'a [u8]) -> Result<Value<'a>, Reason> {
            (self.line.value)(bytes)
        }

        pub(in super::super) fn encode(&self, value: &Value<'_>) -> Result<Vec<u8>, EncodeError> {
            let mut bytes = Vec::new();
            (self.line.encode)(value, &mut bytes)?;
            Ok(bytes)
        }

        /// Asserts that the value encodes to the bytes and that they decode to it.
        pub(in super::super) fn assert_both_ways(&self, bytes: Cell, value: Value<'_>) {
            let bytes = bytes.unwrap();
            assert_eq!(self.encode(&value).unwrap(), bytes, "{value:?}");
            assert_eq!(self.value(&bytes).unwrap(), value);
            assert!(self.decode(&[None, Some(bytes)]).unwrap().is_null(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::testing::Extended;
    use super::*;
    use crate::error::EncodeError;
    use crate::testing::text;
    use crate::value::Value;

    #[test]
    fn lines_are_ordered_and_unique() {
        assert!(EXTENSION_TYPES.windows(2).all(|pair| pair[0].name < pair[1].name));
        assert!(EXTENSION_TYPES.iter().all(|line| line.oid == 0 && !line.send.is_empty()));
    }

    #[test]
    fn golden() {
        // 'Ab'::citext
        Extended::new("citext").assert_both_ways(text("Ab"), Value::Text("Ab".into()));
    }

    proptest! {
        /// Any bytes decode or are refused, with the same outcome as a row and as a column.
        #[test]
        fn any_bytes(
            line in prop::sample::select(EXTENSION_TYPES),
            small in prop::collection::vec(0..4_u8, 0..40),
            wild in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            for bytes in [small, wild] {
                let case = Extended::new(line.name);
                let row = case.value(&bytes);
                let column = case.decode(&[Some(bytes.clone())]);
                match (&row, &column) {
                    (Err(reason), Err((_, other))) => prop_assert_eq!(reason, other),
                    (row, column) => prop_assert_eq!(row.is_ok(), column.is_ok()),
                }
                if let Ok(value) = row {
                    let again = case.encode(&value);
                    let is_right = matches!(again, Ok(_) | Err(EncodeError::NulInText { .. }));
                    prop_assert!(is_right, "{:?}", again);
                }
            }
        }
    }
}
