//! All that a session remembers about statements and types, and the events that end it.
//!
//! The rule, which every door of the driver follows because it asks here:
//!
//! - Each description belongs to an *epoch*. The epoch ends when this session runs a command that
//!   creates, alters or drops something (by its tag), when a transaction with such a command ends
//!   (its objects may go with it), and when another session with the same catalog reports a change.
//!   A statement of an earlier epoch, the cache's or the owner's, is described anew before its
//!   next use.
//! - A statement is kept for the `search_path` and the role under which it was prepared
//!   ([`SearchPath`]): under others, its names may mean other objects.
//! - A refusal of a statement before it ran, of a class that an outdated description causes, ends
//!   that statement ([`verdict`]). The owner may repeat it once, where no transaction is lost.
//! - Types are those of one cluster and database (`exchange/identify.rs`). Within a transaction
//!   that has altered something, they are this session's alone: no other can see them yet.
//! - A change that another program makes unseen is known after the lifetime of the cache's limits:
//!   a statement is as old as the oldest of its description and its types, and a type has an age
//!   of its own, which counts for every statement that needs it (`Types::missing`).
//! - A string whose type the server infers from its place is never declared with that type: its
//!   statement is sent with each query (`unkept`), unless a cast in the text settles the type.

use colonnade_columnar::{Catalog, Types};
use colonnade_protocol::backend::TransactionStatus;

use crate::search_path::SearchPath;
use crate::statement::StatementCache;
use crate::{CacheLimits, Error, Statement};

/// Where and when a statement is described.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) namespace: u64,
    pub(crate) epoch: u64,
}

/// The session's knowledge of statements and types.
pub(crate) struct Knowledge {
    pub(crate) statements: StatementCache,
    /// The types as this connection sees them.
    pub(crate) types: Types,
    pub(crate) path: SearchPath,
    /// Grows with each event that outdates the knowledge.
    epoch: u64,
    changes: Changes,
    /// Whether a command since the last DISCARD TEMP may have made temporary objects.
    may_have_temporary: bool,
}

/// The commands of the open transaction, or of the exchange under way, that change the database.
#[derive(Default)]
struct Changes {
    /// One of them since the last ReadyForQuery, or a rollback after one.
    is_new: bool,
    /// One of them creates, alters or drops.
    has_any: bool,
    /// One of them may have altered or dropped what others know.
    has_altered: bool,
    /// The last end of a transaction was a rollback, or that of a savepoint.
    is_undone: bool,
    /// A part of the exchange under way was committed.
    is_committed: bool,
}

/// The effect of a command, by its tag, on the knowledge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Effect {
    None,
    Creates,
    Alters,
    Sets,
    Commits,
    RollsBack,
    DropsTemporary,
}

/// The running statement, as far as its exchange can tell.
#[derive(Clone, Copy)]
pub(crate) struct Told<'a> {
    /// Its text, or that of a script; `None` if it is too long to be kept.
    pub(crate) sql: Option<&'a str>,
    /// Whether its result has columns.
    pub(crate) has_columns: bool,
}

impl Told<'_> {
    /// A query of the driver's own.
    pub(crate) const OWN: Told<'static> = Told { sql: None, has_columns: true };
}

impl Knowledge {
    pub(crate) fn new(limits: CacheLimits, catalog: Catalog) -> Self {
        Self {
            statements: StatementCache::new(limits),
            types: Types::new(catalog, limits.lifetime),
            path: SearchPath::default(),
            epoch: 0,
            changes: Changes::default(),
            may_have_temporary: false,
        }
    }

    /// The present epoch.
    pub(crate) fn epoch(&mut self) -> u64 {
        if self.types.is_outdated() {
            self.epoch += 1;
        }
        self.epoch
    }

    /// Outdates all that is known about statements.
    pub(crate) fn end_epoch(&mut self) {
        self.epoch += 1;
    }

    /// Where and when something is described now.
    pub(crate) fn place(&mut self) -> Place {
        Place { namespace: self.path.number(), epoch: self.epoch() }
    }

