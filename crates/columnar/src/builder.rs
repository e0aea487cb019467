//! From runs of rows to record batches.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field as ArrowField, Metadata, Schema, SchemaRef};
use colonnade_protocol::{DataRows, Field, Spans};

use crate::column::{ColumnBuilder, Fields};
use crate::error::{AppendError, DecodeError, Reason};
use crate::schema::{Infinity, Override, SchemaError};
use crate::trusted;
use crate::types::{Extension, column_builder, type_name};

/// Rows per block: enough to forget the cost of a call per column, few enough that the block's
/// spans and bytes are still in a near cache when the last column reads them. Measured by the
/// `decode_bench` example.
const BLOCK_ROWS: usize = 512;

/// How a result is to be decoded.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DecodeOptions {
    /// What becomes of infinities.
    pub infinity: Infinity,
    /// Arrow types by column name; an entry holds for every column of its name, and the last
    /// entry for a name wins.
    pub overrides: Vec<(String, Override)>,
}

/// Builds record batches from the rows of one result.
///
/// The first batch fixes the Arrow schema of those that follow: until then a `numeric` without
/// declared scale grows with its values, and text may turn out to need 64-bit offsets.
pub struct BatchBuilder {
    columns: Vec<Column>,
    /// Scratch of the scan.
    spans: Spans,
    /// Rows in the batch that is being built; every column has so many, unless `failed`.
    rows: usize,
    /// Rows in the batches before.
    rows_before: u64,
    /// The schema of the last batch.
    schema: Option<SchemaRef>,
    /// After an error the columns may differ in length: nothing more is made of them.
    failed: Option<DecodeError>,
}

struct Column {
    name: String,
    type_name: String,
    metadata: Metadata,
    builder: Box<dyn ColumnBuilder>,
}

impl BatchBuilder {
    /// Builders for the columns of a result. `fields` say in which format each column comes.
    pub fn new(fields: &[Field], options: &DecodeOptions) -> Result<Self, SchemaError> {
        let unknown = |(name, _): &&(String, Override)| fields.iter().all(|f| f.name != *name);
        if let Some((name, _)) = options.overrides.iter().find(unknown) {
            let existing = fields.iter().map(|field| field.name.clone()).collect();
            return Err(SchemaError::UnknownColumn { name: name.clone(), existing });
        }
        let columns: Result<_, _> =
            fields.iter().map(|field| Column::new(field, options)).collect();
        Ok(Self {
            columns: columns?,
            spans: Spans::new(),
            rows: 0,
            rows_before: 0,
            schema: None,
            failed: None,
        })
    }

    /// Appends rows off the cursor until it is empty or this batch holds `limit_rows` rows, and
    /// answers how many.
    ///
    /// Which error is reported does not depend on how the rows were cut into runs: it is the one
    /// in the first row that has one, and there in the first column. After an error the builder
    /// gives nothing but that error.
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
            let most = BLOCK_ROWS.min(limit_rows - self.rows);
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

    /// Rows in the batch that is being built.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes that the batch's columns have in use.
    pub fn nbytes(&self) -> usize {
        self.columns.iter().map(|column| column.builder.nbytes()).sum()
    }

    /// The batch of all rows since the last one. Takes no pass over the values, and leaves the
    /// builder ready for the rows that follow.
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

    /// The last batch's schema when it fits, which is the rule; else a new one.
    fn schema_of(&mut self, arrays: &[ArrayRef]) -> SchemaRef {
        let fits = |schema: &&SchemaRef| {
            schema.fields().iter().zip(arrays).all(|(f, array)| f.data_type() == array.data_type())
        };
        if let Some(schema) = self.schema.as_ref().filter(fits) {
            return Arc::clone(schema);
        }
        let fields = self.columns.iter().zip(arrays).map(|(column, array)| {
            ArrowField::new(&column.name, array.data_type().clone(), true)
                .with_metadata(column.metadata.clone())
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        self.schema = Some(Arc::clone(&schema));
        schema
    }
}

impl Column {
    fn new(field: &Field, options: &DecodeOptions) -> Result<Self, SchemaError> {
        let type_name = type_name(field.type_oid).into_owned();
        let mut entries = options.overrides.iter().rev();
        let cast = entries.find(|(name, _)| *name == field.name).map(|(_, cast)| *cast);
        let built = column_builder(
            field.type_oid,
            field.type_modifier,
            field.format,
            options.infinity,
            cast,
        );
        match built {
            Ok(built) => Ok(Self {
                name: field.name.clone(),
                metadata: extension_metadata(built.extension, &type_name),
                type_name,
                builder: built.builder,
            }),
            Err((offered, possible)) => {
                let column = field.name.clone();
                Err(SchemaError::Impossible { column, type_name, offered, possible })
            }
        }
    }

    fn error(&self, row: u64, reason: Reason) -> DecodeError {
        DecodeError { column: self.name.clone(), type_name: self.type_name.clone(), row, reason }
    }
}

/// The two entries by which Arrow's canonical extension types are known. Type names have no
/// characters that JSON would escape.
fn extension_metadata(extension: Option<Extension>, type_name: &str) -> Metadata {
    let (name, metadata) = match extension {
        None => return Metadata::default(),
        Some(Extension::Json) => ("arrow.json", String::new()),
        Some(Extension::Uuid) => ("arrow.uuid", String::new()),
        Some(Extension::Opaque) => (
            "arrow.opaque",
            format!("{{\"type_name\": \"{type_name}\", \"vendor_name\": \"PostgreSQL\"}}"),
        ),
    };
    Metadata::from([
        ("ARROW:extension:name", name.to_owned()),
        ("ARROW:extension:metadata", metadata),
    ])
}
