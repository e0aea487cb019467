//! The names of options, and the treatment of other names.
//!
//! A name that is not an option is a *server setting*, sent in the startup message: the server
//! knows whether the setting exists. Names that nearly match an option are refused, because the
//! server would report a misspelt `sslmode` only once the connection was made without TLS.

use std::collections::BTreeMap;

use super::environment::option_of_variable;
use super::error::ConnInfoError;
use super::secrecy;

/// The options, sorted. Most are libpq's.
pub(super) const OPTIONS: &[&str] = &[
    "application_name",
    "channel_binding",
    "client_encoding",
    "connect_timeout",
    "dbname",
    "fallback_application_name",
    "gssdelegation",
    "gssencmode",
    "gsslib",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "krbsrvname",
    "load_balance_hosts",
    "max_protocol_version",
    "min_protocol_version",
    "oauth_client_id",
    "oauth_client_secret",
    "oauth_issuer",
    "oauth_scope",
    "options",
    "passfile",
    "password",
    "port",
    "replication",
    "require_auth",
    "requirepeer",
    "scram_client_key",
    "scram_server_key",
    "service",
    "servicefile",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslcert",
    "sslcertmode",
    "sslcompression",
    "sslcrl",
    "sslcrldir",
    "sslkey",
    "sslkeylogfile",
    "sslmode",
    "sslnegotiation",
    "sslpassword",
    "sslrootcert",
    "sslsni",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
];

/// Settings of a session that clients set, sorted, in lower case.
const SERVER_SETTINGS: &[&str] = &[
    "array_nulls",
    "backslash_quote",
    "backtrace_functions",
    "bytea_output",
    "check_function_bodies",
    "client_connection_check_interval",
    "client_min_messages",
    "commit_delay",
    "constraint_exclusion",
    "cpu_index_tuple_cost",
    "cpu_operator_cost",
    "cpu_tuple_cost",
    "cursor_tuple_fraction",
    "datestyle",
    "deadlock_timeout",
    "debug_print_plan",
    "default_statistics_target",
    "default_table_access_method",
    "default_tablespace",
    "default_text_search_config",
    "default_toast_compression",
    "default_transaction_deferrable",
    "default_transaction_isolation",
    "default_transaction_read_only",
    "effective_cache_size",
    "effective_io_concurrency",
    "enable_bitmapscan",
    "enable_hashagg",
    "enable_hashjoin",
    "enable_indexonlyscan",
    "enable_indexscan",
    "enable_material",
    "enable_memoize",
    "enable_mergejoin",
    "enable_nestloop",
    "enable_parallel_append",
    "enable_parallel_hash",
    "enable_partitionwise_aggregate",
    "enable_partitionwise_join",
    "enable_seqscan",
    "enable_sort",
    "exit_on_error",
    "extra_float_digits",
    "force_parallel_mode",
    "from_collapse_limit",
    "geqo",
    "geqo_threshold",
    "gin_fuzzy_search_limit",
    "hash_mem_multiplier",
    "idle_in_transaction_session_timeout",
    "idle_session_timeout",
    "intervalstyle",
    "jit",
    "jit_above_cost",
    "join_collapse_limit",
    "lc_messages",
    "lc_monetary",
    "lc_numeric",
    "lc_time",
    "lock_timeout",
    "log_min_duration_statement",
    "log_min_messages",
    "log_statement",
    "logical_decoding_work_mem",
    "maintenance_work_mem",
    "max_parallel_maintenance_workers",
    "max_parallel_workers",
    "max_parallel_workers_per_gather",
    "parallel_leader_participation",
    "parallel_setup_cost",
    "parallel_tuple_cost",
    "plan_cache_mode",
    "quote_all_identifiers",
    "random_page_cost",
    "role",
    "row_security",
    "search_path",
    "seq_page_cost",
    "session_replication_role",
    "standard_conforming_strings",
    "statement_timeout",
    "synchronous_commit",
    "temp_buffers",
    "temp_tablespaces",
    "timezone",
    "timezone_abbreviations",
    "track_activities",
    "track_io_timing",
    "transaction_timeout",
    "vacuum_cost_delay",
    "wal_compression",
    "wal_sender_timeout",
    "work_mem",
    "xmlbinary",
    "xmloption",
    "zero_damaged_pages",
];

