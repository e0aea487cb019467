//! The form of a value's text in JSON, as PostgreSQL's `to_json` writes it.

use super::tree::{Shape, Type};
use super::{Kind, PgType};

/// How the text of a value is written in JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum JsonText {
    /// As a number, unless it is a word such as NaN.
    Number,
    /// As `true` or `false`.
    Boolean,
    /// As it is: it is JSON.
    Document,
    /// As a string in ISO 8601.
    Moment,
    /// As a string.
    String,
}

impl Type {
    /// How JSON has the text of its values.
    pub(crate) fn json_text(&self) -> JsonText {
        match &self.bare().shape {
            Shape::Scalar(line) => of_line(line),
            _ => JsonText::String,
        }
    }
}

fn of_line(line: &PgType) -> JsonText {
    match (line.kind, line.name) {
        (Kind::Int | Kind::Float | Kind::Float32 | Kind::Numeric, _) | (_, "oid") => {
            JsonText::Number
        }
        (Kind::Bool, _) => JsonText::Boolean,
        (Kind::Timestamp | Kind::TimestampTz, _) => JsonText::Moment,
        (_, "json" | "jsonb") => JsonText::Document,
        _ => JsonText::String,
    }
}

/// Appends the text of a moment in ISO 8601, as `to_json` does: with a `T`, and with minutes in the
/// offset. An infinity is a word.
pub(crate) fn push_iso(text: &str, out: &mut String) {
    let (moment, era) = match text.strip_suffix(" BC") {
        Some(moment) => (moment, " BC"),
        None => (text, ""),
    };
    let Some((day, clock)) = moment.split_once(' ') else {
        out.push_str(text);
        return;
    };
    out.push_str(day);
    out.push('T');
    out.push_str(clock);
    if matches!(clock.as_bytes(), [.., b'+' | b'-', _, _]) {
        out.push_str(":00");
    }
    out.push_str(era);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::named_type;

    #[test]
    fn types_are_those_of_to_json() {
        let cases = [
            ("int2", JsonText::Number),
            ("oid", JsonText::Number),
            ("numeric", JsonText::Number),
            ("float4", JsonText::Number),
            ("xid8", JsonText::String),
            ("pg_lsn", JsonText::String),
            ("bool", JsonText::Boolean),
            ("jsonb", JsonText::Document),
            ("jsonpath", JsonText::String),
            ("timestamptz", JsonText::Moment),
            ("date", JsonText::String),
        ];
        for (name, wanted) in cases {
            assert_eq!(named_type(name).unwrap().json_text(), wanted, "{name}");
        }
    }

    #[test]
    fn moments_are_iso() {
        let cases = [
            ("2024-02-29 12:30:00.5", "2024-02-29T12:30:00.5"),
            ("2024-02-29 12:30:00+00", "2024-02-29T12:30:00+00:00"),
            ("2024-02-29 12:30:00-05:30", "2024-02-29T12:30:00-05:30"),
            ("12024-02-29 12:30:00+00 BC", "12024-02-29T12:30:00+00:00 BC"),
            ("-infinity", "-infinity"),
        ];
        for (text, wanted) in cases {
            let mut out = String::new();
            push_iso(text, &mut out);
            assert_eq!(out, wanted);
        }
    }
}
