//! The session as Python's transports and connections use it.

use std::sync::{Arc, Mutex, MutexGuard};

use colonnade_columnar::{CodecFormat, ResultColumn, named_type};
use colonnade_protocol::Format;
use colonnade_protocol::auth::{Authenticator, ChannelBinding};
use colonnade_protocol::backend::TransactionStatus;
use colonnade_protocol::frontend;
use colonnade_session::{Announcement, ColumnSink, Event, Session as CoreSession, Startup};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::arrow_column::ArrowColumn;
use crate::batch::Batch;
use crate::buffer::ReceiveWindow;
use crate::catalog::Catalog;
use crate::codecs::{Codec, Codecs};
use crate::conninfo::ConnInfo;
use crate::copy_rows::CopyEncoder;
use crate::parameters::CellPlace;
use crate::pg_type::PgType;
use crate::rows::RecordSink;
use crate::sink::RowSink;
use crate::statement::Statement;
use crate::{errors, parameters};

/// Reads below this are handled at once: to release the interpreter would cost more.
const DETACH_BYTES_MIN: usize = 4 * 1024;

type Core = CoreSession<RowSink>;

struct Inner {
    core: Core,
    /// What users have set in place of types' own conversions.
    codecs: Arc<Codecs>,
}

/// One connection's side of the talk with a server. No I/O: whoever owns the socket moves bytes.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct Session(Mutex<Inner>);

impl Session {
    /// The session, unless another thread is inside it: to wait here while holding the
    /// interpreter could wait for ever.
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Inner>> {
        self.0.try_lock().map_err(|_| {
            errors::interface(py, "cannot perform operation: another operation is in progress")
        })
    }

    fn begin(
        &self,
        py: Python<'_>,
        start: impl FnOnce(&mut Core) -> Result<(), colonnade_session::Error>,
    ) -> PyResult<()> {
        start(&mut self.lock(py)?.core).map_err(|error| errors::of_session(py, error))
    }

