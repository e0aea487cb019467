//! Looks up all missing types, and the types they are made of, in one round trip to the catalogs.
//!
//! The answer has columns of built-in types only, so that reading it never needs another lookup.
//! The statement has its own name and is closed in the same flight: the caller may be between
//! preparing and running the unnamed statement. It is closed beforehand, too, because an error or a
//! cancel request may have come before the previous lookup closed it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use colonnade_columnar::{List, TypeRow, Types, Value, push_parameter};
use colonnade_protocol::backend::Message;
use colonnade_protocol::frontend::{self, EncodedParams};
use colonnade_protocol::{DataRows, Format, Oid, RemoteError, Spans};

use super::answer::{Answer, Part};
use super::postponed_rows::Replay;
use super::prepare::Described;
use super::{Context, Exchange, Step};
use crate::session::Link;
use crate::{Completion, Error, Sink, Statement};

const STATEMENT: &str = "colonnade_introspect";

/// The first server version with multiranges.
const MULTIRANGES_SINCE: u32 = 14;

/// `oid[]`.
const OID_ARRAY: Oid = 1028;

/// The answer to a Parse, a Bind and an Execute; no Describe, because the columns are known.
const ANSWER: &[Part] = &[Part::ParseComplete, Part::BindComplete, Part::Rows];

pub(crate) struct Introspect<S> {
    /// The types to look up.
    missing: Vec<Oid>,
    /// The catalog's generation at the time of the question.
    generation: u64,
    asked_at: Duration,
    then: Then<S>,
    answer: Answer,
    rows: Vec<TypeRow>,
    spans: Spans,
}

/// The purpose of the lookup.
pub(crate) enum Then<S> {
    Nothing,
    /// A statement with parameters or columns of these types.
    Keep(Described),
    /// A result with values of these types in its rows.
    Replay(Box<Replay<S>>),
}

impl<S: Sink> Introspect<S> {
    pub(crate) fn start(
        missing: Vec<Oid>,
        then: Then<S>,
        link: &Link,
        out: &mut Vec<u8>,
    ) -> Result<Self, Error> {
        let mut parameters = EncodedParams::new();
        let elements: Vec<_> = missing.iter().map(|oid| Value::UInt((*oid).into())).collect();
        let list = Value::List(List { dimensions: vec![elements.len()], elements });
        if let Some(oids) = Types::default().find(OID_ARRAY) {
            // OIDs always encode, and there are fewer than a message can hold.
            let _ = push_parameter(&mut parameters, &oids, &list);
        }
        frontend::close_statement(out, STATEMENT)?;
        frontend::parse(out, STATEMENT, &query(link.parameter("server_version")), &[OID_ARRAY])?;
        frontend::bind(out, "", STATEMENT, &parameters, &[Format::Binary])?;
        frontend::execute(out, "", 0)?;
        frontend::close_statement(out, STATEMENT)?;
        frontend::sync(out);
        let answer = Answer::new(ANSWER, 0);
        let generation = link.known.types.catalog().generation();
        let (asked_at, rows, spans) = (link.known.types.now(), Vec::new(), Spans::new());
        Ok(Self { missing, generation, asked_at, then, answer, rows, spans })
    }
}

fn done<S: Sink>(statement: Option<Arc<Statement>>) -> Step<S> {
    Step::Done(Completion { statement, ..Completion::default() })
}

impl<S: Sink> Exchange<S> for Introspect<S> {
    fn message(
        &mut self,
        message: Message<'_>,
        _context: &mut Context<'_, S>,
    ) -> Result<(), Error> {
        self.answer.take(&message)?;
        if let Message::CommandComplete(_) = message {
            self.answer.check_rows(&message)?;
        }
        Ok(())
    }

    fn rows(&mut self, mut rows: DataRows<'_>, _context: &mut Context<'_, S>) -> Result<(), Error> {
        self.answer.take_rows(rows.row_count())?;
        let bytes = rows.bytes();
        while rows.scan(COLUMNS.len(), 64, &mut self.spans)? > 0 {
            for row in 0..self.spans.rows() {
                let value = |column: usize| {
                    let span = self.spans.column(column).get(row).copied();
                    span.and_then(|span| span.slice(bytes))
                };
                let read = read_row(value);
                self.rows.push(read.ok_or_else(|| Error::Protocol(RemoteError::Catalog.into()))?);
            }
        }
        Ok(())
    }

