//! `ltree`, `lquery`, `ltxtquery`: a version byte of 1, then the text, as in `jsonpath`.

use super::{Codec, json};

pub(super) const LTREE: Codec = json::JSONPATH;

#[cfg(test)]
mod tests {
    use arrow_array::StringArray;

    use super::super::extensions::testing::Extended;
    use crate::error::Reason;
    use crate::testing::hex;
    use crate::value::Value;

    #[test]
    fn golden() {
        // 'Top.Science'::ltree, '*.Sci*.!a|b{1,2}'::lquery, 'a & !b*'::ltxtquery
        for (name, bytes, text) in [
            ("ltree", "01 546f702e536369656e6365", "Top.Science"),
            ("lquery", "01 2a2e5363692a2e21617c627b312c327d", "*.Sci*.!a|b{1,2}"),
            ("ltxtquery", "01 6120262021622a", "a & !b*"),
            ("ltree", "01", ""),
        ] {
            Extended::new(name).assert_both_ways(hex(bytes), Value::Text(text.into()));
        }
        let array: StringArray = Extended::new("ltree").array(&[hex("0161"), None, hex("01")]);
        assert_eq!(array, StringArray::from(vec![Some("a"), None, Some("")]));
    }

    #[test]
    fn malformed() {
        let case = Extended::new("ltree");
        for bad in ["", "00", "0261", "01ff"] {
            assert_eq!(case.error(&[hex("0161"), None, hex(bad)]).0, 2);
        }
        // The first faulty row is reported, whatever its error.
        assert_eq!(case.error(&[hex("01ff"), hex("0231")]).0, 0);
        let (_, reason) = case.error(&[hex("0231"), hex("01ff")]);
        assert_eq!(reason, Reason::Version(2));
        assert!(case.encode(&Value::Text("\0".into())).is_err());
    }
}
