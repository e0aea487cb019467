//! Where and how to connect: from DSN, arguments, service file and environment to one [`ConnInfo`].
//!
//! Nothing here reads a file or the environment. The caller provides look-ups and texts, in three
//! steps, because each source may name the next file:
//!
//! 1. [`Draft::new`] takes the arguments, the DSN and the environment;
//! 2. if [`Draft::service`] names a service, the texts of its files go to [`Draft::add_service`];
//! 3. [`Draft::finish`] checks everything and fills in defaults. If the result has no password,
//!    [`password_for`] finds one in the text of [`ConnInfo::passfile`], host by host.
//!
//! Precedence is libpq's: argument, DSN, service, environment, default. An option that is given but
//! empty takes its default, even if a weaker source has a value.
//!
//! A DSN is a URI (`postgresql://user:password@host/database?option=value`) or libpq's pairs
//! (`host=localhost dbname=test`). Names that are not options are server settings, except those
//! that look like a misspelt option; the rule and the names are in `options`.
//!
//! A URI that is not seen as one would be sent as a setting's name, a host or a database, with its
//! password, to the host that remains. `secrecy` refuses such texts in all sources, and decides
//! which values an error may show.

mod environment;
mod error;
mod keywords;
mod options;
mod passfile;
mod resolve;
mod secrecy;
mod service;
mod uri;
mod value;

use std::time::Duration;

use colonnade_protocol::auth::AuthPolicy;

pub use error::ConnInfoError;
use options::Layer;
pub use passfile::password_for;
pub use secrecy::is_shown;
pub use value::{
    Host, HostAddress, Keepalives, LoadBalanceHosts, ProtocolVersion, Secret, SslMode,
    SslNegotiation, TargetSessionAttrs, TlsVersion,
};

/// Everything known about how to connect. `Debug` shows no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnInfo {
    /// The places to try, in order; never empty.
    pub hosts: Vec<Host>,
    /// Whether no host was given and `hosts` are the default places.
    pub hosts_are_default: bool,
    /// The role to log in as.
    pub user: String,
    /// Its password; None may still be found in the password file.
    pub password: Option<Secret>,
    /// The database; the user's name when none was given.
    pub database: String,
    /// The password file, named or default.
    pub passfile: Option<String>,
    /// The service that provided some of the options.
    pub service: Option<String>,
    /// Whether to use TLS, and how much to verify.
    pub sslmode: SslMode,
    /// How TLS begins.
    pub sslnegotiation: SslNegotiation,
    /// A file of trusted certificates, or `system`.
    pub sslrootcert: Option<String>,
    /// A file with the client's certificate.
    pub sslcert: Option<String>,
    /// A file with its private key.
    pub sslkey: Option<String>,
    /// The password of the private key.
    pub sslpassword: Option<Secret>,
    /// A file of revoked certificates.
    pub sslcrl: Option<String>,
    /// A directory of such files, named by the hashes of their issuers' names.
    pub sslcrldir: Option<String>,
    /// Whether the TLS handshake sends the host's name.
    pub sslsni: bool,
    /// The lowest TLS version.
    pub ssl_min_protocol_version: TlsVersion,
    /// The highest TLS version; None for the newest available.
    pub ssl_max_protocol_version: Option<TlsVersion>,
    /// The authentication that the server must ask for, and the proof it must give.
    pub auth: AuthPolicy,
    /// The kind of server looked for.
    pub target_session_attrs: TargetSessionAttrs,
    /// The order in which hosts are tried.
    pub load_balance_hosts: LoadBalanceHosts,
    /// The time limit for each host; zero for no limit, None if not given.
    pub connect_timeout: Option<Duration>,
    /// TCP keepalive.
    pub keepalives: Keepalives,
    /// The name that the server shows for the session.
    pub application_name: Option<String>,
    /// Command-line options for the server process.
    pub options: Option<String>,
    /// `replication` of the startup message.
    pub replication: Option<String>,
    /// The lowest version of PostgreSQL's protocol to accept.
    pub min_protocol_version: Option<ProtocolVersion>,
    /// The version of PostgreSQL's protocol to ask for.
    pub max_protocol_version: Option<ProtocolVersion>,
    /// The Kerberos service name.
    pub krbsrvname: String,
    /// The GSSAPI library to use, if there is a choice.
    pub gsslib: Option<String>,
    /// Settings of the session, by name in lower case, sorted.
    pub server_settings: Vec<(String, String)>,
}

impl ConnInfo {
    /// The parameters of the startup message. The caller's settings come first: the server uses the
    /// last value of a name, and text must be UTF-8.
    #[must_use]
    pub fn startup_parameters(&self) -> Vec<(String, String)> {
        let mut parameters = self.server_settings.clone();
        let optional = [
            ("application_name", &self.application_name),
            ("options", &self.options),
            ("replication", &self.replication),
        ];
        for (name, value) in optional {
            parameters.extend(value.clone().map(|value| (name.to_owned(), value)));
        }
        parameters.push(("user".to_owned(), self.user.clone()));
        parameters.push(("database".to_owned(), self.database.clone()));
        parameters.push(("client_encoding".to_owned(), "UTF8".to_owned()));
        parameters
    }

