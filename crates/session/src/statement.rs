//! Prepared statements, portals, and the cache that keeps the most recently used statements.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use colonnade_columnar::{RECORDS, ResultColumn, Type, Types};
use colonnade_protocol::{Format, Oid};

use crate::lease::Lease;

/// The type of a literal: the server infers the type of a parameter declared so.
pub(crate) const UNKNOWN: Oid = 705;

/// The lowest OID that a server gives to objects created by users.
pub(crate) const FIRST_NORMAL_OID: Oid = 16_384;

/// How many descriptions are remembered if the server keeps no statements.
const DESCRIPTIONS_MAX: usize = 256;

/// How the values of a statement are read and written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Conversions {
    /// By the owner's codecs and aliases, for the owner's queries.
    #[default]
    Owners,
    /// By the types' own conversions, for the driver's own queries.
    Plain {
        /// The number of columns, from the first on, that hold the owner's values.
        owners: u16,
    },
}

impl Conversions {
    /// The type of a parameter, under these conversions.
    pub(crate) fn of_parameter(self, types: &Types, oid: Oid) -> Option<Arc<Type>> {
        match self {
            Self::Owners => types.find(oid),
            Self::Plain { .. } => types.find_plain(oid),
        }
    }

    /// The type of the column of this index, under these conversions.
    pub(crate) fn of_column(self, types: &Types, oid: Oid, index: usize) -> Option<Arc<Type>> {
        match self {
            Self::Plain { owners } if index >= usize::from(owners) => types.find_plain(oid),
            Self::Owners | Self::Plain { .. } => types.find(oid),
        }
    }
}

/// The fate of a statement on the server.
#[derive(Default, Debug)]
pub(crate) struct Fate {
    /// The server was told to close it.
    is_closed: AtomicBool,
    /// An error has shown that its description may be out of date.
    is_doubtful: AtomicBool,
}

/// A statement the server has parsed, with its parameters and columns.
#[derive(Debug)]
pub struct Statement {
    /// Its fate since; all versions of the statement share it.
    pub(crate) fate: Arc<Fate>,
    /// The server-side name; empty if the server does not keep the statement.
    pub name: String,
    /// The text that was prepared.
    pub sql: String,
    /// The declared parameter types; the server inferred those that are 0 or missing.
    pub declared: Vec<Oid>,
    /// How its values are read and written.
    pub conversions: Conversions,
    /// The type of each parameter.
    pub parameters: Vec<Arc<Type>>,
    /// The columns; none for a command.
    pub columns: Arc<[ResultColumn]>,
    /// The epoch in which it was described.
    pub(crate) epoch: u64,
    /// When the oldest part of it became known: the description itself, or one of the types.
    pub(crate) since: Duration,
    /// The namespace for which it is kept.
    pub(crate) namespace: u64,
    /// Closes the owner's statement on the server when its last user drops it; none for statements
    /// in the cache.
    pub(crate) lease: Option<Arc<Lease>>,
}

impl Statement {
    /// The same statement, with refined columns.
    pub(crate) fn with_columns(&self, columns: Arc<[ResultColumn]>) -> Arc<Self> {
        let (name, sql) = (self.name.clone(), self.sql.clone());
        let (fate, lease) = (Arc::clone(&self.fate), self.lease.clone());
        let (declared, parameters) = (self.declared.clone(), self.parameters.clone());
        let (conversions, epoch, namespace) = (self.conversions, self.epoch, self.namespace);
        let since = self.since;
        Arc::new(Self {
            fate,
            name,
            sql,
            declared,
            conversions,
            parameters,
            columns,
            epoch,
            since,
            namespace,
            lease,
        })
    }

    /// Whether the caller prepared it, and the cache does not have it.
    pub const fn is_owned(&self) -> bool {
        self.lease.is_some()
    }

    fn types(&self) -> impl Iterator<Item = &Arc<Type>> {
        self.parameters.iter().chain(self.columns.iter().map(|column| &column.pg_type))
    }

    /// The types of its parameters and columns that a user has made, or may have, and records,
    /// which may hold such.
    pub(crate) fn user_types(&self) -> impl Iterator<Item = &Arc<Type>> {
        let is_users = |oid: Oid| oid >= FIRST_NORMAL_OID || RECORDS.contains(&oid);
        self.types().filter(move |pg_type| is_users(pg_type.oid))
    }

