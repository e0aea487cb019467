//! The sources together: precedence, defaults and contradictions; no input causes a panic.

use std::collections::HashMap;

use colonnade_protocol::auth::{AuthMethod, ChannelBindingPolicy};
use proptest::prelude::*;

use super::*;

const NOTHING: &[(&str, &str)] = &[];

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn local() -> Local {
    Local::unix(Some("me".to_owned()), Some("/people/me"))
}

fn draft(
    arguments: &[(&str, &str)],
    dsn: &str,
    environment: &[(&str, &str)],
) -> Result<Draft, ConnInfoError> {
    let environment: HashMap<_, _> = owned(environment).into_iter().collect();
    Draft::new(&owned(arguments), &[], Some(dsn), &|name| environment.get(name).cloned())
}

fn info(dsn: &str) -> ConnInfo {
    draft(NOTHING, dsn, NOTHING).unwrap().finish(&local()).unwrap()
}

fn error(dsn: &str) -> ConnInfoError {
    match draft(NOTHING, dsn, NOTHING) {
        Ok(draft) => draft.finish(&local()).unwrap_err(),
        Err(error) => error,
    }
}

fn tcp(name: &str, port: u16) -> Host {
    Host { address: HostAddress::Tcp(name.to_owned()), port, numeric_address: None }
}

fn unix(directory: &str, port: u16) -> Host {
    Host { address: HostAddress::Unix(directory.to_owned()), port, numeric_address: None }
}

#[test]
fn defaults() {
    let info = info("");
    assert_eq!(info.user, "me");
    assert_eq!(info.database, "me");
    assert!(info.hosts_are_default);
    assert_eq!(
        info.hosts,
        [
            unix("/run/postgresql", 5432),
            unix("/var/run/postgresql", 5432),
            unix("/tmp", 5432),
            unix("/private/tmp", 5432),
            tcp("localhost", 5432),
        ]
    );
    assert_eq!(info.passfile.as_deref(), Some("/people/me/.pgpass"));
    assert_eq!(info.sslmode, SslMode::Prefer);
    assert_eq!(info.ssl_min_protocol_version, TlsVersion::V1_2);
    assert_eq!(info.connect_timeout, None);
    assert!(info.keepalives.enabled);
    assert!(info.server_settings.is_empty());
}

#[test]
fn the_database_is_the_user_unless_given() {
    assert_eq!(info("user=a").database, "a");
    assert_eq!(info("user=a dbname=b").database, "b");
    assert_eq!(info("postgres://a@h").database, "a");
}

#[test]
fn a_user_is_needed() {
    let draft = draft(NOTHING, "", NOTHING).unwrap();
    assert_eq!(draft.finish(&Local::default()).unwrap_err(), ConnInfoError::NoUser);
}

#[test]
fn precedence() {
    let service = [("f".to_owned(), "[s]\nuser=service\ndbname=service\nport=3\n".to_owned())];
    let environment = [
        ("PGUSER", "env"),
        ("PGDATABASE", "env"),
        ("PGPORT", "4"),
        ("PGAPPNAME", "env"),
        ("PGTZ", "UTC"),
        ("PGSERVICE", "s"),
    ];
    let mut draft =
        draft(&[("user", "arg")], "user=dsn dbname=dsn timezone=CET", &environment).unwrap();
    let request = draft.service(&local()).unwrap();
    assert_eq!(request.name, "s");
    assert_eq!(request.files, ["/people/me/.pg_service.conf"]);
    draft.add_service(&request, &service).unwrap();
    let info = draft.finish(&local()).unwrap();
    assert_eq!(info.user, "arg");
    assert_eq!(info.database, "dsn");
    assert_eq!(info.hosts[0].port, 3);
    assert_eq!(info.application_name.as_deref(), Some("env"));
    assert_eq!(info.server_settings, owned(&[("timezone", "CET")]));
    assert_eq!(info.service.as_deref(), Some("s"));
}

