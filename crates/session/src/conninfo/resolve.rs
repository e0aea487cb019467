//! From option texts to one checked [`ConnInfo`].

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use colonnade_protocol::auth::AuthPolicy;

use super::error::ConnInfoError;
use super::secrecy;
use super::value::{
    Host, HostAddress, Keepalives, LoadBalanceHosts, ProtocolVersion, Secret, SslMode,
    SslNegotiation, TargetSessionAttrs, TlsVersion,
};
use super::{ConnInfo, Draft, Local};

const DEFAULT_PORT: u16 = 5432;

/// The accepted values, for error messages; the words themselves are defined by the protocol crate.
const CHANNEL_BINDING_EXPECTED: &str = "disable, prefer or require";
const REQUIRE_AUTH_EXPECTED: &str = "a list of different password, md5, gss, sspi, \
     scram-sha-256, oauth or none, separated by commas, all or none of them prefixed with \"!\"";

/// libpq options that this driver lacks, each with its harmless value. Other values are refused,
/// because most of these options make a connection safer.
const UNSUPPORTED: &[(&str, &str, &str)] = &[
    ("gssdelegation", "0", "credentials are never delegated"),
    ("oauth_client_id", "", "there is no OAuth authentication yet"),
    ("oauth_client_secret", "", "there is no OAuth authentication yet"),
    ("oauth_issuer", "", "there is no OAuth authentication yet"),
    ("oauth_scope", "", "there is no OAuth authentication yet"),
    ("requirepeer", "", "the owner of a Unix socket is not checked"),
    ("scram_client_key", "", "give the password"),
    ("scram_server_key", "", "give the password"),
    ("sslcertmode", "allow", "a client certificate is sent when there is one"),
    ("sslkeylogfile", "", "set the environment variable SSLKEYLOGFILE"),
];

pub(super) fn resolve(draft: &Draft, local: &Local) -> Result<ConnInfo, ConnInfoError> {
    refuse_unsupported(draft)?;
    let text = |name| draft.option(name).map(str::to_owned);
    let secret = |name| draft.option(name).map(|value| Secret::new(value.to_owned()));
    let user = text("user").or_else(|| local.user.clone()).filter(|user| !user.is_empty());
    let user = user.ok_or(ConnInfoError::NoUser)?;
    let database = text("dbname").unwrap_or_else(|| user.clone());
    let (hosts, hosts_are_default) = hosts(draft, local)?;
    let sslrootcert = text("sslrootcert");
    let sslnegotiation =
        word(draft, "sslnegotiation", SslNegotiation::from_word, SslNegotiation::EXPECTED)?
            .unwrap_or(SslNegotiation::Postgres);
    let (ssl_min_protocol_version, ssl_max_protocol_version) = tls_versions(draft)?;
    Ok(ConnInfo {
        hosts,
        hosts_are_default,
        user,
        password: secret("password"),
        database,
        passfile: text("passfile").or_else(|| local.passfile.clone()),
        service: text("service"),
        sslmode: sslmode(draft, sslrootcert.as_deref(), sslnegotiation)?,
        sslnegotiation,
        sslrootcert,
        sslcert: text("sslcert"),
        sslkey: text("sslkey"),
        sslpassword: secret("sslpassword"),
        sslcrl: text("sslcrl"),
        sslcrldir: text("sslcrldir"),
        sslsni: switch(draft, "sslsni")?.unwrap_or(true),
        ssl_min_protocol_version,
        ssl_max_protocol_version,
        auth: AuthPolicy {
            channel_binding: word(draft, "channel_binding", parsed, CHANNEL_BINDING_EXPECTED)?
                .unwrap_or_default(),
            require_auth: word(draft, "require_auth", parsed, REQUIRE_AUTH_EXPECTED)?
                .unwrap_or_default(),
        },
        target_session_attrs: word(
            draft,
            "target_session_attrs",
            TargetSessionAttrs::from_word,
            TargetSessionAttrs::EXPECTED,
        )?
        .unwrap_or(TargetSessionAttrs::Any),
        load_balance_hosts: word(
            draft,
            "load_balance_hosts",
            LoadBalanceHosts::from_word,
            LoadBalanceHosts::EXPECTED,
        )?
        .unwrap_or(LoadBalanceHosts::Disable),
        connect_timeout: connect_timeout(draft)?,
        keepalives: keepalives(draft)?,
        application_name: text("application_name").or_else(|| text("fallback_application_name")),
        options: text("options"),
        replication: text("replication"),
        min_protocol_version: protocol_version(draft, "min_protocol_version")?,
        max_protocol_version: protocol_version(draft, "max_protocol_version")?,
        krbsrvname: text("krbsrvname").unwrap_or_else(|| "postgres".to_owned()),
        gsslib: word(draft, "gsslib", gsslib, "gssapi or sspi")?,
        server_settings: server_settings(draft),
    })
}

