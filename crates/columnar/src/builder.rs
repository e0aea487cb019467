//! From runs of rows to record batches.

use std::sync::{Arc, OnceLock};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field as ArrowField, FieldRef, Metadata, Schema, SchemaRef};
use colonnade_protocol::{DataRows, Format, Spans};

use crate::column::{ColumnBuilder, Fields};
use crate::error::{AppendError, DecodeError, Reason};
use crate::inexact::Inexact;
use crate::schema::{Infinity, Override, SchemaError};
use crate::trusted;
use crate::types::{Request, Type, column_builder, extension_metadata};

/// Rows per block if there are few columns: enough to amortize the call per column. From 256 to
/// 2048 the `decode_bench` example shows no difference.
const BLOCK_ROWS_MOST: usize = 512;

/// Rows per block if there are very many columns.
const BLOCK_ROWS_LEAST: usize = 64;

/// Spans per block in between: they take 128 KiB, so that they are still in a near cache when the
/// last column reads its own.
const BLOCK_SPANS: usize = 16 * 1024;

/// Options for decoding a result.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DecodeOptions {
    /// The treatment of infinities.
    pub infinity: Infinity,
    /// Whether the result comes in several batches with the first one's types: a `numeric` without
    /// a declared scale then reserves digits for later batches.
    pub is_stream: bool,
    /// Arrow types by column name; an entry holds for every column of its name, and the last
    /// entry for a name wins.
    pub overrides: Vec<(String, Override)>,
    /// Arrow types by column position; these override those by name.
    pub places: Vec<(usize, Override)>,
    /// Decodes the `numeric` columns without an override as floats, and records the first value of
    /// each that its float does not hold exactly.
    pub inexact: Option<Inexact>,
}

impl DecodeOptions {
    /// The Arrow type requested for a column.
    fn cast_of(&self, place: usize, name: &str) -> Option<Override> {
        let mut places = self.places.iter().rev().filter(|(asked, _)| *asked == place);
        let mut names = self.overrides.iter().rev().filter(|(asked, _)| asked == name);
        let cast = places.next().map(|(_, cast)| cast);
        cast.or_else(|| names.next().map(|(_, cast)| cast)).cloned()
    }
}

/// A column of a result, from its description. Clones share everything.
#[derive(Clone, Debug)]
pub struct ResultColumn {
    /// Its name, which need not be unique.
    pub name: Arc<str>,
    /// Its type.
    pub pg_type: Arc<Type>,
    /// The type modifier, -1 for none.
    pub type_modifier: i32,
    /// Its first Arrow field, which results of one statement share: making one is a large part of a
    /// small result's cost.
    first_field: Arc<OnceLock<FieldRef>>,
}

impl ResultColumn {
    /// A column without an Arrow field yet.
    pub fn new(name: impl Into<Arc<str>>, pg_type: Arc<Type>, type_modifier: i32) -> Self {
        Self { name: name.into(), pg_type, type_modifier, first_field: Arc::default() }
    }

    /// The same column with values of another type.
    pub fn with_type(&self, pg_type: Arc<Type>) -> Self {
        Self::new(Arc::clone(&self.name), pg_type, self.type_modifier)
    }

    /// The same column with another name.
    pub fn with_name(&self, name: impl Into<Arc<str>>) -> Self {
        Self::new(name, Arc::clone(&self.pg_type), self.type_modifier)
    }

    fn arrow_field(&self, data_type: &DataType, metadata: &Metadata) -> FieldRef {
        let fits =
            |field: &&FieldRef| field.data_type() == data_type && field.metadata() == metadata;
        if let Some(field) = self.first_field.get().filter(fits) {
            return Arc::clone(field);
        }
        let field = ArrowField::new(&*self.name, data_type.clone(), true);
        let made = Arc::new(field.with_metadata(metadata.clone()));
        self.first_field.get_or_init(|| Arc::clone(&made));
        made
    }
}

