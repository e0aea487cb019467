//! Rows with another number of values than there are columns.

/// The message about a row of `values` values for the named columns.
pub fn miscounted_row<'a>(
    row: u64,
    values: usize,
    columns: impl ExactSizeIterator<Item = &'a str>,
) -> String {
    let plural = if values == 1 { "" } else { "s" };
    let are = if columns.len() == 1 { " is" } else { "s are" };
    let (count, names) = (columns.len(), columns.map(|name| format!("{name:?}")));
    let names = names.collect::<Vec<_>>().join(", ");
    format!("row {row} has {values} value{plural}, and {count} column{are} copied: {names}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_told_with_the_columns() {
        let text = miscounted_row(7, 1, ["a", "b\""].into_iter());
        assert_eq!(text, "row 7 has 1 value, and 2 columns are copied: \"a\", \"b\\\"\"");
        let text = miscounted_row(0, 2, ["a"].into_iter());
        assert_eq!(text, "row 0 has 2 values, and 1 column is copied: \"a\"");
    }
}