fn refuse_unsupported(draft: &Draft) -> Result<(), ConnInfoError> {
    for (option, harmless, reason) in UNSUPPORTED {
        if draft.option(option).is_some_and(|value| value != *harmless) {
            return Err(ConnInfoError::Unsupported { option: (*option).to_owned(), reason });
        }
    }
    match draft.option("gssencmode") {
        None | Some("disable" | "prefer") => {}
        Some("require") => {
            return Err(ConnInfoError::Unsupported {
                option: "gssencmode=require".to_owned(),
                reason: "connections are encrypted with TLS only",
            });
        }
        Some(value) => return Err(invalid("gssencmode", value, "disable, prefer or require")),
    }
    match draft.option("client_encoding") {
        None => Ok(()),
        Some(name) if is_utf8(name) => Ok(()),
        Some(_) => Err(ConnInfoError::Unsupported {
            option: "client_encoding".to_owned(),
            reason: "the driver always uses UTF-8, which the server converts to and from the \
                     database's encoding",
        }),
    }
}

/// Whether the name is `auto` or one of the server's spellings of UTF-8.
fn is_utf8(name: &str) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let name: String = letters.map(|c| c.to_ascii_lowercase()).collect();
    matches!(name.as_str(), "utf8" | "unicode" | "auto")
}

fn invalid(option: &'static str, value: &str, expected: &'static str) -> ConnInfoError {
    ConnInfoError::InvalidValue { option, number: parsed(value.trim()), expected }
}

fn parsed<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn word<T>(
    draft: &Draft,
    option: &'static str,
    read: impl Fn(&str) -> Option<T>,
    expected: &'static str,
) -> Result<Option<T>, ConnInfoError> {
    let Some(value) = draft.option(option) else { return Ok(None) };
    read(value).map(Some).ok_or_else(|| invalid(option, value, expected))
}

fn switch(draft: &Draft, option: &'static str) -> Result<Option<bool>, ConnInfoError> {
    let read = |value: &str| match value {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    };
    word(draft, option, read, "0 or 1")
}

fn gsslib(value: &str) -> Option<String> {
    matches!(value, "gssapi" | "sspi").then(|| value.to_owned())
}

/// A whole number; negative numbers count as zero.
fn number(draft: &Draft, option: &'static str) -> Result<Option<u32>, ConnInfoError> {
    let read = |value: &str| {
        let number = value.trim().parse::<i32>().ok()?;
        Some(u32::try_from(number).unwrap_or(0))
    };
    word(draft, option, read, "a whole number")
}

fn connect_timeout(draft: &Draft) -> Result<Option<Duration>, ConnInfoError> {
    Ok(number(draft, "connect_timeout")?.map(|seconds| Duration::from_secs(seconds.into())))
}

fn keepalives(draft: &Draft) -> Result<Keepalives, ConnInfoError> {
    // Zero selects the operating system's value.
    let positive = |option| Ok(number(draft, option)?.filter(|number| *number > 0));
    let enabled = number(draft, "keepalives")?.is_none_or(|number| number > 0);
    Ok(Keepalives {
        enabled,
        idle_s: positive("keepalives_idle")?,
        interval_s: positive("keepalives_interval")?,
        count: positive("keepalives_count")?,
        user_timeout_ms: positive("tcp_user_timeout")?,
    })
}

fn protocol_version(
    draft: &Draft,
    option: &'static str,
) -> Result<Option<ProtocolVersion>, ConnInfoError> {
    word(draft, option, ProtocolVersion::from_word, ProtocolVersion::EXPECTED)
}

fn sslmode(
    draft: &Draft,
    sslrootcert: Option<&str>,
    negotiation: SslNegotiation,
) -> Result<SslMode, ConnInfoError> {
    let is_system = sslrootcert == Some("system");
    let default = if is_system { SslMode::VerifyFull } else { SslMode::Prefer };
    let mode = word(draft, "sslmode", SslMode::from_word, SslMode::EXPECTED)?.unwrap_or(default);
    if is_system && mode != SslMode::VerifyFull {
        return Err(ConnInfoError::WeakSslMode {
            mode: mode.as_str(),
            with: "sslrootcert=system",
            needs: "verify-full",
        });
    }
    if negotiation == SslNegotiation::Direct && mode < SslMode::Require {
        return Err(ConnInfoError::WeakSslMode {
            mode: mode.as_str(),
            with: "sslnegotiation=direct",
            needs: "require, verify-ca or verify-full",
        });
    }
    Ok(mode)
}