    /// The catalog is shared by other connections, and must not miss any of the rows.
    fn is_in_vain(&self, _message: &str) -> bool {
        false
    }

    fn complete(self: Box<Self>, context: &mut Context<'_, S>) -> Result<Step<S>, Error> {
        self.answer.check_whole()?;
        let catalog = context.link.known.types.catalog().clone();
        catalog.learn(&self.missing, &self.rows, self.asked_at);
        let step = match self.then {
            Then::Nothing => Ok(done(None)),
            Then::Keep(described) => described.keep(context.link, context.out).map(Some).map(done),
            Then::Replay(replay) => replay.run(context),
        };
        if catalog.generation() != self.generation {
            // Another session has reported a change meanwhile: these may be from before it.
            catalog.forget_all(&self.missing);
        }
        step
    }

    fn failed(&mut self, _error: &Error, context: &mut Context<'_, S>) -> bool {
        if let Then::Keep(described) = &self.then {
            described.close(context.out);
        }
        false
    }
}

/// The types of the answer's columns, in order.
const COLUMNS: [Oid; 14] = [26, 25, 25, 25, 26, 26, 23, 26, 25, 16, 1009, 1028, 1007, 1009];

/// One row of the answer; `None` if it is malformed.
fn read_row<'a>(raw: impl Fn(usize) -> Option<&'a [u8]>) -> Option<TypeRow> {
    let types = Types::default();
    let value = |column: usize| {
        let pg_type = types.find(*COLUMNS.get(column)?)?;
        raw(column).map_or(Some(Value::Null), |raw| pg_type.value(raw).ok().map(Value::into_owned))
    };
    let names = texts(value(10)?)?;
    let parts = numbers(value(11)?)?;
    let modifiers = numbers(value(12)?)?;
    let attributes = names.into_iter().zip(parts).zip(modifiers).map(|((name, oid), modifier)| {
        Some((name, Oid::try_from(oid).ok()?, i32::try_from(modifier).ok()?))
    });
    Some(TypeRow {
        oid: oid(value(0)?)?,
        schema: text(value(1)?)?,
        name: text(value(2)?)?,
        kind: text(value(3)?)?.bytes().next()?,
        element: oid(value(4)?)?,
        base: oid(value(5)?)?,
        type_modifier: i32::try_from(number(value(6)?)?).ok()?,
        subtype: oid(value(7)?)?,
        send: text(value(8)?)?,
        send_is_built_in: value(9)? == Value::Bool(true),
        attributes: attributes.collect::<Option<_>>()?,
        labels: texts(value(13)?)?,
    })
}

fn number(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Int(number) => Some(number),
        Value::UInt(number) => i64::try_from(number).ok(),
        _ => None,
    }
}

fn oid(value: Value<'_>) -> Option<Oid> {
    Oid::try_from(number(value)?).ok()
}

fn text(value: Value<'_>) -> Option<String> {
    match value {
        Value::Text(text) => Some(Cow::into_owned(text)),
        _ => None,
    }
}

fn elements(value: Value<'_>) -> Option<Vec<Value<'_>>> {
    match value {
        Value::List(list) => Some(list.elements),
        Value::Null => Some(Vec::new()),
        _ => None,
    }
}

fn texts(value: Value<'_>) -> Option<Vec<String>> {
    elements(value)?.into_iter().map(text).collect()
}

fn numbers(value: Value<'_>) -> Option<Vec<i64>> {
    elements(value)?.into_iter().map(number).collect()
}

/// The query, adapted to the server's version.
fn query(server_version: Option<&str>) -> Cow<'static, str> {
    let version = server_version.unwrap_or_default();
    let digits = version.find(|c: char| !c.is_ascii_digit()).unwrap_or(version.len());
    let major: u32 = version.get(..digits).and_then(|major| major.parse().ok()).unwrap_or(0);
    if major >= MULTIRANGES_SINCE {
        return Cow::Borrowed(QUERY);
    }
    Cow::Owned(QUERY.replace("OR r.rngmultitypid OPERATOR(pg_catalog.=) t.oid", ""))
}