/// Builds record batches from the rows of one result.
///
/// The first batch fixes the Arrow schema of those that follow: until then, a `numeric` without a
/// declared scale grows with its values, and text may turn out to need 64-bit offsets.
pub struct BatchBuilder {
    columns: Vec<Column>,
    /// Scratch of the scan.
    spans: Spans,
    /// See [`BLOCK_SPANS`].
    block_rows: usize,
    /// Rows in the batch being built; every column has this many, unless `failed` is set.
    rows: usize,
    /// Rows in the previous batches.
    rows_before: u64,
    /// The schema of the last batch.
    schema: Option<SchemaRef>,
    /// After an error the columns may differ in length, and are no longer used.
    failed: Option<DecodeError>,
}

struct Column {
    described: ResultColumn,
    metadata: Metadata,
    format: Format,
    builder: Box<dyn ColumnBuilder>,
}

impl BatchBuilder {
    /// Builders for the columns of a result, whose values must be requested in
    /// [`BatchBuilder::formats`].
    pub fn new(fields: &[ResultColumn], options: &DecodeOptions) -> Result<Self, SchemaError> {
        let unknown = |(name, _): &&(String, Override)| fields.iter().all(|f| *f.name != **name);
        if let Some((name, _)) = options.overrides.iter().find(unknown) {
            let existing = fields.iter().map(|field| field.name.to_string()).collect();
            return Err(SchemaError::UnknownColumn { name: name.clone(), existing });
        }
        let columns: Result<_, _> = fields
            .iter()
            .enumerate()
            .map(|(place, field)| Column::new(place, field, options))
            .collect();
        Ok(Self {
            columns: columns?,
            spans: Spans::new(),
            block_rows: (BLOCK_SPANS / fields.len().max(1))
                .clamp(BLOCK_ROWS_LEAST, BLOCK_ROWS_MOST),
            rows: 0,
            rows_before: 0,
            schema: None,
            failed: None,
        })
    }

    /// The format of each column.
    pub fn formats(&self) -> Vec<Format> {
        self.columns.iter().map(|column| column.format).collect()
    }

    /// Appends rows from the cursor until it is empty or this batch holds `limit_rows` rows, and
    /// returns their number.
    ///
    /// The way rows are split into runs does not affect which error is reported: the first error in
    /// the first row with an error, by column order. After an error the builder only returns that
    /// error.
    pub fn append(
        &mut self,
        rows: &mut DataRows<'_>,
        limit_rows: usize,
    ) -> Result<usize, AppendError> {
        if let Some(error) = &self.failed {
            return Err(error.clone().into());
        }
        let rows_at_start = self.rows;
        while self.rows < limit_rows && !rows.is_empty() {
            let most = self.block_rows.min(limit_rows - self.rows);
            let scanned = rows.scan(self.columns.len(), most, &mut self.spans)?;
            if scanned == 0 {
                break;
            }
            self.append_block(rows.bytes())?;
            self.rows += scanned;
        }
        Ok(self.rows - rows_at_start)
    }

    fn append_block(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let mut first: Option<(usize, DecodeError)> = None;
        for (index, column) in self.columns.iter_mut().enumerate() {
            let fields = Fields::new(bytes, self.spans.column(index));
            let Err((row, reason)) = column.builder.append(fields) else { continue };
            if first.as_ref().is_none_or(|(earliest, _)| row < *earliest) {
                let row_in_result = self.rows_before + (self.rows + row) as u64;
                first = Some((row, column.error(row_in_result, reason)));
            }
        }
        match first {
            Some((_, error)) => {
                self.failed = Some(error.clone());
                Err(error)
            }
            None => Ok(()),
        }
    }

    /// Rows in the batch being built.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes used by the batch's columns.
    pub fn nbytes(&self) -> usize {
        self.columns.iter().map(|column| column.builder.nbytes()).sum()
    }