fn tls_versions(draft: &Draft) -> Result<(TlsVersion, Option<TlsVersion>), ConnInfoError> {
    let version = |option| {
        let read = |value: &str| {
            let versions = [TlsVersion::V1_0, TlsVersion::V1_1, TlsVersion::V1_2, TlsVersion::V1_3];
            versions.into_iter().find(|version| version.as_str().eq_ignore_ascii_case(value))
        };
        word(draft, option, read, TlsVersion::EXPECTED)
    };
    let lowest = version("ssl_min_protocol_version")?.unwrap_or(TlsVersion::V1_2);
    let highest = version("ssl_max_protocol_version")?;
    match highest {
        Some(highest) if highest < lowest => {
            Err(ConnInfoError::TlsVersions { lowest: lowest.as_str(), highest: highest.as_str() })
        }
        _ => Ok((lowest, highest)),
    }
}

fn server_settings(draft: &Draft) -> Vec<(String, String)> {
    let mut settings = BTreeMap::new();
    for layer in draft.layers().into_iter().rev() {
        settings.extend(layer.server_settings.clone());
    }
    // libpq's environment variables for settings are ignored when empty.
    settings.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

/// The hosts to try, and whether they are the default places.
fn hosts(draft: &Draft, local: &Local) -> Result<(Vec<Host>, bool), ConnInfoError> {
    let list = |option: &str| draft.option(option).map(|list| list.split(',').map(str::trim));
    let mut names: Vec<&str> = list("host").map(Iterator::collect).unwrap_or_default();
    let addresses: Vec<&str> = list("hostaddr").map(Iterator::collect).unwrap_or_default();
    if names.is_empty() {
        // An address without a name is a host, too.
        names.resize(addresses.len(), "");
    } else if !addresses.is_empty() && addresses.len() != names.len() {
        return Err(ConnInfoError::HostAddressCount {
            hosts: names.len(),
            addresses: addresses.len(),
        });
    }
    let hosts_are_default = names.is_empty();
    if hosts_are_default {
        names.push("");
    }
    let ports = ports(draft, names.len())?;
    let mut hosts = Vec::new();
    for (index, (name, port)) in names.into_iter().zip(ports).enumerate() {
        let numeric = addresses.get(index).copied().filter(|address| !address.is_empty());
        secrecy::check_host(name)?;
        numeric.map_or(Ok(()), secrecy::check_address)?;
        match (name, numeric) {
            ("", None) => hosts.extend(default_hosts(local, port)),
            ("", Some(address)) => hosts.push(host(address, port, None)),
            (name, numeric) => hosts.push(host(name, port, numeric)),
        }
    }
    Ok((hosts, hosts_are_default))
}

fn host(name: &str, port: u16, numeric: Option<&str>) -> Host {
    let is_unix = name.starts_with(['/', '@']);
    let address = if is_unix { HostAddress::Unix } else { HostAddress::Tcp };
    Host { address: address(name.to_owned()), port, numeric_address: numeric.map(str::to_owned) }
}

fn default_hosts(local: &Local, port: u16) -> impl Iterator<Item = Host> {
    let directories = local.socket_directories.iter();
    let sockets = directories.map(move |directory| host(directory, port, None));
    sockets.chain([host("localhost", port, None)])
}

/// One port for each host.
fn ports(draft: &Draft, hosts: usize) -> Result<Vec<u16>, ConnInfoError> {
    let Some(list) = draft.option("port") else { return Ok(vec![DEFAULT_PORT; hosts]) };
    let ports: Vec<u16> = list
        .split(',')
        .map(|port| match port.trim() {
            "" => Ok(DEFAULT_PORT),
            port => match port.parse() {
                Ok(0) | Err(_) => Err(invalid("port", port, "a number from 1 to 65535")),
                Ok(port) => Ok(port),
            },
        })
        .collect::<Result<_, _>>()?;
    match ports.as_slice() {
        [port] => Ok(vec![*port; hosts]),
        _ if ports.len() == hosts => Ok(ports),
        _ => Err(ConnInfoError::PortCount { hosts, ports: ports.len() }),
    }
}
