//! The names of a type: of its kind, and in SQL.

use super::{Shape, Type};

impl Type {
    /// The kind of its structure: "scalar", "array", "composite", "record", "enum", "range",
    /// "multirange", "domain" or "unknown". A codec does not change it.
    pub fn kind_name(&self) -> &'static str {
        match &self.shape {
            Shape::Scalar(_) => "scalar",
            Shape::Array(_) => "array",
            Shape::Composite(_) => "composite",
            Shape::Record(_) => "record",
            Shape::Enum(_) => "enum",
            Shape::Range(_) => "range",
            Shape::Multirange(_) => "multirange",
            Shape::Domain { .. } => "domain",
            Shape::Opaque => "unknown",
            Shape::Custom { under, .. } => under.kind_name(),
        }
    }

    /// Its name in SQL, quoted and schema-qualified.
    pub fn sql_name(&self) -> String {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        match &self.shape {
            // `int2vector` and `oidvector` are arrays with their own names.
            Shape::Array(element) if self.name.ends_with("[]") => {
                format!("{}[]", element.sql_name())
            }
            _ => format!("{}.{}", quoted(&self.schema), quoted(&self.name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::CodecFormat;
    use super::*;
    use crate::catalog::named_type;

    fn mood() -> Type {
        let labels: Arc<[String]> = ["sad".to_owned()].into();
        let (name, schema) = ("my \"mood\"".to_owned(), "public".to_owned());
        Type { oid: 70_000, name, schema, shape: Shape::Enum(labels) }
    }

    #[test]
    fn a_name_is_quoted_and_has_its_schema() {
        assert_eq!(mood().sql_name(), "\"public\".\"my \"\"mood\"\"\"");
        let name = mood().name + "[]";
        let array = Type { name, shape: Shape::Array(Arc::new(mood())), ..mood() };
        assert_eq!(array.sql_name(), "\"public\".\"my \"\"mood\"\"\"[]");
    }

    #[test]
    fn a_vector_has_its_own_name() {
        let int2 = Arc::new(named_type("int2").unwrap());
        let (name, schema) = ("int2vector".to_owned(), "pg_catalog".to_owned());
        let vector = Type { oid: 22, name, schema, shape: Shape::Array(int2) };
        assert_eq!(vector.sql_name(), "\"pg_catalog\".\"int2vector\"");
        assert_eq!(vector.kind_name(), "array");
    }

    #[test]
    fn a_codec_leaves_the_kind() {
        let under = Arc::new(mood());
        let shape = Shape::Custom { codec: 0, format: CodecFormat::Text, under };
        assert_eq!(Type { shape, ..mood() }.kind_name(), "enum");
        assert_eq!(Type::opaque(1).kind_name(), "unknown");
    }
}
