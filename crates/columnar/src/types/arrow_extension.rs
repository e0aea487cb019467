//! Arrow's extension types, canonical or from the community, and cells: a field's metadata tells
//! the meaning of its storage.

use arrow_schema::Metadata;
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};

use crate::cells::CellEncoding;

/// The extension types that columns carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extension {
    /// Fixed-width cells, exported as plain text or bytes.
    Cells(CellEncoding),
    /// `arrow.json`
    Json,
    /// `arrow.opaque`: bytes whose meaning only PostgreSQL knows.
    Opaque,
    /// `arrow.uuid`
    Uuid,
    /// `geoarrow.wkb`
    Wkb,
}

/// The two metadata entries of an extension type.
pub(crate) fn metadata(extension: Option<Extension>, type_name: &str) -> Metadata {
    let (name, metadata) = match extension {
        None => return Metadata::default(),
        Some(Extension::Cells(encoding)) => (encoding.name(), String::new()),
        Some(Extension::Json) => ("arrow.json", String::new()),
        Some(Extension::Uuid) => ("arrow.uuid", String::new()),
        // No coordinate reference system is given: in PostGIS each value has its own.
        Some(Extension::Wkb) => ("geoarrow.wkb", "{}".to_owned()),
        Some(Extension::Opaque) => ("arrow.opaque", opaque_metadata(type_name)),
    };
    Metadata::from([
        (EXTENSION_TYPE_NAME_KEY, name.to_owned()),
        (EXTENSION_TYPE_METADATA_KEY, metadata),
    ])
}

/// JSON with the type's name, which users choose.
fn opaque_metadata(type_name: &str) -> String {
    let mut escaped = String::with_capacity(type_name.len());
    for character in type_name.chars() {
        match character {
            '"' | '\\' => escaped.extend(['\\', character]),
            control @ '\0'..='\x1f' => {
                escaped.push_str(&format!("\\u{:04x}", u32::from(control)));
            }
            other => escaped.push(other),
        }
    }
    format!("{{\"type_name\": \"{escaped}\", \"vendor_name\": \"PostgreSQL\"}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted() {
        let text = opaque_metadata("a\"b\\c\n");
        assert_eq!(text, r#"{"type_name": "a\"b\\c\u000a", "vendor_name": "PostgreSQL"}"#);
    }
}