    /// Whether an owner's statement may mean something else than when it was described. The cache
    /// tells the same of its own ([`StatementCache::find`]).
    pub(crate) fn is_outdated(&mut self, statement: &Statement) -> bool {
        statement.epoch != self.epoch()
            || statement.namespace != self.path.number()
            || self.types.is_too_old(statement.since)
            || statement.is_spent()
    }

    /// Forgets the types of a statement, here and for all that share them.
    pub(crate) fn forget_types_of(&mut self, statement: &Statement) {
        for pg_type in statement.user_types() {
            self.types.catalog().forget(pg_type);
        }
    }

    /// Takes note of a command's end.
    pub(crate) fn note_tag<'a>(&mut self, tag: &str, told: impl Fn() -> Told<'a>) {
        match effect(tag) {
            Effect::None => {}
            // CREATE TABLE AS and SELECT INTO.
            Effect::Creates if tag.starts_with("SELECT") && told().has_columns => {}
            Effect::Creates => {
                self.may_have_temporary = true;
                self.changes.make(false);
            }
            Effect::Alters => {
                self.may_have_temporary = true;
                self.changes.make(true);
            }
            // A pool sends it with every release.
            Effect::DropsTemporary => {
                if std::mem::take(&mut self.may_have_temporary) {
                    self.changes.make(true);
                }
            }
            Effect::Sets => self.path.take_command(tag, told().sql),
            Effect::Commits => {
                self.changes.is_undone = false;
                self.changes.is_committed = self.changes.has_any;
            }
            Effect::RollsBack => {
                self.changes.is_undone = true;
                self.changes.is_new |= self.changes.has_any;
                self.path.roll_back();
            }
        }
    }

    /// Takes note of ReadyForQuery: the commands have taken effect.
    pub(crate) fn note_ready(&mut self, status: TransactionStatus, has_failed: bool) {
        let is_over = status == TransactionStatus::Idle;
        if self.path.is_unsettled {
            self.path.settle(is_over, has_failed);
        }
        if !self.changes.has_any {
            self.changes.is_undone = false;
            return;
        }
        if !is_over {
            self.changes.is_undone = false;
            if std::mem::take(&mut self.changes.is_new) {
                self.end_epoch();
                if self.changes.has_altered {
                    self.types.go_private();
                }
            }
            return;
        }
        self.end_epoch();
        let changes = std::mem::take(&mut self.changes);
        let is_kept = changes.is_committed || !changes.is_undone;
        self.types.leave_private(is_kept && changes.has_altered);
    }
}

impl Changes {
    fn make(&mut self, alters: bool) {
        self.is_new = true;
        self.has_any = true;
        self.has_altered |= alters;
    }
}

fn effect(tag: &str) -> Effect {
    let is = |word: &str| tag.starts_with(word);
    match tag.bytes().next() {
        Some(b'S') if is("SELECT") => Effect::Creates,
        Some(b'S') if tag == "SET" => Effect::Sets,
        Some(b'R') if tag == "RESET" => Effect::Sets,
        Some(b'R') if tag == "ROLLBACK" => Effect::RollsBack,
        Some(b'C') if is("CREATE") => Effect::Creates,
        Some(b'C') if tag == "COMMIT" => Effect::Commits,
        // Of a transaction that another connection may have prepared.
        Some(b'C') if tag == "COMMIT PREPARED" => Effect::Alters,
        Some(b'I') if is("IMPORT") => Effect::Creates,
        Some(b'A') if is("ALTER") => Effect::Alters,
        Some(b'D') if is("DROP") || tag == "DO" => Effect::Alters,
        Some(b'D') if tag == "DISCARD TEMP" => Effect::DropsTemporary,
        _ => Effect::None,
    }
}

/// The meaning of an error for the description of its statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Nothing.
    None,
    /// The description is no longer of use, but a new one would fail alike.
    Forget,
    /// A new description may do.
    Outdated,
}