/// The types asked for and the types they are made of. An array is recognized by its input
/// function: `point` and others have a `typelem` too, but are not arrays.
///
/// Functions, types, tables and operators all name their schema. Otherwise anyone with the right to
/// create an operator in a schema of the search path could have it run by every user who reads an
/// enum.
const QUERY: &str = "\
WITH RECURSIVE wanted(oid) AS (
    SELECT pg_catalog.unnest($1::pg_catalog.oid[])
    UNION
    SELECT part.oid
    FROM wanted
    JOIN pg_catalog.pg_type AS t ON t.oid OPERATOR(pg_catalog.=) wanted.oid
    LEFT JOIN pg_catalog.pg_range AS r ON r.rngtypid OPERATOR(pg_catalog.=) t.oid
        OR r.rngmultitypid OPERATOR(pg_catalog.=) t.oid
    CROSS JOIN LATERAL (
        SELECT CASE WHEN t.typinput
                        OPERATOR(pg_catalog.=) 'pg_catalog.array_in'::pg_catalog.regproc
                    THEN t.typelem ELSE 0::pg_catalog.oid END
        UNION ALL SELECT t.typbasetype
        UNION ALL SELECT r.rngsubtype
        UNION ALL
        SELECT a.atttypid
        FROM pg_catalog.pg_attribute AS a
        WHERE t.typrelid OPERATOR(pg_catalog.<>) 0::pg_catalog.oid
            AND a.attrelid OPERATOR(pg_catalog.=) t.typrelid
            AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
    ) AS part(oid)
    WHERE part.oid OPERATOR(pg_catalog.<>) 0::pg_catalog.oid
)
SELECT t.oid, n.nspname::pg_catalog.text, t.typname::pg_catalog.text,
       t.typtype::pg_catalog.text,
       CASE WHEN t.typinput OPERATOR(pg_catalog.=) 'pg_catalog.array_in'::pg_catalog.regproc
            THEN t.typelem ELSE 0::pg_catalog.oid END,
       t.typbasetype, t.typtypmod, coalesce(r.rngsubtype, 0::pg_catalog.oid),
       coalesce(f.proname::pg_catalog.text, ''),
       coalesce(fn.nspname OPERATOR(pg_catalog.=) 'pg_catalog', false),
       attributes.names, attributes.types, attributes.modifiers, enum.labels
FROM wanted
JOIN pg_catalog.pg_type AS t ON t.oid OPERATOR(pg_catalog.=) wanted.oid
JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) t.typnamespace
LEFT JOIN pg_catalog.pg_range AS r ON r.rngtypid OPERATOR(pg_catalog.=) t.oid
    OR r.rngmultitypid OPERATOR(pg_catalog.=) t.oid
LEFT JOIN pg_catalog.pg_proc AS f ON f.oid OPERATOR(pg_catalog.=) t.typsend
LEFT JOIN pg_catalog.pg_namespace AS fn ON fn.oid OPERATOR(pg_catalog.=) f.pronamespace
LEFT JOIN LATERAL (
    SELECT pg_catalog.array_agg(a.attname::pg_catalog.text ORDER BY a.attnum),
           pg_catalog.array_agg(a.atttypid ORDER BY a.attnum),
           pg_catalog.array_agg(a.atttypmod ORDER BY a.attnum)
    FROM pg_catalog.pg_attribute AS a
    WHERE t.typtype OPERATOR(pg_catalog.=) 'c' AND a.attrelid OPERATOR(pg_catalog.=) t.typrelid
        AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
) AS attributes(names, types, modifiers) ON true
LEFT JOIN LATERAL (
    SELECT pg_catalog.array_agg(e.enumlabel::pg_catalog.text ORDER BY e.enumsortorder)
    FROM pg_catalog.pg_enum AS e
    WHERE t.typtype OPERATOR(pg_catalog.=) 'e' AND e.enumtypid OPERATOR(pg_catalog.=) t.oid
) AS enum(labels) ON true";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_without_multiranges_are_not_asked_for_them() {
        for version in ["14.0", "15.18 (Debian 15.18-0+deb12u1)", "18beta1", "18.6"] {
            assert!(query(Some(version)).contains("rngmultitypid"), "{version}");
        }
        for version in ["13.22", "9.6.1", "8.0.2", ""] {
            assert!(!query(Some(version)).contains("rngmultitypid"), "{version}");
        }
    }

    #[test]
    fn every_column_has_a_built_in_type() {
        let types = Types::default();
        let found = COLUMNS
            .map(|oid| types.find(oid).map(|found: Arc<colonnade_columnar::Type>| found.oid));
        assert_eq!(found, COLUMNS.map(Some));
        assert!(read_row(|_| None).is_none());
    }
}