#[test]
fn an_empty_value_hides_weaker_sources() {
    let environment = [("PGHOST", "elsewhere"), ("PGPASSWORD", "x")];
    let draft = draft(NOTHING, "host='' password=''", &environment).unwrap();
    let info = draft.finish(&local()).unwrap();
    assert!(info.hosts_are_default);
    assert_eq!(info.password, None);
}

#[test]
fn service_files() {
    let environment = [("PGSERVICEFILE", "/own"), ("PGSYSCONFDIR", "/etc/pg")];
    let mut draft = draft(NOTHING, "service=s", &environment).unwrap();
    let request = draft.service(&local()).unwrap();
    assert_eq!(request.files, ["/own", "/etc/pg/pg_service.conf"]);
    let files = owned(&[("/own", "[other]\n"), ("/etc/pg/pg_service.conf", "[x]\n")]);
    assert_eq!(
        draft.add_service(&request, &files).unwrap_err().to_string(),
        "the service is not defined in /own or /etc/pg/pg_service.conf (what was given is not \
         shown: it may hold a secret); defined there: other, x"
    );
    assert_eq!(
        draft.add_service(&request, &[]).unwrap_err().to_string(),
        "the service cannot be looked up: there is no file /own or /etc/pg/pg_service.conf"
    );
}

#[test]
fn hosts_and_ports() {
    for (dsn, hosts) in [
        ("host=a", vec![tcp("a", 5432)]),
        ("host=a,b port=1,2", vec![tcp("a", 1), tcp("b", 2)]),
        ("host=a,b port=1", vec![tcp("a", 1), tcp("b", 1)]),
        ("host=a,b port=,2", vec![tcp("a", 5432), tcp("b", 2)]),
        ("host=/tmp,b", vec![unix("/tmp", 5432), tcp("b", 5432)]),
        ("host=@abstract", vec![unix("@abstract", 5432)]),
        ("postgres://a:1,[::1],%2Ftmp/d", vec![tcp("a", 1), tcp("::1", 5432), unix("/tmp", 5432)]),
        ("postgres://a,b/?port=7", vec![tcp("a", 7), tcp("b", 7)]),
        ("postgres://a/?host=b", vec![tcp("b", 5432)]),
        ("hostaddr=10.0.0.1", vec![tcp("10.0.0.1", 5432)]),
        (
            "host=a hostaddr=10.0.0.1",
            vec![Host { numeric_address: Some("10.0.0.1".to_owned()), ..tcp("a", 5432) }],
        ),
    ] {
        assert_eq!(info(dsn).hosts, hosts, "{dsn}");
    }
    assert_eq!(error("host=a port=1,2"), ConnInfoError::PortCount { hosts: 1, ports: 2 });
    assert_eq!(
        error("host=a,b hostaddr=1.1.1.1"),
        ConnInfoError::HostAddressCount { hosts: 2, addresses: 1 }
    );
    for port in ["0", "65536", "-1", "x", "1 2"] {
        let message = error(&format!("port='{port}'")).to_string();
        assert!(message.contains("a number from 1 to 65535"), "{message}");
    }
}

#[test]
fn places_to_connect_to() {
    assert_eq!(tcp("a", 1).place(), (Some("a".to_owned()), 1, None));
    let numeric_address = Some("::1".to_owned());
    let host = Host { numeric_address: numeric_address.clone(), ..tcp("a", 2) };
    assert_eq!(host.place(), (Some("a".to_owned()), 2, numeric_address));
    assert_eq!(unix("/tmp", 3).place(), (None, 3, Some("/tmp/.s.PGSQL.3".to_owned())));
}