    /// The batch of all rows since the last one. Does not visit the values again, and leaves the
    /// builder ready for more rows.
    pub fn finish(&mut self) -> Result<RecordBatch, DecodeError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let arrays: Vec<ArrayRef> =
            self.columns.iter_mut().map(|column| column.builder.finish()).collect();
        let schema = self.schema_of(&arrays);
        let rows = std::mem::take(&mut self.rows);
        self.rows_before += rows as u64;
        Ok(trusted::record_batch(schema, arrays, rows))
    }

    /// The last batch's schema if it still fits, which is usual; otherwise a new one.
    fn schema_of(&mut self, arrays: &[ArrayRef]) -> SchemaRef {
        let fits = |schema: &&SchemaRef| {
            schema.fields().iter().zip(arrays).all(|(f, array)| f.data_type() == array.data_type())
        };
        if let Some(schema) = self.schema.as_ref().filter(fits) {
            return Arc::clone(schema);
        }
        let fields = self.columns.iter().zip(arrays).map(|(column, array)| {
            column.described.arrow_field(array.data_type(), &column.metadata)
        });
        let schema = Arc::new(Schema::new(fields.collect::<arrow_schema::Fields>()));
        self.schema = Some(Arc::clone(&schema));
        schema
    }
}

impl Column {
    fn new(
        place: usize,
        field: &ResultColumn,
        options: &DecodeOptions,
    ) -> Result<Self, SchemaError> {
        let cast = options.cast_of(place, &field.name);
        let request = Request::new(field.type_modifier, options.infinity, cast)
            .with_room(options.is_stream)
            .with_notes(options.inexact.clone().map(|notes| (place, notes)));
        match column_builder(&field.pg_type, &request) {
            Ok((built, format)) => Ok(Self {
                described: field.clone(),
                metadata: extension_metadata(built.extension, &field.pg_type.name),
                format,
                builder: built.builder,
            }),
            Err(offered) => {
                let (column, possible) = (field.name.to_string(), field.pg_type.casts());
                let type_name = field.pg_type.name.clone();
                let has_codec = field.pg_type.codec().is_some();
                Err(SchemaError::Impossible { column, type_name, offered, possible, has_codec })
            }
        }
    }