    fn query(
        &self,
        py: Python<'_>,
        statement: &Statement,
        arguments: &Bound<'_, PyTuple>,
        row_limit: i32,
        sink: RowSink,
    ) -> PyResult<()> {
        let codecs = Arc::clone(&self.lock(py)?.codecs);
        let types = &statement.statement.parameters;
        let encoded = parameters::encode(py, types, &codecs, arguments)?;
        self.lock(py)?
            .core
            .query(Arc::clone(&statement.statement), &encoded, row_limit, sink)
            .map_err(|error| errors::of_session(py, error))
    }
}

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (statement_cache_size = 100, catalog = None))]
    fn new(statement_cache_size: usize, catalog: Option<&Catalog>) -> Self {
        let catalog = catalog.map(|catalog| catalog.0.clone()).unwrap_or_default();
        let core = Core::new(statement_cache_size, catalog);
        Self(Mutex::new(Inner { core, codecs: Arc::default() }))
    }

    /// Where the next read of the socket goes (buffer protocol).
    fn receive_buffer(&self, py: Python<'_>) -> PyResult<ReceiveWindow> {
        Ok(ReceiveWindow::new(self.lock(py)?.core.receive_buffer()))
    }

    /// So many bytes were read: parses and decodes them with the interpreter released.
    fn receive_data(&self, py: Python<'_>, length: usize) -> PyResult<()> {
        if length < DETACH_BYTES_MIN {
            self.lock(py)?.core.receive_data(length);
            return Ok(());
        }
        let taken = py.detach(|| match self.0.try_lock() {
            Ok(mut inner) => {
                inner.core.receive_data(length);
                true
            }
            Err(_) => false,
        });
        if taken { Ok(()) } else { self.lock(py).map(drop) }
    }

    /// Bytes that were read elsewhere: copies them in, then as `receive_data`.
    fn receive_bytes(&self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        self.lock(py)?.core.receive_bytes(data);
        Ok(())
    }

    /// The peer has closed its side.
    fn receive_eof(&self, py: Python<'_>) -> PyResult<()> {
        self.lock(py)?.core.receive_eof();
        Ok(())
    }

    /// The next event: a Batch, CopyIn, bytes of a COPY out, or the Completion of the exchange;
    /// None where more must be read first. Raises what the exchange failed with.
    fn next_event<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (event, codecs) = {
            let mut inner = self.lock(py)?;
            let Some(event) = inner.core.next_event() else { return Ok(None) };
            (event, Arc::clone(&inner.codecs))
        };
        let object = match event {
            Event::Batch(made) => {
                Bound::new(py, Batch::new(made.batch, made.columns, codecs))?.into_any()
            }
            Event::CopyIn => Bound::new(py, CopyIn)?.into_any(),
            Event::CopyData(bytes) => PyBytes::new(py, &bytes).into_any(),
            Event::Complete(completion) => {
                let rows = match completion.sink {
                    Some(RowSink::Records(sink)) => Some(sink.into_records()),
                    _ => None,
                };
                let statement = completion.statement.map(Statement::new);
                let statement = statement.map(|statement| Py::new(py, statement)).transpose()?;
                Bound::new(py, Completion { tag: completion.tag, statement, rows })?.into_any()
            }
            Event::Failed(error) => return Err(errors::of_session(py, error)),
        };
        Ok(Some(object))
    }

    /// The next Notice or Notification, or None.
    fn next_announcement<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let announcement = self.lock(py)?.core.next_announcement();
        announcement
            .map(|announcement| match announcement {
                Announcement::Notice(fields) => {
                    let fields = errors::fields_dict(py, &fields)?.unbind();
                    Ok(Bound::new(py, Notice { fields })?.into_any())
                }
                Announcement::Notification { process_id, channel, payload } => {
                    let made = Notification { process_id, channel, payload };
                    Ok(Bound::new(py, made)?.into_any())
                }
            })
            .transpose()
    }

    /// Takes the bytes that must be written to the socket.
    fn data_to_send<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(self.lock(py)?.core.send_with(|data| PyBytes::new(py, data)))
    }

    /// Whether reading on is wanted; False holds the server back.
    #[getter]
    fn wants_read(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.core.wants_read())
    }

    /// Whether no exchange is under way.
    #[getter]
    fn is_idle(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.core.is_idle())
    }

    /// Whether the talk has ended.
    #[getter]
    fn is_closed(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.core.is_closed())
    }

    /// "idle", "in transaction" or "failed": as of the last time the server was ready.
    #[getter]
    fn transaction_status(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(match self.lock(py)?.core.transaction_status() {
            TransactionStatus::Idle => "idle",
            TransactionStatus::InTransaction => "in transaction",
            TransactionStatus::Failed => "failed",
        })
    }

    /// The run-time parameters the server has reported.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self.lock(py)?.core.parameters() {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    /// The backend's process identifier; None before the server has told.
    #[getter]
    fn process_id(&self, py: Python<'_>) -> PyResult<Option<i32>> {
        Ok(self.lock(py)?.core.cancel_key().map(|key| key.process_id))
    }

    /// How many prepared statements are kept.
    #[getter]
    fn cached_statements(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.lock(py)?.core.cached_statements())
    }

    /// The whole message of a cancel connection; None before the server has given a key.
    fn cancel_request<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let request = self.lock(py)?.core.cancel_key().map(colonnade_session::CancelKey::request);
        Ok(request.map(|request| PyBytes::new(py, &request)))
    }

    /// Opens the talk as `info` says. `tls_server_end_point` is the channel-binding data of a TLS
    /// connection; None without TLS, and where its certificate gives none.
    #[pyo3(signature = (info, password, *, tls, tls_server_end_point))]
    fn startup(
        &self,
        py: Python<'_>,
        info: &ConnInfo,
        password: Option<&str>,
        tls: bool,
        tls_server_end_point: Option<Vec<u8>>,
    ) -> PyResult<()> {
        let binding = match (tls, tls_server_end_point) {
            (_, Some(data)) => ChannelBinding::TlsServerEndPoint(data),
            (true, None) => ChannelBinding::Unsupported,
            (false, None) => ChannelBinding::NotUsed,
        };
        let (user, policy) = (&info.info().user, info.info().auth);
        let authenticator = Authenticator::new(user, password, binding, policy);
        let parameters = info.startup_parameters();
        self.begin(py, |core| core.startup(Startup { parameters, authenticator }))
    }

    /// The statement kept for a text, or None.
    fn cached_statement(&self, py: Python<'_>, sql: &str) -> PyResult<Option<Statement>> {
        Ok(self.lock(py)?.core.cached_statement(sql).map(Statement::new))
    }

    /// Lets Python functions read and write a type; answers the codec's number. `codec_format` is
    /// "text", "binary" or "tuple".
    fn set_codec(
        &self,
        py: Python<'_>,
        oid: u32,
        codec_format: &str,
        encoder: Py<PyAny>,
        decoder: Py<PyAny>,
    ) -> PyResult<usize> {
        let format = match codec_format {
            "text" => CodecFormat::Text,
            "binary" => CodecFormat::Binary,
            "tuple" => CodecFormat::Tuple,
            other => return Err(errors::interface(py, &format!("no codec format {other:?}"))),
        };
        let mut inner = self.lock(py)?;
        let (codecs, number) = inner.codecs.with(Codec { oid, format, encoder, decoder });
        inner.core.set_codec(oid, number, format).map_err(|error| errors::of_session(py, error))?;
        inner.codecs = Arc::new(codecs);
        Ok(number)
    }

    /// Lets a type be read and written as a type of the table is. False where the table has none
    /// of that name.
    fn set_alias(&self, py: Python<'_>, oid: u32, name: &str) -> PyResult<bool> {
        let Some(other) = named_type(name) else { return Ok(false) };
        self.begin(py, |core| core.set_alias(oid, &other)).map(|()| true)
    }

    /// Lets a type be read and written as it is.
    fn reset_type(&self, py: Python<'_>, oid: u32) -> PyResult<()> {
        self.begin(py, |core| core.reset_type(oid))
    }

    /// Forgets what is known of the database's types, and the statements made with it.
    fn forget_types(&self, py: Python<'_>) -> PyResult<()> {
        self.begin(py, Core::forget_types)
    }

    /// Forgets a statement and the types of its parameters, one of which may have been altered;
    /// false where none can be.
    fn forget_parameters(&self, py: Python<'_>, statement: &Statement) -> PyResult<bool> {
        let forgotten = self.lock(py)?.core.forget_parameters(&statement.statement);
        forgotten.map_err(|error| errors::of_session(py, error))
    }

    /// Begins to prepare a text; the Completion holds the Statement.
    fn prepare(&self, py: Python<'_>, sql: &str) -> PyResult<()> {
        self.begin(py, |core| core.prepare(sql))
    }

    /// Begins to prepare a text that is not kept; the Completion holds the Statement.
    fn describe(&self, py: Python<'_>, sql: &str) -> PyResult<()> {
        self.begin(py, |core| core.describe(sql))
    }

    /// Begins a query whose Completion holds its rows; `row_limit` 0 asks for all.
    fn fetch_rows(
        &self,
        py: Python<'_>,
        statement: &Statement,
        arguments: &Bound<'_, PyTuple>,
        row_limit: i32,
    ) -> PyResult<()> {
        let codecs = Arc::clone(&self.lock(py)?.codecs);
        let columns = Arc::clone(&statement.statement.columns);
        let sink = RowSink::Records(RecordSink::new(py, columns, codecs));
        self.query(py, statement, arguments, row_limit, sink)
    }

    /// Begins a query that gives one Batch (`batch_rows` None) or one each `batch_rows` rows.
    fn fetch_batches(
        &self,
        py: Python<'_>,
        statement: &Statement,
        arguments: &Bound<'_, PyTuple>,
        schema: Option<Bound<'_, PyDict>>,
        infinity: &str,
        batch_rows: Option<usize>,
    ) -> PyResult<()> {
        let columns = &statement.statement.columns;
        let sink = column_sink(py, columns, schema.as_ref(), infinity, batch_rows)?;
        let sink = RowSink::Columns(Box::new(sink), Arc::clone(columns));
        self.query(py, statement, arguments, 0, sink)
    }

    /// Begins a COPY of a statement's columns in the binary format, which gives Batches as
    /// `fetch_batches` does. `sql` is the COPY of what the statement selects.
    fn copy_batches(
        &self,
        py: Python<'_>,
        sql: &str,
        statement: &Statement,
        schema: Option<Bound<'_, PyDict>>,
        infinity: &str,
        batch_rows: Option<usize>,
    ) -> PyResult<()> {
        let columns = &statement.statement.columns;
        let sink = column_sink(py, columns, schema.as_ref(), infinity, batch_rows)?;
        let mut described = columns.iter().zip(sink.formats());
        if let Some((column, _)) = described.find(|(_, format)| *format == Format::Text) {
            let (name, type_name) = (&column.name, &column.pg_type.name);
            return Err(errors::of_class(
                py,
                "SchemaError",
                &format!(
                    "column {name:?} of type {type_name} comes as text, and a COPY in the binary \
                     format has none: cast it to text in the query"
                ),
            ));
        }
        let sink = RowSink::Columns(Box::new(sink), Arc::clone(columns));
        self.begin(py, |core| core.copy_columns(sql, Arc::clone(&statement.statement), sink))
    }

    /// Begins a query of which only the command tag is wanted.
    fn execute(
        &self,
        py: Python<'_>,
        statement: &Statement,
        arguments: &Bound<'_, PyTuple>,
    ) -> PyResult<()> {
        self.query(py, statement, arguments, 0, RowSink::Nowhere)
    }

    /// Begins a script by the simple protocol.
    fn script(&self, py: Python<'_>, sql: &str) -> PyResult<()> {
        self.begin(py, |core| core.script(sql))
    }

    /// Begins a COPY ... FROM STDIN; a CopyIn event says when data may be sent.
    fn copy_in(&self, py: Python<'_>, sql: &str) -> PyResult<()> {
        self.begin(py, |core| core.copy_in(sql))
    }

    /// Begins a COPY ... TO STDOUT; its data comes as bytes.
    fn copy_out(&self, py: Python<'_>, sql: &str) -> PyResult<()> {
        self.begin(py, |core| core.copy_out(sql))
    }

    /// Sends COPY data (any bytes-like object). False where the server has refused the copy.
    fn copy_data(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Ok(bytes) = data.cast::<PyBytes>() {
            let outcome = self.lock(py)?.core.copy_data(bytes.as_bytes());
            return outcome.map_err(|error| errors::of_session(py, error));
        }
        let bytes = PyBuffer::<u8>::get(data)?.to_vec(py)?;
        self.lock(py)?.core.copy_data(&bytes).map_err(|error| errors::of_session(py, error))
    }

    /// Sends the encoder's next chunk of COPY data, and says how many bytes wait to be written to
    /// the socket; 0 where the source has no more, None where the server has refused the copy.
    fn copy_rows(
        &self,
        py: Python<'_>,
        encoder: &CopyEncoder,
        limit_bytes: usize,
    ) -> PyResult<Option<usize>> {
        let mut made = Ok(false);
        let mut waiting = 0;
        let is_taken = self.lock(py)?.core.copy_data_with(|out| {
            made = encoder.append(py, out, limit_bytes);
            waiting = out.len();
            matches!(made, Ok(true))
        });
        match (is_taken.map_err(|error| errors::of_session(py, error))?, made?) {
            (false, _) => Ok(None),
            (true, false) => Ok(Some(0)),
            (true, true) => Ok(Some(waiting)),
        }
    }

    /// A column of the cells that the type takes for Python values. The error names the column and
    /// the row, counted from `first_row`.
    fn encode_column(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyList>,
        pg_type: &PgType,
        column: &str,
        first_row: u64,
        nan_as_null: bool,
    ) -> PyResult<ArrowColumn> {
        let codecs = Arc::clone(&self.lock(py)?.codecs);
        let place = CellPlace { column, first_row };
        parameters::encode_cells(py, &pg_type.0, &codecs, values, &place, nan_as_null)
            .map(ArrowColumn)
    }

    /// Says that all COPY data was sent.
    fn copy_done(&self, py: Python<'_>) -> PyResult<()> {
        self.lock(py)?.core.copy_done();
        Ok(())
    }

    /// Gives the COPY up; the server's error quotes the reason.
    fn copy_fail(&self, py: Python<'_>, reason: &str) -> PyResult<()> {
        self.begin(py, |core| core.copy_fail(reason))
    }

    /// Nobody waits for the exchange under way any more.
    fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        self.lock(py)?.core.abandon();
        Ok(())
    }

    /// Says good-bye; nothing can be asked any more.
    fn terminate(&self, py: Python<'_>) -> PyResult<()> {
        self.lock(py)?.core.terminate();
        Ok(())
    }

    fn __repr__(&self) -> String {
        match self.0.try_lock() {
            Err(_) => "<Session busy>".to_owned(),
            Ok(inner) if inner.core.is_closed() => "<Session closed>".to_owned(),
            Ok(inner) if inner.core.is_idle() => "<Session idle>".to_owned(),
            Ok(_) => "<Session in an exchange>".to_owned(),
        }
    }
}