#[test]
fn the_startup_message_has_the_drivers_parameters_last() {
    let info = info("postgresql://me@h/d?application_name=a&client_encoding=utf8&work_mem=1MB");
    let parameters = info.startup_parameters();
    let names: Vec<_> = parameters.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.last(), Some(&"client_encoding"));
    let of = |name: &str| {
        let found = parameters.iter().rfind(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    };
    assert_eq!((of("user"), of("database")), (Some("me"), Some("d")));
    assert_eq!((of("application_name"), of("work_mem")), (Some("a"), Some("1MB")));
    // The server uses the last value of a name.
    assert_eq!((of("client_encoding"), of("replication")), (Some("UTF8"), None));
}

#[test]
fn a_login_is_shown_by_plain_names() {
    assert_eq!(info("postgresql://me@h/d").shown_login(), "as user 'me', database 'd'");
    let text = info("postgresql://me@h/a%20secret").shown_login();
    assert_eq!(text, "as user 'me', database (not shown: it may hold a secret)");
}

#[test]
fn socket_paths() {
    assert_eq!(unix("/tmp", 1).socket_path().as_deref(), Some("/tmp/.s.PGSQL.1"));
    assert_eq!(unix("/tmp/", 1).socket_path().as_deref(), Some("/tmp/.s.PGSQL.1"));
    let whole = "/tmp/.s.PGSQL.7";
    assert_eq!(unix(whole, 1).socket_path().as_deref(), Some(whole));
    assert_eq!(tcp("a", 1).socket_path(), None);
}

#[test]
fn typed_values() {
    let info = info(
        "sslmode=verify-ca sslnegotiation=direct channel_binding=require \
         require_auth=!password,!md5 target_session_attrs=prefer-standby \
         load_balance_hosts=random connect_timeout=-3 keepalives=0 keepalives_idle=9 \
         ssl_min_protocol_version=tlsv1.3 max_protocol_version=latest sslsni=0 \
         fallback_application_name=f options='-c x=1' krbsrvname=k",
    );
    assert_eq!(info.sslmode, SslMode::VerifyCa);
    assert_eq!(info.sslnegotiation, SslNegotiation::Direct);
    assert_eq!(info.auth.channel_binding, ChannelBindingPolicy::Require);
    let auth = info.auth.require_auth;
    assert!(!auth.allows(AuthMethod::Md5) && auth.allows(AuthMethod::ScramSha256));
    assert_eq!(info.target_session_attrs, TargetSessionAttrs::PreferStandby);
    assert_eq!(info.load_balance_hosts, LoadBalanceHosts::Random);
    assert_eq!(info.connect_timeout, Some(Duration::ZERO));
    assert!(!info.keepalives.enabled);
    assert_eq!(info.keepalives.idle_s, Some(9));
    assert_eq!(info.ssl_min_protocol_version, TlsVersion::V1_3);
    assert_eq!(info.max_protocol_version, Some(ProtocolVersion::Latest));
    assert!(!info.sslsni);
    assert_eq!(info.application_name.as_deref(), Some("f"));
    assert_eq!(info.options.as_deref(), Some("-c x=1"));
    assert_eq!(info.krbsrvname, "k");
}

#[test]
fn wrong_values_say_what_is_right() {
    for (dsn, message) in [
        (
            "sslmode=on",
            "sslmode must be disable, allow, prefer, require, verify-ca or verify-full (the value",
        ),
        ("connect_timeout=soon", "connect_timeout must be a whole number (the value given"),
        ("sslsni=2", "sslsni must be 0 or 1, not 2"),
        ("port=70000", "port must be a number from 1 to 65535, not 70000"),
        ("sslrootcert=system sslmode=require", "sslrootcert=system needs sslmode=verify-full, not"),
        ("sslnegotiation=direct", "sslnegotiation=direct needs sslmode=require, verify-ca or"),
        ("ssl_max_protocol_version=TLSv1", "ssl_min_protocol_version=TLSv1.2 is above"),
        ("requirepeer=postgres", "the connection option requirepeer is not supported"),
        ("gssencmode=require", "gssencmode=require is not supported"),
        ("client_encoding=LATIN1", "client_encoding is not supported"),
        ("require_auth=md5,!password", "require_auth must be a list"),
        ("require_auth=md5,md5", "require_auth must be a list of different"),
        ("mydb", "neither a URI"),
        ("sslmod=require", "did you mean \"sslmode\"?"),
    ] {
        let found = error(dsn).to_string();
        assert!(found.contains(message), "{dsn}: {found}");
    }
}