    fn error(&self, row: u64, reason: Reason) -> DecodeError {
        let (column, type_name) = (&self.described.name, &self.described.pg_type.name);
        DecodeError { column: column.to_string(), type_name: type_name.clone(), row, reason }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use arrow_array::{Array, Int32Array};
    use colonnade_protocol::Format;
    use proptest::prelude::*;

    use super::*;
    use crate::error::{EncodeError, Reason};
    use crate::testing::{
        Cell, data_rows, decode_in_runs, encode, field, hex, messages, text, validate,
    };
    use crate::types::TYPES;
    use crate::value::Value;

    fn builder(fields: &[ResultColumn]) -> BatchBuilder {
        BatchBuilder::new(fields, &DecodeOptions::default()).unwrap()
    }

    fn int4(number: i32) -> Cell {
        Some(number.to_be_bytes().to_vec())
    }

    #[test]
    fn rows_without_columns_are_counted() {
        let batch = decode_in_runs(&[], &DecodeOptions::default(), &[vec![], vec![]], 1).unwrap();
        assert_eq!((batch.num_rows(), batch.num_columns()), (2, 0));
    }

    #[test]
    fn no_rows() {
        let fields: Vec<_> = TYPES.iter().map(|line| field(line.name, line.oid)).collect();
        let batch = builder(&fields).finish().unwrap();
        validate(&batch);
        assert_eq!((batch.num_rows(), batch.num_columns()), (0, fields.len()));
    }

    #[test]
    fn batches_end_at_their_limit() {
        let fields = [field("n", 23)];
        let rows: Vec<_> = (0..2_500).map(|number| [int4(number)]).collect();
        let bytes = messages(rows.iter().map(|row| &row[..]));
        let mut rows = data_rows(&bytes).unwrap();
        let mut builder = builder(&fields);
        assert_eq!(builder.append(&mut rows, 0).unwrap(), 0);
        let mut next = 0;
        let mut sizes = Vec::new();
        while !rows.is_empty() {
            builder.append(&mut rows, 400).unwrap();
            assert_eq!(builder.append(&mut rows, 1_000).unwrap(), 600.min(2_100 - next as usize));
            assert_eq!(builder.nbytes(), builder.rows() * 4);
            let batch = builder.finish().unwrap();
            validate(&batch);
            let expected = Int32Array::from_iter_values(next..next + batch.num_rows() as i32);
            assert_eq!(batch.column(0).as_any().downcast_ref(), Some(&expected));
            next += batch.num_rows() as i32;
            sizes.push(batch.num_rows());
        }
        assert_eq!(sizes, [1_000, 1_000, 500]);
    }

    #[test]
    fn schemas_are_shared_between_batches() {
        let mut builder = builder(&[field("n", 23), field("d", 1700)]);
        let schemas: Vec<_> = (0..3).map(|_| builder.finish().unwrap().schema()).collect();
        assert!(schemas.windows(2).all(|pair| Arc::ptr_eq(&pair[0], &pair[1])));
    }

    #[test]
    fn the_first_error_of_the_result_is_told() {
        let fields = [field("a", 23), field("b", 16)];
        let mut rows = vec![vec![int4(1), hex("01")]; 600];
        rows[550][0] = hex("00");
        rows[530][1] = hex("07");
        rows[530][0] = hex("0000");
        for run in [1, 100, 511, 600] {
            let error = decode_in_runs(&fields, &DecodeOptions::default(), &rows, run).unwrap_err();
            assert_eq!((error.row, error.column.as_str()), (530, "a"));
            assert_eq!(error.reason, Reason::WrongLength { expected: 4, actual: 2 });
        }
    }

    #[test]
    fn rows_are_counted_through_the_whole_result() {
        let mut builder = builder(&[field("a", 23)]);
        for _ in 0..3 {
            let bytes = messages([&[int4(1)][..], &[None]]);
            builder.append(&mut data_rows(&bytes).unwrap(), usize::MAX).unwrap();
            builder.finish().unwrap();
        }
        let bytes = messages([&[int4(1)][..], &[hex("")]]);
        let error = builder.append(&mut data_rows(&bytes).unwrap(), usize::MAX).unwrap_err();
        assert_eq!(
            error.to_string(),
            "column \"a\" of type int4, row 7: the value has 0 bytes instead of 4"
        );
        // The error persists.
        let bytes = messages([&[int4(1)][..]]);
        assert_eq!(builder.append(&mut data_rows(&bytes).unwrap(), 1).unwrap_err(), error);
        assert!(builder.finish().is_err());
    }

    #[test]
    fn rows_of_another_shape_are_the_servers_fault() {
        let mut builder = builder(&[field("a", 23)]);
        let bytes = messages([&[int4(1), int4(2)][..]]);
        let error = builder.append(&mut data_rows(&bytes).unwrap(), usize::MAX).unwrap_err();
        assert!(matches!(error, AppendError::Protocol(_)));
    }

    #[test]
    fn unknown_types_are_marked() {
        let cells = vec![hex("00ff"), text("{x}"), hex(&"00".repeat(16))];
        let fields = [field("unknown", 99_999), field("acl", 1034), field("u", 2950)];
        assert_eq!(builder(&fields).formats(), [Format::Binary, Format::Text, Format::Binary]);
        let options = DecodeOptions::default();
        let batch = decode_in_runs(&fields, &options, &[cells], 1).unwrap();
        let schema = batch.schema();
        let mut shown = String::new();
        for field in schema.fields() {
            let entry = |key| field.metadata().get(key).cloned().unwrap_or_default();
            let (name, metadata) =
                (entry("ARROW:extension:name"), entry("ARROW:extension:metadata"));
            writeln!(shown, "{} {} {name} {metadata}", field.name(), field.data_type()).unwrap();
        }
        assert_eq!(
            shown,
            "unknown Binary arrow.opaque \
             {\"type_name\": \"oid 99999\", \"vendor_name\": \"PostgreSQL\"}\n\
             acl List(Utf8)  \n\
             u FixedSizeBinary(16) arrow.uuid \n"
        );
    }

    #[test]
    fn schemas_that_do_not_fit() {
        let fields = [field("a", 23), field("b", 25)];
        let error = |name: &str, cast: &str| {
            let overrides = vec![(name.to_owned(), cast.parse().unwrap())];
            let options = DecodeOptions { overrides, ..DecodeOptions::default() };
            BatchBuilder::new(&fields, &options).map(|_| ()).unwrap_err().to_string()
        };
        assert_eq!(
            error("A", "int64"),
            "schema names column \"A\", but the result has \"a\", \"b\""
        );
        assert_eq!(
            error("a", "binary"),
            "schema asks for column \"a\" of type int4 as binary; possible: int32, int64, uint32, \
             uint64, float64, utf8, large_utf8, utf8_view"
        );
        assert!(error("b", "decimal128(3, 2)").ends_with("U<characters>, S<bytes>, binary"));
    }

    /// A value of each type from one seed; the last arm matches no type of the table.
    fn sample(line: &crate::PgType, seed: i64) -> Value<'static> {
        use crate::Kind;
        match line.kind {
            Kind::Bool => Value::Bool(seed % 2 == 0),
            Kind::Int => Value::Int(seed % 30_000),
            Kind::UInt => Value::UInt((seed % 4_000_000_000).unsigned_abs()),
            Kind::Float => Value::Float(seed as f64 / 3.0),
            Kind::Float32 => Value::Float32(seed as f32 / 3.0),
            Kind::Text => text_of(line, seed),
            Kind::Bytes => Value::Bytes(vec![seed as u8].into()),
            Kind::Uuid => Value::Uuid([seed as u8; 16]),
            Kind::Date => Value::Date((seed % 1_000_000) as i32),
            Kind::Time => Value::Time((seed % 86_400_000_000).abs()),
            Kind::Timestamp => Value::Timestamp(seed / 1_000),
            Kind::TimestampTz => Value::TimestampTz(seed / 1_000),
            Kind::Numeric => {
                Value::Numeric(format!("{}.{:02}", seed / 7, (seed % 100).abs()).into())
            }
            Kind::Point => Value::Point([seed as f64, 0.5]),
            Kind::Line => Value::Line([seed as f64, 0.5, -0.5]),
            Kind::LineSegment => Value::LineSegment([seed as f64; 4]),
            Kind::Box => Value::Box([seed as f64; 4]),
            Kind::Circle => Value::Circle([seed as f64; 3]),
            Kind::Path => {
                let points = vec![[seed as f64, 0.5]; seed.unsigned_abs() as usize % 3];
                Value::Path { is_closed: seed % 2 == 0, points }
            }
            Kind::Polygon => {
                Value::Polygon(vec![[seed as f64; 2]; seed.unsigned_abs() as usize % 3])
            }
            Kind::Interval => {
                Value::Interval { months: 1, days: seed as i32, micros: seed / 1_000 }
            }
            Kind::TimeTz => {
                let micros = (seed % 86_400_000_000).abs();
                Value::TimeTz { micros, offset_s: (seed % 50_000) as i32 }
            }
            Kind::Bits => Value::Bits(crate::Bits { len: 8, bytes: vec![seed as u8].into() }),
            Kind::Network => Value::Network(crate::Network {
                address: core::net::Ipv6Addr::from_bits(seed as u128).into(),
                prefix: 128,
                is_cidr: line.name == "cidr",
            }),
            Kind::Tid => Value::Tid { block: seed as u32, offset: seed as u16 },
            Kind::Snapshot => Value::Snapshot { xmin: 1, xmax: seed as u64, running: vec![2] },
            _ => unimplemented!("{}", line.name),
        }
    }