    /// The role and the database, for messages: each is shown if it is a plain name.
    #[must_use]
    pub fn shown_login(&self) -> String {
        let shown = |name: &str| {
            if is_shown(name) {
                format!("'{name}'")
            } else {
                "(not shown: it may hold a secret)".to_owned()
            }
        };
        format!("as user {}, database {}", shown(&self.user), shown(&self.database))
    }
}

/// Facts from the operating system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Local {
    /// The name of the user who runs this process.
    pub user: Option<String>,
    /// The default password file.
    pub passfile: Option<String>,
    /// The default service file.
    pub service_file: Option<String>,
    /// Directories where a server's Unix socket may be.
    pub socket_directories: Vec<String>,
}

impl Local {
    /// The default places on Unix.
    #[must_use]
    pub fn unix(user: Option<String>, home: Option<&str>) -> Self {
        let directories = ["/run/postgresql", "/var/run/postgresql", "/tmp", "/private/tmp"];
        Self {
            user,
            passfile: home.map(|home| format!("{home}/.pgpass")),
            service_file: home.map(|home| format!("{home}/.pg_service.conf")),
            socket_directories: directories.map(str::to_owned).to_vec(),
        }
    }

    /// The default places on Windows.
    #[must_use]
    pub fn windows(user: Option<String>, app_data: Option<&str>) -> Self {
        Self {
            user,
            passfile: app_data.map(|folder| format!("{folder}\\postgresql\\pgpass.conf")),
            service_file: app_data.map(|folder| format!("{folder}\\postgresql\\.pg_service.conf")),
            socket_directories: Vec::new(),
        }
    }
}

/// A service whose definition must be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceRequest {
    /// The name of its section.
    pub name: String,
    /// The files to search, in order; missing files are skipped.
    pub files: Vec<String>,
}

/// Connection options between their sources and the result.
pub struct Draft {
    arguments: Layer,
    dsn: Layer,
    service: Layer,
    environment: Layer,
    system_service_file: Option<String>,
}

impl Draft {
    /// Reads the arguments (by option name; lists of hosts and ports separated by commas),
    /// including server settings, the DSN and the environment.
    ///
    /// # Errors
    ///
    /// A DSN that cannot be parsed, and unknown names.
    pub fn new(
        arguments: &[(String, String)],
        server_settings: &[(String, String)],
        dsn: Option<&str>,
        environment: &impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConnInfoError> {
        let mut arguments = Layer::from_pairs(arguments.to_vec())?;
        arguments.add_server_settings(server_settings)?;
        Ok(Self {
            arguments,
            dsn: Layer::from_pairs(parse_dsn(dsn.unwrap_or_default())?)?,
            service: Layer::default(),
            environment: environment::layer(environment)?,
            system_service_file: environment("PGSYSCONFDIR")
                .filter(|folder| !folder.is_empty())
                .map(|folder| format!("{folder}/pg_service.conf")),
        })
    }

    /// The service named by the options.
    #[must_use]
    pub fn service(&self, local: &Local) -> Option<ServiceRequest> {
        let name = self.option("service")?.to_owned();
        let own = self.option("servicefile").map(str::to_owned).or(local.service_file.clone());
        let files = own.into_iter().chain(self.system_service_file.clone()).collect();
        Some(ServiceRequest { name, files })
    }

    /// Adds the service's definition from the files that exist, each given by name and text.
    ///
    /// # Errors
    ///
    /// No file defines the service, or its definition is invalid.
    pub fn add_service(
        &mut self,
        request: &ServiceRequest,
        files: &[(String, String)],
    ) -> Result<(), ConnInfoError> {
        for (file, text) in files {
            if let Some(layer) = service::find(file, text, &request.name)? {
                self.service = layer;
                return Ok(());
            }
        }
        if files.is_empty() {
            return Err(ConnInfoError::NoServiceFile { files: request.files.clone() });
        }
        Err(ConnInfoError::ServiceNotFound {
            files: files.iter().map(|(file, _)| file.clone()).collect(),
            defined: files.iter().flat_map(|(_, text)| service::names(text)).collect(),
        })
    }

    /// Checks all options and fills in defaults.
    ///
    /// # Errors
    ///
    /// Values that are invalid or contradict each other.
    pub fn finish(self, local: &Local) -> Result<ConnInfo, ConnInfoError> {
        resolve::resolve(&self, local)
    }

    /// The sources, strongest first.
    fn layers(&self) -> [&Layer; 4] {
        [&self.arguments, &self.dsn, &self.service, &self.environment]
    }

    /// The value of an option; None if no source has it, or if the strongest source has it empty.
    fn option(&self, name: &str) -> Option<&str> {
        let value = self.layers().into_iter().find_map(|layer| layer.option(name))?;
        (!value.is_empty()).then_some(value)
    }
}

pub(crate) fn parse_dsn(dsn: &str) -> Result<Vec<(String, String)>, ConnInfoError> {
    // A variable's value often ends with a line break. Behind white space a URI would be a keyword.
    let dsn = dsn.trim();
    if let Some(options) = uri::parse(dsn) {
        return options;
    }
    if !dsn.contains('=') && !dsn.is_empty() {
        return Err(ConnInfoError::NotADsn);
    }
    keywords::parse(dsn)
}

#[cfg(test)]
mod tests;
