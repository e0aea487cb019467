//! The environment variables of connection options; libpq's names.

use super::error::ConnInfoError;
use super::options::Layer;

const VARIABLES: &[(&str, &str)] = &[
    ("PGHOST", "host"),
    ("PGHOSTADDR", "hostaddr"),
    ("PGPORT", "port"),
    ("PGDATABASE", "dbname"),
    ("PGUSER", "user"),
    ("PGPASSWORD", "password"),
    ("PGPASSFILE", "passfile"),
    ("PGSERVICE", "service"),
    ("PGSERVICEFILE", "servicefile"),
    ("PGREQUIREAUTH", "require_auth"),
    ("PGCHANNELBINDING", "channel_binding"),
    ("PGOPTIONS", "options"),
    ("PGAPPNAME", "application_name"),
    ("PGSSLMODE", "sslmode"),
    ("PGSSLNEGOTIATION", "sslnegotiation"),
    ("PGSSLCOMPRESSION", "sslcompression"),
    ("PGSSLCERT", "sslcert"),
    ("PGSSLKEY", "sslkey"),
    ("PGSSLCERTMODE", "sslcertmode"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGSSLCRL", "sslcrl"),
    ("PGSSLCRLDIR", "sslcrldir"),
    ("PGSSLSNI", "sslsni"),
    ("PGREQUIREPEER", "requirepeer"),
    ("PGSSLMINPROTOCOLVERSION", "ssl_min_protocol_version"),
    ("PGSSLMAXPROTOCOLVERSION", "ssl_max_protocol_version"),
    ("PGMINPROTOCOLVERSION", "min_protocol_version"),
    ("PGMAXPROTOCOLVERSION", "max_protocol_version"),
    ("PGGSSENCMODE", "gssencmode"),
    ("PGGSSLIB", "gsslib"),
    ("PGKRBSRVNAME", "krbsrvname"),
    ("PGCONNECT_TIMEOUT", "connect_timeout"),
    ("PGTARGETSESSIONATTRS", "target_session_attrs"),
    ("PGLOADBALANCEHOSTS", "load_balance_hosts"),
    // These become server settings, as in libpq. PGCLIENTENCODING does not: it concerns terminal
    // programs, and this driver always uses UTF-8.
    ("PGDATESTYLE", "datestyle"),
    ("PGTZ", "timezone"),
    ("PGGEQO", "geqo"),
];

/// The option that a variable sets, for a DSN in which the variable's name stands.
pub(super) fn option_of_variable(name: &str) -> Option<&'static str> {
    let found = VARIABLES.iter().find(|(variable, _)| variable.eq_ignore_ascii_case(name));
    found.map(|(_, option)| *option)
}

/// The options set by the environment.
pub(super) fn layer(environment: &impl Fn(&str) -> Option<String>) -> Result<Layer, ConnInfoError> {
    let pairs = VARIABLES.iter().filter_map(|(variable, option)| {
        environment(variable).map(|value| ((*option).to_owned(), value))
    });
    Layer::from_pairs(pairs.collect())
}
