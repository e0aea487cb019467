//! Columns of equal length in one or several chunks, shared between threads.
//!
//! A column of several chunks stays as it is until a reader needs it as one array. Then its chunks
//! are joined once, and dropped, so memory holds at most one column twice. Readers that take chunks
//! get windows on the joined array from then on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, FieldRef, Schema, SchemaRef};

use crate::joined::joined;
use crate::trusted;

/// Columns of equal length, immutable for its readers. A clone shares the columns.
#[derive(Clone, Debug)]
pub struct Table(Form);

#[derive(Clone, Debug)]
enum Form {
    One(RecordBatch),
    Several(Chunks),
}

#[derive(Clone, Debug)]
struct Chunks {
    schema: SchemaRef,
    /// The rows of each chunk; at least two, none of them 0.
    lengths: Arc<[usize]>,
    rows: usize,
    columns: Vec<Arc<Column>>,
}

#[derive(Debug)]
struct Column {
    parts: Mutex<Parts>,
}

/// The arrays of one column, all of the same type.
#[derive(Clone, Debug)]
pub(crate) enum Parts {
    /// One for each chunk.
    Chunks(Vec<ArrayRef>),
    /// All rows.
    Whole(ArrayRef),
}

impl From<RecordBatch> for Table {
    fn from(batch: RecordBatch) -> Self {
        Self(Form::One(batch))
    }
}

impl Table {
    /// A table of columns with the schema's types, whose chunks have these lengths. Chunks without
    /// rows are left out.
    pub(crate) fn of_parts(schema: SchemaRef, columns: Vec<Parts>, lengths: &[usize]) -> Self {
        let rows = lengths.iter().sum();
        let columns = columns.into_iter().map(|parts| parts.without_empty(lengths));
        let columns: Vec<Parts> = columns.collect();
        let lengths: Vec<usize> = lengths.iter().copied().filter(|length| *length > 0).collect();
        if lengths.len() > 1 {
            let columns = columns.into_iter().map(Column::of).collect();
            return Self(Form::Several(Chunks { schema, lengths: lengths.into(), rows, columns }));
        }
        let only = columns.into_iter().zip(schema.fields()).map(|(parts, field)| {
            let first = parts.first();
            first.unwrap_or_else(|| arrow_array::new_empty_array(field.data_type()))
        });
        let only = only.collect();
        Self(Form::One(trusted::record_batch(schema, only, rows)))
    }

    /// The rows of batches with the same columns, at least one, one after another.
    ///
    /// # Errors
    /// No batch, or one with another schema than the first one.
    pub fn of_chunks(chunks: Vec<RecordBatch>) -> Result<Self, ArrowError> {
        let Some(schema) = chunks.first().map(RecordBatch::schema) else {
            return Err(ArrowError::InvalidArgumentError("there is no batch".to_owned()));
        };
        if chunks.iter().any(|chunk| *chunk.schema_ref() != schema) {
            return Err(ArrowError::SchemaError("the batches have other columns".to_owned()));
        }
        let lengths: Vec<usize> = chunks.iter().map(RecordBatch::num_rows).collect();
        let column = |index: usize| {
            let arrays = chunks.iter().filter_map(|chunk| chunk.columns().get(index));
            Parts::Chunks(arrays.map(Arc::clone).collect())
        };
        let columns = (0..schema.fields().len()).map(column).collect();
        Ok(Self::of_parts(schema, columns, &lengths))
    }

    /// The number of rows.
    pub fn num_rows(&self) -> usize {
        match &self.0 {
            Form::One(batch) => batch.num_rows(),
            Form::Several(chunks) => chunks.rows,
        }
    }

    /// The number of columns.
    pub fn num_columns(&self) -> usize {
        self.schema().fields().len()
    }

    /// The number of chunks, at least 1.
    pub fn num_chunks(&self) -> usize {
        match &self.0 {
            Form::One(_) => 1,
            Form::Several(chunks) => chunks.lengths.len(),
        }
    }

    /// The names and types of the columns.
    pub fn schema(&self) -> &SchemaRef {
        match &self.0 {
            Form::One(batch) => batch.schema_ref(),
            Form::Several(chunks) => &chunks.schema,
        }
    }