/// Judges the server's refusal of a statement before it ran.
pub(crate) fn verdict(error: &Error) -> Verdict {
    let Error::Server(fields) = error else { return Verdict::None };
    let Some(code) = fields.code() else { return Verdict::None };
    match code {
        // A table, column or schema is missing now, and may be another one when it is back.
        "42P01" | "42703" | "3F000" => Verdict::Forget,
        // Another function, operator or cast is needed; a type is missing; the result has another
        // shape; the server has forgotten the statement; it has another number of columns.
        "42883" | "42725" | "42804" | "42846" | "42P08" | "42P18" | "42704" | "0A000" | "26000"
        | "08P01" => Verdict::Outdated,
        // The type of a parameter was dropped. These messages are never translated.
        "XX000" => {
            let text = fields.message().unwrap_or_default();
            if text.starts_with("cache lookup failed") { Verdict::Outdated } else { Verdict::None }
        }
        // An argument is no value of the type.
        "22P02" | "22P03" | "22003" | "22007" | "22008" | "22023" => Verdict::Outdated,
        _ => Verdict::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Knowledge {
        Knowledge::new(CacheLimits::of_capacity(9), Catalog::default())
    }

    fn run(known: &mut Knowledge, tags: &[&str], status: TransactionStatus) {
        for tag in tags {
            known.note_tag(tag, || Told { sql: Some(""), has_columns: true });
        }
        known.note_ready(status, false);
    }

    #[test]
    fn a_command_that_changes_the_database_ends_the_epoch() {
        use TransactionStatus::{Idle, InTransaction};
        let mut known = known();
        for tag in
            ["SELECT 1", "INSERT 0 1", "BEGIN", "COMMIT", "ROLLBACK", "DISCARD PLANS", "DELETE 1"]
        {
            run(&mut known, &[tag], Idle);
        }
        assert_eq!(known.epoch(), 0);
        run(&mut known, &["DISCARD TEMP"], Idle);
        assert_eq!(known.epoch(), 0, "no command made anything temporary");
        run(&mut known, &["CREATE TABLE"], Idle);
        run(&mut known, &["DISCARD TEMP"], Idle);
        run(&mut known, &["DISCARD TEMP"], Idle);
        assert_eq!(known.epoch(), 2);
        for tag in ["ALTER TYPE", "DROP TABLE", "CREATE TABLE", "DO"] {
            let before = known.epoch();
            run(&mut known, &[tag], Idle);
            assert_eq!(known.epoch(), before + 1, "{tag}");
            run(&mut known, &["SELECT 1"], Idle);
            assert_eq!(known.epoch(), before + 1, "{tag}: once");
            // In a transaction: now, with a savepoint's rollback, and at the end.
            run(&mut known, &["BEGIN", tag], InTransaction);
            run(&mut known, &["SELECT 1"], InTransaction);
            run(&mut known, &["ROLLBACK"], InTransaction);
            run(&mut known, &["COMMIT"], Idle);
            assert_eq!(known.epoch(), before + 4, "{tag}: in a transaction");
        }
    }

    #[test]
    fn select_into_creates_a_table() {
        let mut known = known();
        known.note_tag("SELECT 5", || Told { sql: None, has_columns: false });
        known.note_ready(TransactionStatus::Idle, false);
        assert_eq!(known.epoch(), 1);
    }

    #[test]
    fn another_sessions_change_ends_the_epoch() {
        let catalog = Catalog::default();
        let mut one = Knowledge::new(CacheLimits::of_capacity(9), catalog.clone());
        let mut other = Knowledge::new(CacheLimits::of_capacity(9), catalog);
        run(&mut one, &["BEGIN", "ALTER TYPE"], TransactionStatus::InTransaction);
        assert_eq!(other.epoch(), 0, "nobody else can see it yet");
        run(&mut one, &["ROLLBACK"], TransactionStatus::Idle);
        assert_eq!(other.epoch(), 0, "it has not happened");
        run(&mut one, &["BEGIN", "ALTER TYPE"], TransactionStatus::InTransaction);
        run(&mut one, &["ROLLBACK"], TransactionStatus::InTransaction);
        run(&mut one, &["COMMIT"], TransactionStatus::Idle);
        assert_eq!(
            (other.epoch(), other.epoch()),
            (1, 1),
            "a savepoint's rollback leaves the rest"
        );
        run(
            &mut one,
            &["BEGIN", "ALTER TYPE", "COMMIT", "BEGIN", "ROLLBACK"],
            TransactionStatus::Idle,
        );
        assert_eq!(other.epoch(), 2);
    }
}