#[test]
fn harmless_values_of_unsupported_options() {
    info("sslcertmode=allow gssencmode=prefer sslcompression=1 client_encoding='UTF-8'");
    info("client_encoding=auto gssdelegation=0");
    assert_eq!(info("sslrootcert=system").sslmode, SslMode::VerifyFull);
}

#[test]
fn server_settings_of_all_sources() {
    let settings = owned(&[("Search_Path", "a"), ("application_name", "n"), ("jit", "off")]);
    let dsn = "postgres:///?search_path=b&myapp.user=7&statement_timeout=5s";
    let draft = Draft::new(&[], &settings, Some(dsn), &|_| None).unwrap();
    let info = draft.finish(&local()).unwrap();
    let expected =
        [("jit", "off"), ("myapp.user", "7"), ("search_path", "a"), ("statement_timeout", "5s")];
    assert_eq!(info.server_settings, owned(&expected));
    assert_eq!(info.application_name.as_deref(), Some("n"));
}

#[test]
fn secrets_never_show() {
    let dsn = "password=s3cret sslpassword=s3cret user=u";
    let shown = format!("{:?}", info(dsn));
    assert!(!shown.contains("s3cret"), "{shown}");
    assert_eq!(info(dsn).password.unwrap().expose(), "s3cret");
    for dsn in [
        "password=a s3cret",
        "password=a s3cret=b",
        "password='s3cret",
        "postgres://u:s3cret%zz@h",
        "postgres://u:s3cret/x@h",
        "postgres://u:x/s3cret@h:y",
        "postgres://u:s3cret?x@h",
        "postgres://h/?password=a&s3cret",
        "postgres://h/?password=a&s3cret=b",
        "u:s3cret@postgres://h",
        "u:s3cret@h/d",
    ] {
        let message = error(dsn).to_string();
        assert!(!message.contains("s3cret"), "{dsn}: {message}");
    }
}

