//! Arrow's extension types, canonical or the community's, and cells: what a field says of the
//! meaning of its storage.

use arrow_schema::Metadata;
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};

use crate::cells::CellEncoding;

/// The extension types that columns carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extension {
    /// Cells of one width, which leave as plain text or bytes.
    Cells(CellEncoding),
    /// `arrow.json`
    Json,
    /// `arrow.opaque`: bytes whose meaning is known to PostgreSQL alone.
    Opaque,
    /// `arrow.uuid`
    Uuid,
    /// `geoarrow.wkb`
    Wkb,
}

/// The two entries by which readers know an extension type.
pub(crate) fn metadata(extension: Option<Extension>, type_name: &str) -> Metadata {
    let (name, metadata) = match extension {
        None => return Metadata::default(),
        Some(Extension::Cells(encoding)) => (encoding.name(), String::new()),
        Some(Extension::Json) => ("arrow.json", String::new()),
        Some(Extension::Uuid) => ("arrow.uuid", String::new()),
        // No reference system is named: PostGIS has one for each value.
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