    /// Its key in the cache.
    fn key(&self) -> Cow<'_, str> {
        match self.conversions {
            Conversions::Owners => key(&self.sql, &self.declared, self.namespace),
            Conversions::Plain { owners } => plain_key(&self.sql, owners).into(),
        }
    }

    /// The name under which the server knows it; none if each query must send the text.
    pub fn server_name(&self) -> Option<&str> {
        let is_kept = !self.name.is_empty() && !self.is_closed();
        is_kept.then_some(self.name.as_str())
    }

    /// Takes note that the server is told to close it.
    pub(crate) fn close(&self) {
        self.fate.is_closed.store(true, Ordering::Relaxed);
    }

    fn is_closed(&self) -> bool {
        self.fate.is_closed.load(Ordering::Relaxed)
    }

    /// Takes note of an error that an outdated description can have caused.
    pub(crate) fn doubt(&self) {
        self.fate.is_doubtful.store(true, Ordering::Relaxed);
    }

    /// Whether it has to be described anew, even if nothing has happened to the database.
    pub(crate) fn is_spent(&self) -> bool {
        self.is_closed() || self.fate.is_doubtful.load(Ordering::Relaxed)
    }

    /// The format of each column's values, unless the query requests another.
    pub fn formats(&self) -> Vec<Format> {
        self.columns.iter().map(|column| column.pg_type.format()).collect()
    }
}

/// A statement that was bound to its arguments under a name, and returns its rows in pieces. The
/// server forgets it with its transaction, and at the latest when its last user drops it.
#[derive(Debug)]
pub struct Portal {
    // First, so that it is dropped before the statement that it runs.
    pub(crate) lease: Lease,
    /// The statement that it runs.
    pub statement: Arc<Statement>,
    /// The format of each column's values.
    pub formats: Vec<Format>,
}

impl Portal {
    /// The server-side name.
    pub fn name(&self) -> &str {
        self.lease.name()
    }
}

/// A statement's key in the cache: its text, followed by the declared types and the namespace. A
/// text that can be sent has no NUL, so NUL separates them.
pub(crate) fn key<'a>(sql: &'a str, declared: &[Oid], namespace: u64) -> Cow<'a, str> {
    if declared.is_empty() && namespace == 0 {
        return Cow::Borrowed(sql);
    }
    let mut key = String::with_capacity(sql.len() + 1 + declared.len() * 6);
    key.push_str(sql);
    for oid in declared {
        // Writing to a String does not fail.
        let _ = write!(key, "\0{oid}");
    }
    if namespace != 0 {
        let _ = write!(key, "\0@{namespace}");
    }
    Cow::Owned(key)
}

/// The key of a statement with the types' own conversions for all but the first columns. No
/// declared type has this name.
pub(crate) fn plain_key(sql: &str, owners: u16) -> String {
    format!("{sql}\0plain {owners}")
}

/// Whether the type of each parameter that is declared as unknown is settled by a cast in the text:
/// `$1::int`, or `CAST($1 AS int)`. Otherwise it depends on the tables and functions beside it.
fn is_settled(sql: &str, declared: &[Oid]) -> bool {
    let mut pieces = sql.split('$');
    let mut before = pieces.next().unwrap_or_default();
    pieces.all(|piece| {
        let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = piece.split_at(digits);
        let index = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let is_open = index.and_then(|index| declared.get(index)) == Some(&UNKNOWN);
        let before = std::mem::replace(&mut before, piece).trim_end();
        let after = after.trim_start();
        let word = |at: usize| before.get(before.len().saturating_sub(at)..).unwrap_or_default();
        let is_as = after.get(..3).is_some_and(|it| it.eq_ignore_ascii_case("as "));
        let is_cast = is_as && word(5).eq_ignore_ascii_case("cast(");
        !is_open || after.starts_with("::") || is_cast
    })
}

/// Limits on the statements that the cache keeps.
#[derive(Clone, Copy, Debug)]
pub struct CacheLimits {
    /// The maximum number of statements; 0 keeps none, and prepares the unnamed statement.
    pub capacity: usize,
    /// A kept statement is prepared again at this age, and a type is looked up again; `None` sets
    /// no limit.
    pub lifetime: Option<Duration>,
    /// Texts longer than this, in bytes, are not kept; `None` sets no limit.
    pub text_bytes: Option<usize>,
}

impl CacheLimits {
    /// A limit on the number of statements only, with any length and age.
    pub fn of_capacity(capacity: usize) -> Self {
        Self { capacity, lifetime: None, text_bytes: None }
    }

    fn keeps(&self, sql: &str) -> bool {
        self.capacity > 0 && self.text_bytes.is_none_or(|limit| sql.len() <= limit)
    }
}