/// Arguments of `connect()` and `create_pool()` that people try to put into a DSN.
const ARGUMENTS: &[&str] = &[
    "command_timeout",
    "direct_tls",
    "init",
    "max_cacheable_statement_size",
    "max_cached_statement_lifetime",
    "max_size",
    "min_size",
    "setup",
    "statement_cache_size",
    "timeout",
];

/// Names of options in other programs.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("db", "dbname"),
    ("hostname", "host"),
    ("pass", "password"),
    ("passphrase", "password"),
    ("passwd", "password"),
    ("pw", "password"),
    ("pwd", "password"),
    ("schema", "search_path"),
    ("server", "host"),
    ("ssl", "sslmode"),
    ("username", "user"),
];

/// The options of one source. Later entries override earlier ones.
#[derive(Default)]
pub(super) struct Layer {
    options: BTreeMap<&'static str, String>,
    /// By names in lower case, as the server compares them.
    pub(super) server_settings: BTreeMap<String, String>,
}

impl Layer {
    /// Sorts names into options and server settings.
    pub(super) fn from_pairs(pairs: Vec<(String, String)>) -> Result<Self, ConnInfoError> {
        let mut layer = Self::default();
        let mut is_after_password = false;
        for (name, value) in pairs {
            if let Some(option) = option_called(&name) {
                secrecy::check_value(Some(option), true, &value)?;
                is_after_password = matches!(option, "password" | "sslpassword");
                layer.options.insert(option, value);
                continue;
            }
            if !secrecy::is_name(&name) {
                return Err(ConnInfoError::NotAName);
            }
            if let Some(error) = refusal(&name, is_after_password) {
                return Err(error);
            }
            secrecy::check_value(None, is_known_setting(&name), &value)?;
            is_after_password = false;
            layer.set(&name, value)?;
        }
        Ok(layer)
    }

    /// Adds the caller's explicit server settings: any name that is not one of the driver's own.
    pub(super) fn add_server_settings(
        &mut self,
        settings: &[(String, String)],
    ) -> Result<(), ConnInfoError> {
        for (name, value) in settings {
            if name.contains('\0') || value.contains('\0') {
                return Err(ConnInfoError::NulInValue { option: None });
            }
            self.set(name, value.clone())?;
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), ConnInfoError> {
        let name = name.to_ascii_lowercase();
        match name.as_str() {
            // Settings that are options as well must be given as options.
            "application_name" | "client_encoding" | "options" | "replication" => {
                if let Some(option) = option_called(&name) {
                    self.options.insert(option, value);
                }
            }
            "" | "database" | "user" => return Err(ConnInfoError::ReservedSetting { name }),
            reserved if reserved.starts_with("_pq_.") => {
                return Err(ConnInfoError::ReservedSetting { name });
            }
            _ => {
                self.server_settings.insert(name, value);
            }
        }
        Ok(())
    }

    /// The value of an option, even if empty.
    pub(super) fn option(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }
}

fn option_called(name: &str) -> Option<&'static str> {
    match name {
        "database" => Some("dbname"),
        _ => find(OPTIONS, name),
    }
}

/// The option that a name in lower case means, here, as a variable or in other programs.
pub(super) fn names_option(name: &str) -> Option<&'static str> {
    let other = || OTHER_NAMES.iter().find(|(other, _)| *other == name).map(|(_, option)| *option);
    option_called(name).or_else(|| option_of_variable(name)).or_else(other)
}