    /// The bytes that the columns use, without reserved memory.
    pub fn nbytes(&self) -> usize {
        let size = |array: &ArrayRef| array.to_data().get_slice_memory_size().unwrap_or(0);
        match &self.0 {
            Form::One(batch) => batch.columns().iter().map(size).sum(),
            Form::Several(chunks) => {
                let of_column = |column: &Arc<Column>| match &*column.parts() {
                    Parts::Chunks(arrays) => arrays.iter().map(size).sum(),
                    Parts::Whole(array) => size(array),
                };
                chunks.columns.iter().map(of_column).sum::<usize>()
            }
        }
    }

    /// A column as one array; None if there is no such column. Of several chunks, the first call
    /// joins them.
    ///
    /// # Errors
    /// An error of Arrow's when the chunks are joined.
    pub fn column(&self, index: usize) -> Result<Option<ArrayRef>, ArrowError> {
        match &self.0 {
            Form::One(batch) => Ok(batch.columns().get(index).map(Arc::clone)),
            Form::Several(chunks) => {
                chunks.columns.get(index).map(|column| column.whole()).transpose()
            }
        }
    }

    /// The chunks of all columns, as record batches with the same schema; at least one.
    pub fn chunks(&self) -> Vec<RecordBatch> {
        match &self.0 {
            Form::One(batch) => vec![batch.clone()],
            Form::Several(chunks) => chunks.batches(),
        }
    }

    /// All columns as one record batch, each joined.
    #[cfg(test)]
    pub(crate) fn whole(&self) -> Result<RecordBatch, ArrowError> {
        match &self.0 {
            Form::One(batch) => Ok(batch.clone()),
            Form::Several(chunks) => {
                let columns = chunks.columns.iter().map(|column| column.whole());
                let columns = columns.collect::<Result<Vec<_>, _>>()?;
                Ok(trusted::record_batch(Arc::clone(&chunks.schema), columns, chunks.rows))
            }
        }
    }

    /// Rows `offset` to `offset + length`, which exist, sharing the memory.
    pub fn slice(&self, offset: usize, length: usize) -> Self {
        match &self.0 {
            Form::One(batch) => batch.slice(offset, length).into(),
            Form::Several(chunks) => chunks.slice(offset, length),
        }
    }

    /// The columns at these positions, sharing the memory; a join serves both tables.
    ///
    /// # Errors
    /// A position of no column.
    pub fn project(&self, indices: &[usize]) -> Result<Self, ArrowError> {
        match &self.0 {
            Form::One(batch) => batch.project(indices).map(Self::from),
            Form::Several(chunks) => {
                let schema = Arc::new(chunks.schema.project(indices)?);
                let columns = indices.iter().filter_map(|index| chunks.columns.get(*index));
                let columns = columns.map(Arc::clone).collect();
                Ok(Self(Form::Several(Chunks { schema, columns, ..chunks.clone() })))
            }
        }
    }

    /// The table with other fields of the same types, such as other names.
    ///
    /// # Errors
    /// Fields of other types.
    pub fn with_fields(&self, fields: Vec<FieldRef>) -> Result<Self, ArrowError> {
        let old = self.schema().fields().iter().map(|field| field.data_type());
        if old.ne(fields.iter().map(|field| field.data_type())) {
            return Err(ArrowError::SchemaError("the columns have other types".to_owned()));
        }
        let metadata = self.schema().metadata().clone();
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        Ok(match &self.0 {
            Form::One(batch) => {
                trusted::record_batch(schema, batch.columns().to_vec(), batch.num_rows()).into()
            }
            Form::Several(chunks) => Self(Form::Several(Chunks { schema, ..chunks.clone() })),
        })
    }