fn column_sink(
    py: Python<'_>,
    columns: &[ResultColumn],
    schema: Option<&Bound<'_, PyDict>>,
    infinity: &str,
    batch_rows: Option<usize>,
) -> PyResult<ColumnSink> {
    let options = parameters::decode_options(py, schema, infinity)?;
    let made = match batch_rows {
        Some(batch_rows) => ColumnSink::batched(columns, options, batch_rows),
        None => ColumnSink::whole(columns, options),
    };
    made.map_err(|error| errors::of_schema(py, &error))
}

/// How an exchange ended well.
#[pyclass(frozen, get_all, module = "colonnade._core")]
pub(crate) struct Completion {
    /// The command tag, such as `SELECT 5`, or None.
    tag: Option<String>,
    /// The statement that was prepared or run, or None.
    statement: Option<Py<Statement>>,
    /// The records of a query in rows, or None.
    rows: Option<Py<PyList>>,
}

/// The server waits for COPY data.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct CopyIn;

/// A notice of the server: its fields by their one-letter codes.
#[pyclass(frozen, get_all, module = "colonnade._core")]
pub(crate) struct Notice {
    fields: Py<PyDict>,
}

/// A notification on a channel.
#[pyclass(frozen, get_all, module = "colonnade._core")]
pub(crate) struct Notification {
    process_id: i32,
    channel: String,
    payload: String,
}

/// The message with which a connection asks for TLS, before any other.
#[pyfunction]
fn ssl_request(py: Python<'_>) -> Bound<'_, PyBytes> {
    let mut out = Vec::with_capacity(8);
    frontend::ssl_request(&mut out);
    PyBytes::new(py, &out)
}

pub(crate) fn add_functions(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(ssl_request, module)?)
}