/// Each has the password `s3cret` and one mistake.
const MISTAKES: &[&str] = &[
    "user=app password=s3cret host=db.example.org%40",
    "DATABASE_URL=postgresql://app:s3cret@db.example.org/prod",
    "DATABASE_URL='postgresql://app:s3cret@db.example.org/prod?sslmode=require'",
    "url = postgresql://app:s3cret@db.example.org/prod",
    "url=app:s3cret@db.example.org/prod",
    "url=db.example.org/prod?user=app&password=s3cret",
    "dbname=postgres://app:s3cret@db.example.org/prod",
    "dbname=postgresql+asyncpg://app:s3cret@db.example.org/prod",
    "host=postgresql://app:s3cret@db.example.org/prod",
    "host=app:s3cret@db.example.org",
    "host=mysql://s3cret",
    "user=app:s3cret@db.example.org",
    "service=postgresql://app:s3cret@db.example.org/prod",
    "application_name=postgresql://app:s3cret@db.example.org/prod",
    "search_path=postgresql://app:s3cret@db.example.org/prod",
    "postgresql:/app:s3cret@db.example.org/prod?sslmode=require",
    "postgresql//app:s3cret@db.example.org/prod?sslmode=require",
    "postgresql:app:s3cret@db.example.org/prod?sslmode=require",
    "//app:s3cret@db.example.org/prod?sslmode=require",
    "app:s3cret@db.example.org/prod?sslmode=require",
    "jdbc:postgresql://db.example.org/prod?user=app&password=s3cret",
    "psql postgresql://app:s3cret@db.example.org/prod?sslmode=require",
    "\"postgresql://app:s3cret@db.example.org/prod?sslmode=require\"",
    "<postgresql://app:s3cret@db.example.org/prod>",
    "\u{feff}postgresql://app:s3cret@db.example.org/prod?sslmode=require",
    "s3cret://db.example.org/prod",
    "postgresql:///app:s3cret@db.example.org/prod",
    "postgresql://app:s3cret/prod",
    "postgresql://app:12/s3cret@db.example.org/prod",
    "postgresql://app:12?s3cret=1@db.example.org/prod",
    "postgresql://app:12/x?s3cret=1@db.example.org/prod",
    "postgresql://app:a@b/s3cret@db.example.org/prod",
    "postgresql://app:a@b?c=s3cret@db.example.org/prod",
    "postgresql://app:a%40s3cret%2F1/prod",
    "postgresql://db.example.org/prod?sslmode=require;password=s3cret",
    "postgresql://db.example.org/prod?pass=s3cret",
    "postgresql://app@db.example.org/prod password=s3cret",
    "PGHOST=db.example.org PGPASSWORD=s3cret",
    "hostaddr=app:s3cret@db.example.org",
    "host=/app:s3cret@db.example.org",
    "sslmode='require password=s3cret'",
    "client_encoding='UTF9 password=s3cret'",
    "service='prod password=s3cret'",
    "dbname='prod PGPASSWORD=s3cret'",
    "dbname='prod Password = s3cret'",
    "dbname='prod passwd=s3cret'",
    "user='app PGPASSWORD=s3cret'",
    "user='app PGDATABASE=s3cret'",
    "application_name='app PGPASSWORD=s3cret'",
    "sslcert='a.pem pwd=s3cret'",
    "search_path='a password=s3cret'",
    "postgresql://app@db.example.org/prod%20PGPASSWORD%3Ds3cret",
    "postgresql://app%20PGPASSWORD%3Ds3cret@db.example.org/prod",
];

/// Each option, with a word that may be anything as its value.
#[test]
fn no_error_repeats_a_word() {
    let files = owned(&[("/f", "[a]\nhost=b\n")]);
    for option in options::OPTIONS {
        for (value, files) in [("", files.as_slice()), ("1,", &[]), ("1", &files)] {
            let dsn = format!("{option}={value}hunter2secret service=other");
            let found = draft(NOTHING, &dsn, NOTHING).and_then(|draft| draft.finish(&local()));
            let message = found.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(!message.contains("hunter2secret"), "{dsn}: {message}");
            let Ok(mut draft) = draft(NOTHING, &dsn, NOTHING) else { continue };
            let request = draft.service(&local()).unwrap();
            let message = draft.add_service(&request, files).unwrap_err().to_string();
            assert!(!message.contains("hunter2secret"), "{dsn}: {message}");
        }
    }
}

#[test]
fn mistakes_around_a_password_are_refused_without_it() {
    for dsn in MISTAKES {
        let found = draft(NOTHING, dsn, NOTHING).and_then(|draft| match draft.service(&local()) {
            Some(request) => {
                Err(ConnInfoError::ServiceNotFound { files: request.files, defined: Vec::new() })
            }
            None => draft.finish(&local()),
        });
        let message = found.expect_err(dsn).to_string();
        assert!(!message.contains("s3cret"), "{dsn}: {message}");
    }
}

#[test]
fn the_same_mistakes_in_arguments_and_the_environment() {
    let uri = "postgresql://app:s3cret@db.example.org/prod";
    for (variable, option) in
        [("PGHOST", "host"), ("PGDATABASE", "dbname"), ("PGUSER", "user"), ("PGSERVICE", "service")]
    {
        for found in [draft(NOTHING, "", &[(variable, uri)]), draft(&[(option, uri)], "", NOTHING)]
        {
            let message = found.err().expect(option).to_string();
            assert!(message.contains(option) && !message.contains("s3cret"), "{message}");
        }
    }
    let file = [("f".to_owned(), format!("[s]\n{uri}?sslmode=require\n"))];
    let mut draft = draft(NOTHING, "service=s", NOTHING).unwrap();
    let request = draft.service(&local()).unwrap();
    let message = draft.add_service(&request, &file).unwrap_err().to_string();
    assert!(!message.contains("s3cret"), "{message}");
}

