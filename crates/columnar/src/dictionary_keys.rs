//! Dictionaries of others, with the keys that ours have.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array};
use arrow_schema::DataType;

/// The dictionary with keys of 32 bits; `None` for other arrays, and for keys beyond.
pub fn with_own_keys(array: &ArrayRef) -> Option<ArrayRef> {
    let DataType::Dictionary(key, _) = array.data_type() else { return None };
    match **key {
        DataType::Int32 => Some(Arc::clone(array)),
        DataType::Int8 => converted::<Int8Type>(array),
        DataType::Int16 => converted::<Int16Type>(array),
        DataType::Int64 => converted::<Int64Type>(array),
        DataType::UInt8 => converted::<UInt8Type>(array),
        DataType::UInt16 => converted::<UInt16Type>(array),
        DataType::UInt32 => converted::<UInt32Type>(array),
        DataType::UInt64 => converted::<UInt64Type>(array),
        _ => None,
    }
}

fn converted<Key: ArrowDictionaryKeyType>(array: &ArrayRef) -> Option<ArrayRef>
where
    i32: TryFrom<Key::Native>,
{
    let array = array.as_dictionary_opt::<Key>()?;
    let key = |key: Key::Native| i32::try_from(key).map_err(|_| ());
    let keys: Int32Array = array.keys().try_unary(key).ok()?;
    let own = DictionaryArray::<Int32Type>::try_new(keys, Arc::clone(array.values())).ok()?;
    Some(Arc::new(own))
}
