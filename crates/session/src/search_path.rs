//! The namespace in which the names of a statement are looked up: `search_path` and the role,
//! because `"$user"` is a part of the usual path.
//!
//! From PostgreSQL 18 on, the server reports `search_path`. From an older one, and for the role,
//! only the tag of SET and RESET is known, and the text: the same text leads to the same namespace.

use std::collections::HashMap;

/// With more namespaces than these, the numbers begin anew.
const NUMBERS_MAX: usize = 1_000;

#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct Place {
    path: String,
    role: String,
}

/// The present namespace, as a number; 0 is that of the session's start.
#[derive(Default)]
pub(crate) struct SearchPath {
    number: u64,
    here: Place,
    /// The path at the start; `None` if the server does not report it.
    reported: Option<String>,
    numbers: HashMap<Place, u64>,
    numbers_given: u64,
    /// Where the open transaction began, and where it leads if it commits.
    transaction: Option<(Place, Place)>,
    is_undone: bool,
    /// Whether ReadyForQuery has something to decide.
    pub(crate) is_unsettled: bool,
}

impl SearchPath {
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// Takes the server's report.
    pub(crate) fn take_report(&mut self, path: &str) {
        let start = self.reported.get_or_insert_with(|| path.to_owned());
        let path = if start == path { String::new() } else { path.to_owned() };
        self.go(Place { path, role: self.here.role.clone() });
    }

    /// Takes a SET or RESET that has ended. `sql` is the text with it; `None` if it is too long.
    pub(crate) fn take_command(&mut self, tag: &str, sql: Option<&str>) {
        let Some(sql) = sql else {
            let unknown = self.unknown();
            return self.take_value(Some(unknown.clone()), Some(unknown), false);
        };
        for piece in sql.split(';').map(str::trim) {
            let text = piece.to_ascii_uppercase();
            let has = |word: &str| text.contains(word);
            let last = text.rsplit(|c: char| c.is_whitespace() || c == '=').next();
            let is_reset = text.starts_with("RESET")
                || matches!(last, Some("DEFAULT" | "NONE"))
                || (tag == "RESET" && !text.starts_with("SET"));
            let value = || if is_reset { String::new() } else { piece.to_owned() };
            let sets_path = has("SEARCH_PATH") || has("SCHEMA") || text == "RESET ALL";
            let path = sets_path.then(value);
            let role = (has("ROLE") || has("AUTHORIZATION")).then(value);
            self.take_value(path, role, has("LOCAL"));
        }
    }

    fn take_value(&mut self, path: Option<String>, role: Option<String>, is_local: bool) {
        let path = path.filter(|_| self.reported.is_none());
        if path.is_none() && role.is_none() {
            return;
        }
        let place = Place {
            path: path.unwrap_or_else(|| self.here.path.clone()),
            role: role.unwrap_or_else(|| self.here.role.clone()),
        };
        let (_, on_commit) =
            self.transaction.get_or_insert_with(|| (self.here.clone(), self.here.clone()));
        if !is_local {
            on_commit.clone_from(&place);
        }
        self.is_unsettled = true;
        self.go(place);
    }

    /// Takes DISCARD ALL: the session is as at its start.
    pub(crate) fn discard(&mut self) {
        self.go(Place { path: self.path_after(String::new()), role: String::new() });
    }

    /// The path after a change that the server reports where it can.
    fn path_after(&self, path: String) -> String {
        if self.reported.is_some() { self.here.path.clone() } else { path }
    }

    /// A name for a namespace that is not known; no other has it.
    fn unknown(&mut self) -> String {
        self.numbers_given += 1;
        format!("\0{}", self.numbers_given)
    }

    /// Takes note of a ROLLBACK, of a transaction or to a savepoint.
    pub(crate) const fn roll_back(&mut self) {
        self.is_undone = self.transaction.is_some();
    }

    /// Decides at ReadyForQuery where the session is.
    pub(crate) fn settle(&mut self, is_over: bool, has_failed: bool) {
        let is_undone = std::mem::take(&mut self.is_undone);
        if is_over {
            self.is_unsettled = false;
            if let Some((before, on_commit)) = self.transaction.take() {
                let place = if is_undone || has_failed { before } else { on_commit };
                self.go(Place { path: self.path_after(place.path), role: place.role });
            }
        } else if is_undone {
            // Back to a savepoint: to one of the places since the transaction began.
            let unknown = self.unknown();
            self.go(Place { path: self.path_after(unknown.clone()), role: unknown });
        }
    }

    fn go(&mut self, place: Place) {
        if place == self.here {
            return;
        }
        if place == Place::default() {
            self.number = 0;
        } else if let Some(number) = self.numbers.get(&place) {
            self.number = *number;
        } else {
            if self.numbers.len() >= NUMBERS_MAX {
                self.numbers.clear();
            }
            self.numbers_given += 1;
            self.number = self.numbers_given;
            self.numbers.insert(place.clone(), self.number);
        }
        self.here = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(path: &mut SearchPath, sql: &str) {
        path.take_command(sql.split(' ').next().unwrap_or_default(), Some(sql));
    }

    #[test]
    fn a_reported_path_has_a_number() {
        let mut path = SearchPath::default();
        let numbers: Vec<u64> = ["public", "a", "b", "public", "a", "b"]
            .into_iter()
            .map(|value| {
                path.take_report(value);
                path.number()
            })
            .collect();
        assert_eq!(numbers[3..], numbers[..3]);
        assert_eq!(numbers[0], 0);
        assert_ne!(numbers[1], numbers[2]);
        set(&mut path, "SET search_path = c");
        assert_eq!(path.number(), numbers[2], "the server's report tells it");
    }

    #[test]
    fn an_older_server_tells_it_by_the_text() {
        let mut path = SearchPath::default();
        set(&mut path, "SET work_mem = 64");
        assert!(!path.is_unsettled);
        set(&mut path, "SET LOCAL search_path = a");
        let local = path.number();
        assert_ne!(local, 0);
        path.settle(false, false);
        assert_eq!(path.number(), local);
        path.settle(true, false);
        assert_eq!(path.number(), 0, "SET LOCAL ends with the transaction");
        set(&mut path, "SET LOCAL search_path = a");
        path.settle(true, false);
        set(&mut path, "SET search_path = b");
        path.settle(true, false);
        let lasting = path.number();
        assert!(lasting != 0 && lasting != local);
        set(&mut path, "SET search_path = c");
        path.roll_back();
        path.settle(true, false);
        assert_eq!(path.number(), lasting, "a rollback undoes SET");
        set(&mut path, "CLOSE ALL; RESET ALL; SET SESSION AUTHORIZATION DEFAULT");
        path.settle(true, false);
        assert_eq!(path.number(), 0);
        set(&mut path, "SET search_path = default_tenant");
        path.settle(true, false);
        assert_ne!(path.number(), 0);
        path.discard();
        assert_eq!(path.number(), 0);
    }

    #[test]
    fn the_role_is_a_part_of_the_path() {
        let mut path = SearchPath::default();
        path.take_report("\"$user\", public");
        set(&mut path, "SET ROLE other");
        path.settle(true, false);
        assert_ne!(path.number(), 0);
        set(&mut path, "RESET ROLE");
        path.settle(true, false);
        assert_eq!(path.number(), 0);
        // A text that is not known leads nowhere twice.
        path.take_command("SET", None);
        let first = path.number();
        path.take_command("SET", None);
        assert_ne!(path.number(), first);
    }
}