fn find(names: &[&'static str], name: &str) -> Option<&'static str> {
    names.binary_search(&name).ok().and_then(|index| names.get(index)).copied()
}

/// Whether the name certainly belongs to a setting.
fn is_known_setting(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    name.contains('.') || find(SERVER_SETTINGS, &lower).is_some()
}

/// The reason why a name that is not an option cannot be a setting either.
fn refusal(name: &str, is_after_password: bool) -> Option<ConnInfoError> {
    if is_known_setting(name) {
        return None;
    }
    if let Some(name) = find(ARGUMENTS, name) {
        return Some(ConnInfoError::ArgumentInDsn { name });
    }
    if is_after_password {
        return Some(ConnInfoError::UnknownOptionAfterPassword);
    }
    let suggestion = suggestion_for(name)?;
    Some(ConnInfoError::UnknownOption { name: name.to_owned(), suggestion })
}

/// The option that a name most likely misspells, if any.
///
/// Two letters may be wrong, one in a short name. More would refuse settings of the server, such as
/// `tcp_keepalives_idle` for `keepalives_idle`.
fn suggestion_for(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    if let Some(option) = names_option(&lower) {
        return Some(option);
    }
    // Longer texts are no misspelt names, and would cost time.
    if lower.len() > 64 {
        return None;
    }
    let nearest = OPTIONS.iter().map(|known| (edit_distance(&lower, known), *known)).min()?;
    (nearest.0 <= if lower.len() < 6 { 1 } else { 2 }).then_some(nearest.1)
}

/// The number of insertions, deletions, replacements and swaps of neighbours between the two.
fn edit_distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut two_back: Vec<usize> = Vec::new();
    let mut previous: Vec<usize> = (0..=to.len()).collect();
    let mut last = None;
    for (row, c) in from.chars().enumerate() {
        let mut current = vec![row + 1];
        let mut left = row + 1;
        let mut left_char = None;
        for (column, &d) in to.iter().enumerate() {
            let at =
                |line: &[usize], column: usize| line.get(column).copied().unwrap_or(usize::MAX);
            let replaced = at(&previous, column) + usize::from(c != d);
            let mut best = replaced.min(left + 1).min(at(&previous, column + 1) + 1);
            if last == Some(d) && left_char == Some(c) && column > 0 {
                best = best.min(at(&two_back, column - 1) + 1);
            }
            current.push(best);
            left = best;
            left_char = Some(d);
        }
        two_back = std::mem::replace(&mut previous, current);
        last = Some(c);
    }
    previous.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(name: &str) -> Result<Layer, ConnInfoError> {
        Layer::from_pairs(vec![(name.to_owned(), "v".to_owned())])
    }

    #[test]
    fn tables_are_sorted() {
        assert!(OPTIONS.is_sorted());
        assert!(SERVER_SETTINGS.is_sorted());
        assert!(ARGUMENTS.is_sorted());
    }

    #[test]
    fn options_and_settings() {
        assert_eq!(layer("database").unwrap().option("dbname"), Some("v"));
        assert_eq!(layer("user").unwrap().option("user"), Some("v"));
        for name in ["search_path", "TimeZone", "myapp.user_id", "work_mem", "qwertyuiop"] {
            let layer = layer(name).unwrap();
            assert_eq!(layer.server_settings[&name.to_ascii_lowercase()], "v");
        }
    }

    #[test]
    fn misspelt_options_get_a_suggestion() {
        for (name, suggestion) in [
            ("sslmod", "sslmode"),
            ("ssl_mode", "sslmode"),
            ("SSLMODE", "sslmode"),
            ("hots", "host"),
            ("username", "user"),
            ("usr", "user"),
            ("aplication_name", "application_name"),
            ("target_sesion_atrs", "target_session_attrs"),
            ("ssl", "sslmode"),
        ] {
            let expected = ConnInfoError::UnknownOption { name: name.to_owned(), suggestion };
            assert_eq!(layer(name).err(), Some(expected), "{name}");
        }
        assert_eq!(
            layer("sslmod").err().unwrap().to_string(),
            "unknown connection option \"sslmod\", did you mean \"sslmode\"?"
        );
        assert!(matches!(layer("timeout"), Err(ConnInfoError::ArgumentInDsn { name: "timeout" })));
    }

    #[test]
    fn a_name_behind_a_password_is_not_shown() {
        let pairs = [("password", "a"), ("secret", "b")];
        let pairs = pairs.map(|(n, v)| (n.to_owned(), v.to_owned())).to_vec();
        let error = Layer::from_pairs(pairs).err().unwrap();
        assert_eq!(error, ConnInfoError::UnknownOptionAfterPassword);
        assert!(!error.to_string().contains("secret"));
    }

    #[test]
    fn the_callers_own_settings() {
        let mut layer = Layer::default();
        let settings = [("Anything", "1"), ("application_name", "a")];
        let settings = settings.map(|(n, v)| (n.to_owned(), v.to_owned()));
        layer.add_server_settings(&settings).unwrap();
        assert_eq!(layer.server_settings["anything"], "1");
        assert_eq!(layer.option("application_name"), Some("a"));
        for name in ["user", "database", "_pq_.x", ""] {
            let settings = [(name.to_owned(), "x".to_owned())];
            assert!(layer.add_server_settings(&settings).is_err(), "{name}");
        }
    }

    #[test]
    fn distances() {
        for (from, to, distance) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("", "abc", 3),
            ("abc", "acb", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(edit_distance(from, to), distance, "{from} {to}");
        }
    }
}
