//! Connection options, read and converted to their other form.

use super::mistaken_dsn::mistaken_dsn;
use crate::conninfo::{ConnInfo, ConnInfoError, Draft, Local, parse_dsn, password_for};

/// Reads a DSN, the text of a service file and that of a password file, separated by zero bytes.
/// Any input is read or refused without a panic. A DSN means the same in either form,
/// and a mistake in it sends its password nowhere.
pub fn conninfo(data: &[u8]) {
    mistaken_dsn(data);
    let text = String::from_utf8_lossy(data);
    let mut texts = text.split('\0');
    let dsn = texts.next().unwrap_or_default();
    let (services, passwords) = (texts.next().unwrap_or(dsn), texts.next().unwrap_or(dsn));
    let told = resolved(dsn, services);
    if let Ok(told) = &told {
        let _ = (format!("{told:?}"), told.clone());
        assert!(!told.hosts.is_empty());
        for host in &told.hosts {
            let _ = password_for(passwords.as_bytes(), host, &told.database, &told.user);
        }
    }
    let Ok(options) = parse_dsn(dsn) else { return };
    for other in [pairs(&options), uri(&options)].into_iter().flatten() {
        assert_eq!(parse_dsn(&other).as_ref(), Ok(&options), "{dsn} as {other}");
        assert_eq!(resolved(&other, services).ok(), told.as_ref().ok().cloned(), "{dsn}, {other}");
    }
}

/// Seeds for `conninfo`: DSNs followed by the two files.
pub fn conninfo_seeds() -> Vec<Vec<u8>> {
    let services = "[production]\nhost=db.example\nport=5433\n# a comment\nsslmode=require\n";
    let passwords = "*:*:*:ada:secret\ndb.example:5433:engine:ada:a\\:b\\\\c\n";
    let dsns = [
        "",
        "postgresql://ada:love%20lace@localhost:5432,[::1]:5433/engine?sslmode=verify-full",
        "postgres:///engine?host=/tmp&options=-c%20geqo%3Doff&application_name=x",
        "host=localhost,db.example port=5432,5433 user=ada password='it\\'s' dbname=engine",
        "service=production user=ada dbname=engine require_auth=scram-sha-256",
        "hostaddr=127.0.0.1,::1 host=a,b target_session_attrs=read-write connect_timeout=3",
        "sslnegotiation=direct sslmode=require channel_binding=require keepalives_idle=10",
    ];
    dsns.iter().map(|dsn| [dsn, services, passwords].join("\0").into_bytes()).collect()
}

pub(super) fn resolved(dsn: &str, services: &str) -> Result<ConnInfo, ConnInfoError> {
    let local = Local::unix(Some("ada".to_owned()), Some("/home"));
    let mut draft = Draft::new(&[], &[], Some(dsn), &|_| None)?;
    if let Some(request) = draft.service(&local) {
        let files: Vec<_> =
            request.files.iter().map(|file| (file.clone(), services.to_owned())).collect();
        draft.add_service(&request, &files)?;
    }
    draft.finish(&local)
}

/// The options as keyword=value pairs; `None` if a name cannot be a keyword.
fn pairs(options: &[(String, String)]) -> Option<String> {
    let pair = |(name, value): &(String, String)| {
        let is_keyword = !name.is_empty()
            && !name.contains(|c: char| c == '=' || c.is_ascii_whitespace() || c == '\0');
        let value = value.replace('\\', "\\\\").replace('\'', "\\'");
        is_keyword.then(|| format!("{name} = '{value}'\n"))
    };
    let text: String = options.iter().map(pair).collect::<Option<_>>()?;
    // A name may turn the whole text into a URI.
    (!text.contains("://")).then_some(text)
}

/// The options as the query of a URI, with every byte escaped.
fn uri(options: &[(String, String)]) -> Option<String> {
    // In a URI query, `ssl=true` is another spelling of `sslmode=require`.
    if options.iter().any(|(name, value)| (name.as_str(), value.as_str()) == ("ssl", "true")) {
        return None;
    }
    // A URI cannot hold a zero byte.
    if options.iter().any(|(name, value)| name.contains('\0') || value.contains('\0')) {
        return None;
    }
    let escaped = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    let pairs = options.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value)));
    Some(format!("postgresql:///?{}", pairs.collect::<Vec<_>>().join("&")))
}
