//! Arrays whose values have parts, or are kept elsewhere. Their CSV cell is their JSON.

use std::collections::HashSet;
use std::ops::Range;

use arrow_array::types::{ArrowDictionaryKeyType, RunEndIndexType};
use arrow_array::{Array, DictionaryArray, ListLikeArray, MapArray, RunArray, StructArray};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{DataType, Field, Fields};

use super::{Cells, Column, Numbers, Refusal, Values};
use crate::text::characters;

/// The text of a member's name in an object: `"name":`.
pub(crate) fn member_name(name: &str) -> Vec<u8> {
    let mut text = Vec::with_capacity(name.len() + 3);
    characters::string(name, &mut text);
    text.push(b':');
    text
}

/// The names that several fields have, quoted.
pub(super) fn repeated_names(fields: &Fields) -> Vec<String> {
    let (mut seen, mut told) = (HashSet::new(), HashSet::new());
    let names = fields.iter().map(|field| field.name());
    names
        .filter(|name| !seen.insert(*name) && told.insert(*name))
        .map(|name| format!("{name:?}"))
        .collect()
}

/// A JSON text as a cell.
fn json_cell(values: &impl Values, row: usize, cells: &Cells, out: &mut Vec<u8>) {
    let start = out.len();
    values.json(row, out);
    cells.enclose(start, out);
}

/// Lists of every layout, as arrays.
pub(super) struct Lists<'a, L> {
    lists: &'a L,
    items: Column<'a>,
}

impl<'a, L: ListLikeArray> Lists<'a, L> {
    pub(super) fn new(lists: &'a L, item: &Field, numbers: Numbers) -> Result<Self, Refusal> {
        Ok(Self { lists, items: Column::new(item, lists.values(), numbers)? })
    }
}

impl<L: ListLikeArray> Values for Lists<'_, L> {
    fn json(&self, row: usize, out: &mut Vec<u8>) {
        out.push(b'[');
        self.items.json_list(self.lists.element_range(row), out);
        out.push(b']');
    }

    fn csv(&self, row: usize, cells: &Cells, out: &mut Vec<u8>) {
        json_cell(self, row, cells, out);
    }
}

/// Structs, as objects.
pub(super) struct Structs<'a> {
    /// The members' names as they are written, and their values.
    members: Vec<(Vec<u8>, Column<'a>)>,
}

impl<'a> Structs<'a> {
    pub(super) fn new(array: &'a StructArray, numbers: Numbers) -> Result<Self, Refusal> {
        let repeated = repeated_names(array.fields());
        if !repeated.is_empty() {
            let names = repeated.join(", ");
            return Err(Refusal(format!(
                "has structs with several fields of the name {names}: a JSON object has one \
                 member of each name"
            )));
        }
        let fields = array.fields().iter().zip(array.columns());
        let members = fields
            .map(|(field, values)| {
                Ok((member_name(field.name()), Column::new(field, values, numbers)?))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { members })
    }
}

impl Values for Structs<'_> {
    fn json(&self, row: usize, out: &mut Vec<u8>) {
        out.push(b'{');
        for (place, (name, values)) in self.members.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            out.extend_from_slice(name);
            values.json(row, out);
        }
        out.push(b'}');
    }

    fn csv(&self, row: usize, cells: &Cells, out: &mut Vec<u8>) {
        json_cell(self, row, cells, out);
    }
}

/// Maps with keys of text, as objects.
pub(super) struct Maps<'a> {
    maps: &'a MapArray,
    keys: Column<'a>,
    values: Column<'a>,
}

impl<'a> Maps<'a> {
    pub(super) fn new(maps: &'a MapArray, numbers: Numbers) -> Result<Self, Refusal> {
        let (key, value) = maps.entries_fields();
        if !matches!(key.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) {
            return Err(Refusal(format!(
                "has maps with keys of the type {}: the names of a JSON object are text",
                key.data_type()
            )));
        }
        if maps.keys().null_count() > 0 {
            return Err(Refusal("has a NULL among the keys of its maps".to_owned()));
        }
        let key = Field::new("key", key.data_type().clone(), false);
        let keys = Column::new(&key, maps.keys(), numbers)?;
        Ok(Self { maps, keys, values: Column::new(value, maps.values(), numbers)? })
    }

    fn entries(&self, row: usize) -> Range<usize> {
        match self.maps.value_offsets().get(row..row + 2) {
            Some([start, end]) => start.as_usize()..end.as_usize(),
            _ => 0..0,
        }
    }
}

impl Values for Maps<'_> {
    fn json(&self, row: usize, out: &mut Vec<u8>) {
        let entries = self.entries(row);
        let first = entries.start;
        out.push(b'{');
        for entry in entries {
            if entry != first {
                out.push(b',');
            }
            self.keys.json(entry, out);
            out.push(b':');
            self.values.json(entry, out);
        }
        out.push(b'}');
    }

    fn csv(&self, row: usize, cells: &Cells, out: &mut Vec<u8>) {
        json_cell(self, row, cells, out);
    }
}

/// Dictionaries: the value of a row's key.
pub(super) struct Dictionaries<'a, K: ArrowDictionaryKeyType> {
    keys: &'a DictionaryArray<K>,
    values: Column<'a>,
}

impl<'a, K: ArrowDictionaryKeyType> Dictionaries<'a, K> {
    pub(super) fn new(
        field: &Field,
        array: &'a DictionaryArray<K>,
        numbers: Numbers,
    ) -> Result<Self, Refusal> {
        Ok(Self { keys: array, values: Column::new(field, array.values(), numbers)? })
    }

    /// The place of a row's value. A row that is not NULL has one.
    fn place(&self, row: usize) -> usize {
        self.keys.keys().value(row).as_usize()
    }
}

impl<K: ArrowDictionaryKeyType> Values for Dictionaries<'_, K> {
    fn json(&self, row: usize, out: &mut Vec<u8>) {
        self.values.json(self.place(row), out);
    }

    fn csv(&self, row: usize, cells: &Cells, out: &mut Vec<u8>) {
        self.values.csv(self.place(row), cells, out);
    }
}

/// Runs of equal values.
pub(super) struct Runs<'a, R: RunEndIndexType> {
    runs: &'a RunArray<R>,
    values: Column<'a>,
}

impl<'a, R: RunEndIndexType> Runs<'a, R> {
    pub(super) fn new(
        value: &Field,
        runs: &'a RunArray<R>,
        numbers: Numbers,
    ) -> Result<Self, Refusal> {
        Ok(Self { runs, values: Column::new(value, runs.values(), numbers)? })
    }
}

impl<R: RunEndIndexType> Values for Runs<'_, R> {
    fn json(&self, row: usize, out: &mut Vec<u8>) {
        self.values.json(self.runs.get_physical_index(row), out);
    }

    fn csv(&self, row: usize, cells: &Cells, out: &mut Vec<u8>) {
        self.values.csv(self.runs.get_physical_index(row), cells, out);
    }
}