    /// The table with a column in the place of another one, or after the last one.
    ///
    /// # Errors
    /// An array of another length than the table's, or of another type than the field's.
    pub fn with_column(
        &self,
        index: usize,
        field: FieldRef,
        array: ArrayRef,
    ) -> Result<Self, ArrowError> {
        if array.len() != self.num_rows() || array.data_type() != field.data_type() {
            let text = "the column has another length or type".to_owned();
            return Err(ArrowError::InvalidArgumentError(text));
        }
        let mut fields = self.schema().fields().to_vec();
        put(&mut fields, index, field);
        let metadata = self.schema().metadata().clone();
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        Ok(match &self.0 {
            Form::One(batch) => {
                let mut columns = batch.columns().to_vec();
                put(&mut columns, index, array);
                trusted::record_batch(schema, columns, batch.num_rows()).into()
            }
            Form::Several(chunks) => {
                let mut columns = chunks.columns.clone();
                put(&mut columns, index, Column::of(Parts::Whole(array)));
                Self(Form::Several(Chunks { schema, columns, ..chunks.clone() }))
            }
        })
    }
}

fn put<T>(places: &mut Vec<T>, index: usize, value: T) {
    match places.get_mut(index) {
        Some(place) => *place = value,
        None => places.push(value),
    }
}

impl Chunks {
    fn batches(&self) -> Vec<RecordBatch> {
        // Copied under the locks: another thread may join a column between two chunks.
        let columns: Vec<Parts> =
            self.columns.iter().map(|column| column.parts().clone()).collect();
        let mut start = 0;
        let lengths = self.lengths.iter().enumerate().map(|(chunk, &length)| {
            let arrays = columns.iter().filter_map(|parts| parts.chunk(chunk, start, length));
            let arrays = arrays.collect();
            start += length;
            trusted::record_batch(Arc::clone(&self.schema), arrays, length)
        });
        lengths.collect()
    }

    fn slice(&self, offset: usize, length: usize) -> Table {
        let mut lengths = Vec::new();
        // The number and first row of each chunk that the slice touches.
        let mut touched = Vec::new();
        let mut start = 0;
        for (chunk, &rows) in self.lengths.iter().enumerate() {
            let from = offset.max(start);
            let until = (offset + length).min(start + rows);
            if from < until {
                touched.push((chunk, from - start));
                lengths.push(until - from);
            }
            start += rows;
        }
        let sliced = |column: &Arc<Column>| match &*column.parts() {
            Parts::Whole(array) => Parts::Whole(array.slice(offset, length)),
            Parts::Chunks(arrays) => {
                let places = touched.iter().zip(&lengths);
                let slices = places.filter_map(|(&(chunk, first), &length)| {
                    arrays.get(chunk).map(|array| array.slice(first, length))
                });
                Parts::Chunks(slices.collect())
            }
        };
        let columns = self.columns.iter().map(sliced).collect();
        Table::of_parts(Arc::clone(&self.schema), columns, &lengths)
    }
}

impl Column {
    fn of(parts: Parts) -> Arc<Self> {
        Arc::new(Self { parts: Mutex::new(parts) })
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        // The parts are replaced in one step, so a panic leaves them as they were.
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Joins the chunks unless they are joined already. Other threads that need the column wait.
    fn whole(&self) -> Result<ArrayRef, ArrowError> {
        let mut parts = self.parts();
        let whole = match &*parts {
            Parts::Whole(array) => return Ok(Arc::clone(array)),
            Parts::Chunks(arrays) => joined(arrays)?,
        };
        *parts = Parts::Whole(Arc::clone(&whole));
        Ok(whole)
    }
}

impl Parts {
    fn without_empty(self, lengths: &[usize]) -> Self {
        match self {
            Self::Chunks(arrays) if lengths.contains(&0) => {
                let kept = arrays.into_iter().zip(lengths).filter(|(_, length)| **length > 0);
                Self::Chunks(kept.map(|(array, _)| array).collect())
            }
            other => other,
        }
    }

    fn first(self) -> Option<ArrayRef> {
        match self {
            Self::Chunks(arrays) => arrays.into_iter().next(),
            Self::Whole(array) => Some(array),
        }
    }

    fn chunk(&self, chunk: usize, start: usize, length: usize) -> Option<ArrayRef> {
        match self {
            Self::Chunks(arrays) => arrays.get(chunk).map(Arc::clone),
            Self::Whole(array) => Some(array.slice(start, length)),
        }
    }
}

#[cfg(test)]
mod tests;
