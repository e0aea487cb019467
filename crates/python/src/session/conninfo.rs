//! Connection options for Python. The session crate interprets them; Python reads the files.

use std::cell::RefCell;

use colonnade_session::conninfo::{self, ConnInfoError, Draft, Local};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors;

/// Where and how to connect, resolved from arguments, DSN, service file and environment.
///
/// Secrets are returned by named attributes only, and never shown.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct ConnInfo(conninfo::ConnInfo);

impl ConnInfo {
    pub(crate) fn info(&self) -> &conninfo::ConnInfo {
        &self.0
    }
}

#[pymethods]
impl ConnInfo {
    /// Resolves the options. `home` is the user's home directory (the application-data directory on
    /// Windows); `read_file` returns the text of a file, or None if there is none.
    #[staticmethod]
    #[pyo3(signature = (dsn, arguments, server_settings, environment, user, home, read_file))]
    #[allow(clippy::too_many_arguments)] // one for each source
    fn resolve(
        py: Python<'_>,
        dsn: Option<&str>,
        arguments: Vec<(String, String)>,
        server_settings: Vec<(String, String)>,
        environment: &Bound<'_, PyDict>,
        user: Option<String>,
        home: Option<&str>,
        read_file: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let refuse = |error: ConnInfoError| {
            errors::of_class(py, "ClientConfigurationError", &error.to_string())
        };
        let local =
            if cfg!(windows) { Local::windows(user, home) } else { Local::unix(user, home) };
        let unread = RefCell::new(None);
        let look_up = |name: &str| {
            let value = environment.get_item(name).ok().flatten()?;
            let read = value.extract::<String>().ok();
            // The caller takes the bytes of a password as they are.
            if read.is_none() && name != "PGPASSWORD" {
                unread.replace(Some(name.to_owned()));
            }
            read
        };
        let mut draft = Draft::new(&arguments, &server_settings, dsn, &look_up).map_err(refuse)?;
        if let Some(variable) = unread.take() {
            return Err(refuse(ConnInfoError::VariableNotUtf8 { variable }));
        }
        if let Some(request) = draft.service(&local) {
            let mut files = Vec::new();
            for file in &request.files {
                if let Some(text) = read_file.call1((file,))?.extract::<Option<String>>()? {
                    files.push((file.clone(), text));
                }
            }
            draft.add_service(&request, &files).map_err(refuse)?;
        }
        draft.finish(&local).map(Self).map_err(refuse)
    }

    /// The places to try, in order: pairs of TCP host (None for a Unix socket), and port or path of
    /// the socket.
    #[getter]
    fn hosts(&self) -> Vec<(Option<String>, u16, Option<String>)> {
        self.0.hosts.iter().map(conninfo::Host::place).collect()
    }

    /// Whether no host was given, and `hosts` are the default places.
    #[getter]
    fn hosts_are_default(&self) -> bool {
        self.0.hosts_are_default
    }

    /// The role to log in as.
    #[getter]
    fn user(&self) -> &str {
        &self.0.user
    }

    /// The database.
    #[getter]
    fn database(&self) -> &str {
        &self.0.database
    }

    /// The role and the database, for messages: each is shown if it is a plain name.
    fn shown_login(&self) -> String {
        self.0.shown_login()
    }

    /// The password of the options; None if it may still be found in the password file.
    #[getter]
    fn password(&self) -> Option<&str> {
        self.0.password.as_ref().map(conninfo::Secret::expose)
    }

    /// The password file, named or default.
    #[getter]
    fn passfile(&self) -> Option<&str> {
        self.0.passfile.as_deref()
    }

    /// The password in the text of a password file for one of `hosts`.
    fn password_from<'py>(
        &self,
        py: Python<'py>,
        passfile_text: &[u8],
        host_index: usize,
    ) -> Option<Bound<'py, PyBytes>> {
        let host = self.0.hosts.get(host_index)?;
        let found = conninfo::password_for(passfile_text, host, &self.0.database, &self.0.user)?;
        Some(PyBytes::new(py, &found))
    }

    /// The TLS options: mode, negotiation, and the given files and versions.
    #[getter]
    fn tls_words<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let info = &self.0;
        let words = PyDict::new(py);
        words.set_item("mode", info.sslmode.as_str())?;
        words.set_item("negotiation", info.sslnegotiation.as_str())?;
        words.set_item("root_certificate", &info.sslrootcert)?;
        words.set_item("certificate", &info.sslcert)?;
        words.set_item("key", &info.sslkey)?;
        words.set_item("key_password", info.sslpassword.as_ref().map(conninfo::Secret::expose))?;
        words.set_item("revocation_list", &info.sslcrl)?;
        words.set_item("revocation_directory", &info.sslcrldir)?;
        words.set_item("min_version", info.ssl_min_protocol_version.as_str())?;
        let newest = info.ssl_max_protocol_version.map(conninfo::TlsVersion::as_str);
        words.set_item("max_version", newest)?;
        words.set_item("sends_server_name", info.sslsni)?;
        Ok(words)
    }

    /// The kind of server to choose: "any", "read-write", "primary", ...
    #[getter]
    fn target_session_attrs(&self) -> &'static str {
        self.0.target_session_attrs.as_str()
    }

    /// "disable" for the order as written, "random" for a new order each time.
    #[getter]
    fn load_balance_hosts(&self) -> &'static str {
        self.0.load_balance_hosts.as_str()
    }

    /// Seconds to try each host; 0 for no limit, None if not given.
    #[getter]
    fn connect_timeout(&self) -> Option<f64> {
        self.0.connect_timeout.map(|timeout| timeout.as_secs_f64())
    }

    /// The Kerberos service name, "postgres" by default.
    #[getter]
    fn krbsrvname(&self) -> &str {
        &self.0.krbsrvname
    }

    /// "gssapi" or "sspi"; None if not given.
    #[getter]
    fn gsslib(&self) -> Option<&str> {
        self.0.gsslib.as_deref()
    }

    /// The settings of the session, by name in lower case.
    #[getter]
    fn server_settings(&self) -> Vec<(String, String)> {
        self.0.server_settings.clone()
    }

    fn __repr__(&self) -> String {
        format!("<ConnInfo {}@{} hosts={}>", self.0.user, self.0.database, self.0.hosts.len())
    }
}