#[test]
fn white_space_around_a_dsn_is_nothing() {
    let plain = "postgresql://app:s3cret@db.example.org/prod?sslmode=require";
    for dsn in [format!(" {plain}"), format!("{plain}\n"), format!("\r\n\t{plain}\u{a0}")] {
        assert_eq!(info(&dsn), info(plain), "{dsn:?}");
    }
}

#[test]
fn values_that_hold_no_secret_stay() {
    for dsn in [
        "postgresql://ann%40example.org:x@h/d",
        "postgresql://h/d?user=ann@server",
        "host=h user=ann@server dbname=a@b",
        "host=h application_name=worker:7@node",
        "host=h application_name='user=worker 7' dbname='a = b'",
        "host=h options='-c our.password=kept -c search_path=a'",
        "host=h our.name=ann@example.org timezone=Etc/GMT+5",
        "host=h options='-c our.url=https://example.org'",
        "postgresql://u:postgresql%3A%2F%2Fx@h/d",
        "postgresql://?user=a@b",
        "postgresql://fe80%3A%3A1%25eth0/d",
        "host=fe80::1%eth0 hostaddr=fe80::1%eth0",
        "host=bücher.example",
        "host=under_score",
    ] {
        info(dsn);
    }
}

#[test]
fn windows_places() {
    let local = Local::windows(Some("me".to_owned()), Some("C:\\Data"));
    let info = draft(NOTHING, "", NOTHING).unwrap().finish(&local).unwrap();
    assert_eq!(info.hosts, [tcp("localhost", 5432)]);
    assert_eq!(info.passfile.as_deref(), Some("C:\\Data\\postgresql\\pgpass.conf"));
}

fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn percent_encoded(value: &str) -> String {
    value.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

proptest! {
    #[test]
    fn no_text_panics(
        dsn in ".{0,80}",
        file in "(?s).{0,200}",
        value in ".{0,20}",
    ) {
        for dsn in [dsn.clone(), format!("postgres://{dsn}"), format!("host={dsn}")] {
            if let Ok(mut draft) = draft(&[("port", &value)], &dsn, &[("PGSSLMODE", &value)]) {
                let request = ServiceRequest { name: value.clone(), files: Vec::new() };
                let _ = draft.add_service(&request, &[("f".to_owned(), file.clone())]);
                let _ = draft.finish(&local()).map_err(|error| error.to_string());
            }
        }
        let _ = password_for(file.as_bytes(), &tcp("h", 1), "d", &value);
    }

    #[test]
    fn dsn_shaped_text_does_not_panic(dsn in "(postgres://)?[a-z:@/?=&%,' \\\\\\[\\].0-9]{0,60}") {
        if let Err(error) = draft(NOTHING, &dsn, NOTHING).and_then(|draft| draft.finish(&local())) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn both_forms_carry_any_value(user in "[^\0:]{1,20}", password in "[^\0]{1,20}") {
        let pairs = format!("user={} password={}", quoted(&user), quoted(&password));
        let uri = format!("postgres://{}:{}@h", percent_encoded(&user), percent_encoded(&password));
        for dsn in [pairs, uri] {
            let info = info(&dsn);
            prop_assert_eq!(&info.user, &user);
            prop_assert_eq!(info.password.as_ref().map(Secret::expose), Some(password.as_str()));
        }
    }

    #[test]
    fn the_passfile_carries_any_password(password in "[^\0\r\n]{1,20}") {
        let escaped = password.replace('\\', "\\\\").replace(':', "\\:");
        let found = password_for(format!("h:1:d:u:{escaped}").as_bytes(), &tcp("h", 1), "d", "u");
        prop_assert_eq!(found.as_deref(), Some(password.as_bytes()));
    }
}