    /// Any text, or, where the type does not take any, the text of some bytes.
    fn text_of(line: &crate::PgType, seed: i64) -> Value<'static> {
        let any = Value::Text(format!("\"é{seed}\"").into());
        if encode(line.oid, &any).is_ok() {
            return any;
        }
        let bytes: Vec<u8> = (0..16).map(|place| (seed >> place) as u8).collect();
        let made = (1..=16).find_map(|count| match (line.value)(bytes.get(..count)?) {
            Ok(Value::Text(text)) => Some(Value::Text(text.into_owned().into())),
            _ => None,
        });
        made.unwrap_or_else(|| unimplemented!("{}", line.name))
    }

    /// Whether a type has values, and a binary format for parameters.
    fn is_encoded(line: &crate::PgType) -> bool {
        line.parameter == Format::Binary && line.kind != crate::Kind::Void
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// Every type of the table, with NULLs first, last, everywhere and nowhere, across blocks.
        #[test]
        fn every_type_at_once(
            seeds in prop::collection::vec(any::<i64>(), 1..1_400),
            null_every in 1..9_usize,
            run in 1..1_500_usize,
        ) {
            let lines: Vec<_> = TYPES.iter().filter(|line| is_encoded(line)).collect();
            let fields: Vec<_> = lines.iter().map(|line| field(line.name, line.oid)).collect();
            let rows: Vec<Vec<Cell>> = seeds.iter().enumerate().map(|(row, seed)| {
                let cell = |(index, line): (usize, &&crate::PgType)| {
                    let null = null_every < 8 && (row + index) % null_every == 0;
                    let value = sample(line, *seed);
                    (!null).then(|| {
                        let bytes = encode(line.oid, &value).unwrap();
                        assert_eq!((line.value)(&bytes).unwrap(), value);
                        bytes
                    })
                };
                lines.iter().enumerate().map(cell).collect()
            }).collect();
            let batch = decode_in_runs(&fields, &DecodeOptions::default(), &rows, run).unwrap();
            for (index, column) in batch.columns().iter().enumerate() {
                let nulls = rows.iter().filter(|row| row[index].is_none()).count();
                prop_assert_eq!(column.null_count(), nulls);
                prop_assert_eq!(column.nulls().is_some(), nulls > 0);
            }
            let whole = decode_in_runs(&fields, &DecodeOptions::default(), &rows, usize::MAX);
            prop_assert_eq!(whole, Ok(batch));
        }

        /// Any bytes decode or are refused, with the same outcome as a row and as a column.
        #[test]
        fn any_bytes(
            line in prop::sample::select(TYPES),
            bytes in prop::collection::vec(any::<u8>(), 0..24),
        ) {
            let row = (line.value)(&bytes);
            let options = DecodeOptions { infinity: Infinity::Null, ..DecodeOptions::default() };
            let cells = [vec![Some(bytes.clone())]];
            let column = decode_in_runs(&[field("c", line.oid)], &options, &cells, 1);
            match (&row, &column) {
                (Ok(_), Err(error)) => prop_assert!(
                    matches!(
                        error.reason,
                        Reason::EndOfDay
                            | Reason::EndOfDayWithZone
                            | Reason::IntervalNanoseconds(_)
                            | Reason::NumericTooWide { .. }
                    ),
                    "{}",
                    error
                ),
                (Err(reason), Err(error)) => prop_assert_eq!(reason, &error.reason),
                (row, column) => prop_assert_eq!(row.is_ok(), column.is_ok()),
            }
            if let Ok(value) = row
                && value != Value::Null
            {
                let again = encode(line.oid, &value);
                let bytes_again: Result<_, EncodeError> = again.clone();
                let is_right = matches!(bytes_again, Ok(_) | Err(EncodeError::NulInText { .. }));
                prop_assert!(is_right, "{:?}", again);
            }
        }
    }
}