/// The least recently used statement is removed to make room for a new one.
///
/// If the server keeps no statements, their descriptions are remembered nevertheless.
pub(crate) struct StatementCache {
    limits: CacheLimits,
    /// The prefix of this session's names. No other session has the same: behind a pooler two
    /// sessions may meet on one server connection, and neither must run the other's statement.
    prefix: String,
    /// Grows with each use; orders the entries.
    clock: u64,
    entries: HashMap<String, Entry>,
    names_given: u64,
}

/// The cache's answer for a key.
#[derive(Debug)]
pub(crate) enum Found {
    /// A statement to run.
    Kept(Arc<Statement>),
    /// A statement that is removed.
    Outdated {
        statement: Arc<Statement>,
        /// Whether the server should close it.
        was_kept: bool,
    },
    /// No statement, or no longer one.
    Nothing,
}

struct Entry {
    statement: Arc<Statement>,
    used_at: u64,
}

impl StatementCache {
    pub(crate) fn new(limits: CacheLimits) -> Self {
        // The standard library's only source of randomness.
        let chance = RandomState::new().hash_one(0) >> 16;
        let prefix = format!("colonnade_{chance:012x}");
        Self { limits, prefix, clock: 0, entries: HashMap::new(), names_given: 0 }
    }

    /// A name no statement or portal of this session has had.
    pub(crate) fn next_name(&mut self) -> String {
        self.names_given += 1;
        format!("{}_{}", self.prefix, self.names_given)
    }

    /// The name to prepare a text under; empty (unnamed) if it will not be kept.
    pub(crate) fn name_for(&mut self, sql: &str, declared: &[Oid]) -> String {
        let is_kept = self.limits.keeps(sql) && is_settled(sql, declared);
        if is_kept { self.next_name() } else { String::new() }
    }

    /// The statement kept under `key`, if it was described in this epoch, and all that it says is
    /// known for less than the lifetime.
    pub(crate) fn find(&mut self, key: &str, epoch: u64, now: Duration) -> Found {
        self.clock += 1;
        let Some(entry) = self.entries.get_mut(key) else { return Found::Nothing };
        let age = now.saturating_sub(entry.statement.since);
        let is_old = self.limits.lifetime.is_some_and(|lifetime| age >= lifetime);
        if is_old || entry.statement.epoch != epoch {
            let statement = Arc::clone(&entry.statement);
            let was_kept = self.take(key).is_some();
            return Found::Outdated { statement, was_kept };
        }
        entry.used_at = self.clock;
        Found::Kept(Arc::clone(&entry.statement))
    }

