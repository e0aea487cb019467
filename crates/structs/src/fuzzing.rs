//! The work of the fuzz target, and its initial inputs.

use std::sync::Arc;

use crate::{Blob, Blobs, Fault, Field, Kind, Layout, Value, Writer, pack, unpack};

const TYPES: [&str; 22] = [
    "bool",
    "int8",
    "uint16",
    "int64",
    "float16",
    "float64",
    "complex64",
    "datetime64[M]",
    "datetime64[us]",
    "timedelta64[h]",
    "U3",
    "S3",
    "ascii[2]",
    "str",
    "bytes",
    "list<int16>",
    "list<int64?>",
    "list<str>",
    "list<bytes?>",
    "list<list<str?>>",
    "list<U2>",
    "datetime64[D]",
];

fn field(number: usize, kind: Kind, optional: bool) -> Field {
    Field { name: format!("f{number}"), kind, optional, can_be_missing: optional }
}

/// A struct with a field of each type, the second half of them optional, and structs within it.
fn layout(fields: usize) -> Option<Layout> {
    let inner = [("int32", false), ("str", true)].into_iter().enumerate();
    let inner =
        inner.map(|(number, (name, optional))| Some(field(number, Kind::of(name)?, optional)));
    let inner = Kind::Struct(Arc::new(Layout::new(inner.collect::<Option<_>>()?).ok()?));
    let list = Kind::List { element: Box::new(inner.clone()), optional: true };
    let kinds = TYPES.iter().map(|name| Kind::of(name)).chain([Some(inner), Some(list)]);
    let half = TYPES.len() / 2;
    let fields = kinds.take(fields).enumerate();
    let fields = fields.map(|(number, kind)| Some(field(number, kind?, number > half)));
    Layout::new(fields.collect::<Option<_>>()?).ok()
}

fn sample(kind: &Kind) -> Value<'static> {
    match kind {
        Kind::Scalar(scalar) => {
            let values = [
                Value::Bool(true),
                Value::Int(5),
                Value::Float(0.5),
                Value::Complex(1.0, 2.0),
                Value::Text("ab".into()),
                Value::Bytes(b"ab".as_slice().into()),
            ];
            let mut slot = vec![0; scalar.size()];
            let fits = |value: &Value<'_>| scalar.write(value, &mut slot).is_ok();
            values.into_iter().find(fits).unwrap_or(Value::Null)
        }
        Kind::Str => Value::Text("text".into()),
        Kind::Bytes => Value::Bytes(b"bytes".as_slice().into()),
        Kind::List { element, optional } => {
            let mut values = vec![sample(element), sample(element)];
            values.extend(optional.then_some(Value::Null));
            Value::List(values)
        }
        Kind::Struct(layout) => Value::Struct(blob(layout).unwrap_or_default().into()),
    }
}

fn blob(layout: &Layout) -> Result<Vec<u8>, Fault> {
    let mut writer = Writer::begin(layout, Vec::new());
    for field in layout.fields() {
        writer.push(&sample(&field.kind))?;
    }
    writer.finish()
}

/// A blob of each number of fields.
pub fn seeds() -> Vec<Vec<u8>> {
    let all = TYPES.len() + 2;
    let seed = |count: usize| {
        let mut seed = vec![all as u8, 0];
        seed.extend(blob(&layout(count)?).ok()?);
        Some(seed)
    };
    (TYPES.len() / 2 + 1..=all).filter_map(seed).collect()
}

/// Reads a blob in every way: they must agree, and the values, written again, must read the same.
/// The first byte is the number of the layout's fields, and the second one is unused.
pub fn structs(data: &[u8]) {
    let Some(([count, _], bytes)) = data.split_first_chunk() else { return };
    let count = usize::from(*count).clamp(1, TYPES.len() + 2);
    let Some(layout) = layout(count) else { return };
    let all: Vec<usize> = (0..count).collect();
    let blobs = Blobs::of_slices(vec![Some(bytes), None]);
    let columns = unpack(&layout, &blobs, &all);
    let Ok(opened) = Blob::open(&layout, bytes) else {
        assert!(columns.is_err());
        return;
    };
    let values: Result<Vec<_>, _> = all.iter().map(|index| opened.value(&layout, *index)).collect();
    let Ok(values) = values else {
        assert!(columns.is_err());
        return;
    };
    let mut writer = Writer::begin(&layout, Vec::new());
    // Other writers' values may be refused: NUL in text, NULL in a field that is not optional.
    if values.iter().try_for_each(|value| writer.push(value)).is_err() {
        return;
    }
    let Ok(written) = writer.finish() else { return };
    let again = Blob::open(&layout, &written);
    assert!(again.is_ok(), "what was written cannot be opened");
    let Ok(again) = again else { return };
    for (index, value) in values.iter().enumerate() {
        let read = again.value(&layout, index);
        assert_eq!(format!("{read:?}"), format!("{:?}", Ok::<_, Fault>(value)));
    }
    // Dates that Arrow cannot hold are refused in columns only.
    let Ok(columns) = columns else { return };
    let columns: Vec<_> = columns.columns().iter().map(|column| Some(column.slice(0, 1))).collect();
    if let Ok(packed) = pack(&layout, &columns, 1) {
        let packed = Blobs::of(&packed);
        let same = packed.map(|blobs| unpack(&layout, &blobs, &all));
        assert!(same.is_some_and(|same| same.is_ok()));
    }
}