    /// Keeps a statement; returns the statements removed for it, which the server should close.
    pub(crate) fn insert(&mut self, statement: Arc<Statement>) -> Vec<Arc<Statement>> {
        if self.limits.capacity != 0 && !self.limits.keeps(&statement.sql) {
            return Vec::new();
        }
        self.clock += 1;
        let entry = Entry { statement: Arc::clone(&statement), used_at: self.clock };
        let mut gone: Vec<_> = self
            .entries
            .insert(statement.key().into_owned(), entry)
            .map(|entry| entry.statement)
            .into_iter()
            .collect();
        let capacity = self.limits.capacity;
        let room = if capacity == 0 { DESCRIPTIONS_MAX } else { capacity };
        while self.entries.len() > room {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used_at);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else { break };
            gone.extend(self.entries.remove(&key).map(|entry| entry.statement));
        }
        gone.retain(|statement| statement.server_name().is_some());
        gone.iter().for_each(|statement| statement.close());
        gone
    }

    /// Replaces a statement by its refined version.
    pub(crate) fn renew(&mut self, statement: &Arc<Statement>) {
        let entry = self.entries.get_mut(statement.key().as_ref());
        if let Some(entry) = entry.filter(|entry| entry.statement.name == statement.name) {
            entry.statement = Arc::clone(statement);
        }
    }

    /// Removes a statement, unless its text has since been kept under another name. Returns it if
    /// the server should close it.
    pub(crate) fn remove(&mut self, statement: &Statement) -> Option<Arc<Statement>> {
        let key = statement.key();
        let entry = self.entries.get(key.as_ref())?;
        if entry.statement.name != statement.name {
            return None;
        }
        self.take(&key)
    }

    fn take(&mut self, key: &str) -> Option<Arc<Statement>> {
        let statement = self.entries.remove(key).map(|entry| entry.statement)?;
        let was_kept = statement.server_name().is_some();
        statement.close();
        was_kept.then_some(statement)
    }

    /// Removes all statements and returns them, for the server to close.
    pub(crate) fn drain(&mut self) -> Vec<Arc<Statement>> {
        let all = self.entries.drain().map(|(_, entry)| entry.statement);
        let kept: Vec<_> = all.filter(|statement| statement.server_name().is_some()).collect();
        kept.iter().for_each(|statement| statement.close());
        kept
    }

    /// Forgets everything without closing: the server has already done so.
    pub(crate) fn clear(&mut self) {
        self.entries.drain().for_each(|(_, entry)| entry.statement.close());
    }

    /// The number of statements that the server keeps.
    pub(crate) fn len(&self) -> usize {
        self.entries.values().filter(|entry| entry.statement.server_name().is_some()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl StatementCache {
        fn kept(&mut self, key: &str) -> Option<Arc<Statement>> {
            match self.find(key, 0, Duration::ZERO) {
                Found::Kept(statement) => Some(statement),
                Found::Outdated { .. } | Found::Nothing => None,
            }
        }
    }

    fn statement(cache: &mut StatementCache, sql: &str) -> Arc<Statement> {
        statement_since(cache, sql, Duration::ZERO)
    }

    fn statement_since(cache: &mut StatementCache, sql: &str, since: Duration) -> Arc<Statement> {
        let (name, sql) = (cache.name_for(sql, &[]), sql.to_owned());
        let (parameters, columns, fate) = (Vec::new(), Arc::from([]), Arc::default());
        let (declared, conversions, lease) = (Vec::new(), Conversions::Owners, None);
        Arc::new(Statement {
            fate,
            name,
            sql,
            declared,
            conversions,
            parameters,
            columns,
            epoch: 0,
            since,
            namespace: 0,
            lease,
        })
    }

    #[test]
    fn a_cast_settles_the_type_of_a_text() {
        for sql in [
            "SELECT $1::int",
            "SELECT CAST($1 AS int)",
            "SELECT $1 ::int, $1::text, $2",
            "SELECT 1",
        ] {
            assert!(is_settled(sql, &[UNKNOWN, 23]), "{sql}");
        }
        for sql in ["SELECT $1", "SELECT $1::int, $1", "SELECT f($1 AS x)", "SELECT $2::int + $1"] {
            assert!(!is_settled(sql, &[UNKNOWN, 23]), "{sql}");
        }
        let mut cache = cache_of(9);
        assert_eq!(cache.name_for("SELECT $1", &[UNKNOWN]), "");
        assert_ne!(cache.name_for("SELECT $1", &[25]), "");
    }

    #[test]
    fn a_text_is_kept_once_for_each_declaration_of_its_types() {
        let mut cache = cache_of(9);
        for declared in [vec![], vec![0], vec![23], vec![2, 3]] {
            let one = statement(&mut cache, "a");
            let Some(mut one) = Arc::into_inner(one) else { panic!("nobody else has it") };
            one.declared = declared;
            assert!(cache.insert(Arc::new(one)).is_empty());
        }
        assert_eq!(cache.len(), 4);
        let kept = cache.kept(&key("a", &[2, 3], 0)).map(|statement| statement.declared.clone());
        assert_eq!(kept, Some(vec![2, 3]));
        assert!(cache.kept(&key("a", &[20], 0)).is_none());
    }

    #[test]
    fn a_text_is_kept_for_one_epoch_and_each_namespace() {
        let mut cache = cache_of(9);
        let one = statement(&mut cache, "a");
        assert!(cache.insert(Arc::clone(&one)).is_empty());
        assert!(cache.kept(&key("a", &[], 7)).is_none());
        assert!(matches!(
            cache.find("a", 1, Duration::ZERO),
            Found::Outdated { was_kept: true, .. }
        ));
        assert!(one.server_name().is_none());
        assert!(cache.kept("a").is_none());
    }

    #[test]
    fn a_text_is_kept_for_each_kind_of_conversion() {
        let mut cache = cache_of(9);
        let owners = statement(&mut cache, "a");
        let Some(mut plain) = Arc::into_inner(statement(&mut cache, "a")) else { panic!() };
        plain.conversions = Conversions::Plain { owners: 0 };
        let plain = Arc::new(plain);
        assert!(cache.insert(Arc::clone(&plain)).is_empty());
        assert!(cache.kept("a").is_none());
        assert!(cache.insert(Arc::clone(&owners)).is_empty());
        for (key, kept) in [("a".to_owned(), owners), (plain_key("a", 0), plain)] {
            assert!(Arc::ptr_eq(&cache.kept(&key).unwrap(), &kept));
        }
    }

    fn cache_of(capacity: usize) -> StatementCache {
        StatementCache::new(CacheLimits::of_capacity(capacity))
    }

    #[test]
    fn the_least_recently_used_statement_leaves() {
        let mut cache = cache_of(2);
        for sql in ["a", "b"] {
            let one = statement(&mut cache, sql);
            assert!(cache.insert(one).is_empty());
        }
        assert!(cache.kept("a").is_some());
        let third = statement(&mut cache, "c");
        let gone = cache.insert(third);
        assert_eq!(gone.iter().map(|s| s.sql.as_str()).collect::<Vec<_>>(), ["b"]);
        assert!(cache.kept("b").is_none());
        assert_eq!(cache.len(), 2);
    }

    #[test]
    fn a_cache_of_none_uses_the_unnamed_statement() {
        let mut cache = cache_of(0);
        let one = statement(&mut cache, "a");
        assert_eq!(one.name, "");
        assert!(cache.insert(Arc::clone(&one)).is_empty());
        assert!(one.server_name().is_none());
        assert!(cache.kept("a").is_some(), "what it is made of is remembered");
        assert_eq!(cache.len(), 0);
        for number in 0..2 * DESCRIPTIONS_MAX {
            let next = statement(&mut cache, &number.to_string());
            assert!(cache.insert(next).is_empty(), "there is nothing to be closed");
        }
        assert_eq!(cache.entries.len(), DESCRIPTIONS_MAX);
    }

    #[test]
    fn a_statement_that_left_is_known_to_be_gone() {
        let mut cache = cache_of(1);
        let (first, second) = (statement(&mut cache, "a"), statement(&mut cache, "b"));
        cache.insert(Arc::clone(&first));
        assert!(first.server_name().is_some());
        cache.insert(Arc::clone(&second));
        assert!(first.server_name().is_none() && second.server_name().is_some());
        cache.clear();
        assert!(second.server_name().is_none());
    }

    #[test]
    fn no_two_sessions_have_the_same_names() {
        let names = [0, 1].map(|_| cache_of(1).next_name());
        assert_ne!(names[0], names[1]);
    }

    #[test]
    fn preparing_the_same_text_again_closes_the_former() {
        let mut cache = cache_of(2);
        let first = statement(&mut cache, "a");
        let second = statement(&mut cache, "a");
        assert_ne!(first.name, second.name);
        cache.insert(Arc::clone(&first));
        assert_eq!(cache.insert(second).first().map(|s| s.name.clone()), Some(first.name.clone()));
    }

    #[test]
    fn a_long_text_uses_the_unnamed_statement() {
        let limits = CacheLimits { text_bytes: Some(3), ..CacheLimits::of_capacity(2) };
        let mut cache = StatementCache::new(limits);
        for (sql, is_kept) in [("abc", true), ("abcd", false), ("äb", true), ("äbc", false)] {
            let one = statement(&mut cache, sql);
            assert_eq!(one.name.is_empty(), !is_kept, "{sql}");
            cache.insert(one);
            assert_eq!(cache.kept(sql).is_some(), is_kept, "{sql}");
        }
    }

    #[test]
    fn an_old_statement_leaves_however_often_it_is_used() {
        let lifetime = Some(Duration::from_secs(300));
        let mut cache =
            StatementCache::new(CacheLimits { lifetime, ..CacheLimits::of_capacity(2) });
        let at = |seconds: u64| Duration::from_secs(1_000 + seconds);
        assert!(matches!(cache.find("a", 0, at(0)), Found::Nothing));
        let one = statement_since(&mut cache, "a", at(0));
        cache.insert(one);
        for seconds in [1, 299] {
            assert!(matches!(cache.find("a", 0, at(seconds)), Found::Kept(_)));
        }
        assert!(matches!(cache.find("b", 0, at(300)), Found::Nothing));
        assert!(matches!(cache.find("a", 0, at(300)), Found::Outdated { .. }));
        assert!(matches!(cache.find("a", 0, at(300)), Found::Nothing));
        // A clock that goes backwards makes no statement old.
        let two = statement_since(&mut cache, "a", at(300));
        cache.insert(two);
        assert!(matches!(cache.find("a", 0, at(0)), Found::Kept(_)));
    }

    #[test]
    fn only_the_statement_itself_is_removed() {
        let mut cache = cache_of(2);
        let kept = statement(&mut cache, "a");
        let other = statement(&mut cache, "a");
        cache.insert(Arc::clone(&kept));
        assert!(cache.remove(&other).is_none());
        assert!(cache.remove(&kept).is_some());
    }
}
