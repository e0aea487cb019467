//! Statements and portals, as the owner uses them.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use colonnade_protocol::frontend::{self, EncodedParams};
use colonnade_protocol::{Format, Oid};

use super::Session;
use crate::exchange::{Again, Keeper, Limited, PortalRows, Prepare, Query, limit};
use crate::lease::Target;
use crate::statement::{Conversions, Found, key, plain_key};
use crate::{Error, Portal, Sink, Statement};

impl<S: Sink> Session<S> {
    /// The statement kept for this text and these declared types, if any. `now` is as in
    /// [`tell_time`](Self::tell_time); a statement older than the cache's limit is prepared again.
    pub fn cached_statement(
        &mut self,
        sql: &str,
        declared: &[Oid],
        now: Duration,
    ) -> Option<Arc<Statement>> {
        let namespace = self.talk.link.known.path.number();
        self.kept(&key(sql, declared, namespace), now)
    }

    /// As [`cached_statement`](Self::cached_statement), for [`prepare_plain`](Self::prepare_plain).
    pub fn cached_plain(
        &mut self,
        sql: &str,
        owners: u16,
        now: Duration,
    ) -> Option<Arc<Statement>> {
        self.kept(&plain_key(sql, owners), now)
    }

    fn kept(&mut self, key: &str, now: Duration) -> Option<Arc<Statement>> {
        let known = &mut self.talk.link.known;
        known.types.tell_time(now);
        let epoch = known.epoch();
        match known.statements.find(key, epoch, now) {
            Found::Kept(statement) => return Some(statement),
            Found::Outdated { statement, was_kept: true } => {
                // Travels with the next exchange's messages; its answer may come at any time.
                // The name has no NUL, as it was sent before, so encoding cannot fail.
                let _ = frontend::close_statement(&mut self.talk.out, &statement.name);
            }
            Found::Outdated { was_kept: false, .. } | Found::Nothing => {}
        }
        None
    }

    /// Begins to prepare a text, and keeps it if the cache's limits allow; completes with the
    /// statement. `declared` are the types of its parameters from the first on; the server infers
    /// those that are 0 or missing.
    ///
    /// # Errors
    /// A closed session, or a text that cannot be sent.
    pub fn prepare(&mut self, sql: &str, declared: &[Oid]) -> Result<(), Error> {
        let name = self.talk.link.known.statements.name_for(sql, declared);
        self.start_prepare(name, sql, declared, Keeper::Cache, Conversions::Owners)
    }

    /// As [`prepare`](Self::prepare), for the driver's own queries: values are read and written by
    /// their types' own conversions, ignoring the owner's codecs, which read the first `owners`
    /// columns only.
    ///
    /// # Errors
    /// A closed session, or a text that cannot be sent.
    pub fn prepare_plain(&mut self, sql: &str, owners: u16) -> Result<(), Error> {
        let name = self.talk.link.known.statements.name_for(sql, &[]);
        self.start_prepare(name, sql, &[], Keeper::Cache, Conversions::Plain { owners })
    }

    /// Begins to prepare a text that is described and not run: as [`prepare`](Self::prepare), but
    /// the statement is not kept. If it is the driver's own, its types have their own conversions.
    ///
    /// # Errors
    /// A closed session, or a text that cannot be sent.
    pub fn describe(&mut self, sql: &str, conversions: Conversions) -> Result<(), Error> {
        self.start_prepare(String::new(), sql, &[], Keeper::Owner, conversions)
    }

    /// Begins to prepare a statement for the owner: as [`prepare`](Self::prepare), but outside the
    /// cache. After its last user drops it, the next exchange closes it on the server. If `name` is
    /// `None`, a name is made for it.
    ///
    /// # Errors
    /// A closed session, or a text or a name that cannot be sent.
    pub fn prepare_owned(
        &mut self,
        sql: &str,
        name: Option<&str>,
        declared: &[Oid],
    ) -> Result<(), Error> {
        let name = match name {
            Some(name) => name.to_owned(),
            None => self.talk.link.known.statements.next_name(),
        };
        self.start_prepare(name, sql, declared, Keeper::Owner, Conversions::Owners)
    }

    /// Whether an owner's statement may mean something else than when it was described. `now` is as
    /// in [`tell_time`](Self::tell_time).
    pub fn is_outdated(&mut self, statement: &Statement, now: Duration) -> bool {
        self.tell_time(now);
        self.talk.link.known.is_outdated(statement)
    }

    /// Begins to describe an owner's statement anew; completes with the statement to run from now
    /// on, which has the same name.
    ///
    /// # Errors
    /// A closed session.
    pub fn describe_again(&mut self, statement: &Arc<Statement>) -> Result<(), Error> {
        self.talk.check_encoding()?;
        self.talk.close_returned();
        let place = self.talk.link.known.place();
        let exchange = Again::start(Arc::clone(statement), place, &mut self.talk.out)?;
        self.talk.begin(exchange)
    }

    fn start_prepare(
        &mut self,
        name: String,
        sql: &str,
        declared: &[Oid],
        keeper: Keeper,
        conversions: Conversions,
    ) -> Result<(), Error> {
        self.talk.check_encoding()?;
        self.talk.close_returned();
        let (known, out) = (&mut self.talk.link.known, &mut self.talk.out);
        let place = known.place();
        let exchange = Prepare::start(name, sql, (declared, place), (keeper, conversions), out)?;
        self.talk.begin(exchange)
    }

    /// Begins to run a statement; its rows go to the sink. `row_limit` 0 asks for every row.
    ///
    /// # Errors
    /// A closed session.
    pub fn query(
        &mut self,
        statement: Arc<Statement>,
        parameters: &EncodedParams,
        row_limit: i32,
        sink: S,
    ) -> Result<(), Error> {
        self.talk.check_encoding()?;
        self.talk.close_returned();
        let out = &mut self.talk.out;
        let Some(milliseconds) = self.talk.link.query_limit else {
            let exchange = Query::start(statement, parameters, row_limit, sink, out)?;
            return self.talk.begin(exchange);
        };
        let start = out.len();
        limit(milliseconds, out)?;
        match Query::start(statement, parameters, row_limit, sink, out) {
            Ok(query) => self.talk.begin(Limited::new(query)),
            Err(error) => {
                self.talk.out.truncate(start);
                Err(error)
            }
        }
    }

    /// Has the server end each query from now on after this time, unless its session has a shorter
    /// `statement_timeout`; None ends this.
    pub const fn limit_queries(&mut self, milliseconds: Option<NonZeroU32>) {
        self.talk.link.query_limit = milliseconds;
    }

    /// Begins to bind a statement to its arguments, under a new portal name; fetch its rows with
    /// [`more_rows`](Self::more_rows). After its last user drops it, the next exchange closes it on
    /// the server. `formats` are the formats of its columns; None means those for rows.
    ///
    /// # Errors
    /// A closed session.
    pub fn bind(
        &mut self,
        statement: Arc<Statement>,
        parameters: &EncodedParams,
        formats: Option<Vec<Format>>,
    ) -> Result<Arc<Portal>, Error> {
        self.talk.check_encoding()?;
        self.talk.close_returned();
        let formats = formats.unwrap_or_else(|| statement.formats());
        let portal = self.portal(statement, formats);
        let exchange = PortalRows::bind(Arc::clone(&portal), parameters, &mut self.talk.out)?;
        self.talk.begin(exchange)?;
        Ok(portal)
    }

    /// As [`bind`](Self::bind), and fetches the first `row_limit` rows in the same flight.
    ///
    /// # Errors
    /// A closed session.
    pub fn open(
        &mut self,
        statement: Arc<Statement>,
        parameters: &EncodedParams,
        row_limit: i32,
        sink: S,
    ) -> Result<Arc<Portal>, Error> {
        self.talk.check_encoding()?;
        self.talk.close_returned();
        let formats = sink.formats().unwrap_or_else(|| statement.formats());
        let portal = self.portal(statement, formats);
        let (opened, out) = (Arc::clone(&portal), &mut self.talk.out);
        let exchange = PortalRows::open(opened, parameters, row_limit, sink, out)?;
        self.talk.begin(exchange)?;
        Ok(portal)
    }

    fn portal(&mut self, statement: Arc<Statement>, formats: Vec<Format>) -> Arc<Portal> {
        let link = &mut self.talk.link;
        let lease = link.returned.lease(Target::Portal, link.known.statements.next_name());
        Arc::new(Portal { statement, formats, lease })
    }

    /// Begins to fetch the next `row_limit` rows of a portal. The completion says whether there may
    /// be more.
    ///
    /// # Errors
    /// A closed session, or a sink that wants the values in other formats than the portal was bound
    /// with.
    pub fn more_rows(&mut self, portal: Arc<Portal>, row_limit: i32, sink: S) -> Result<(), Error> {
        if let Some(wanted) = sink.formats()
            && let Some(column) = wanted.iter().zip(&portal.formats).position(|(a, b)| a != b)
        {
            let column = portal.statement.columns.get(column);
            let column = column.map(|column| column.name.to_string()).unwrap_or_default();
            return Err(Error::BoundFormat { column });
        }
        self.talk.check_encoding()?;
        self.talk.close_returned();
        let exchange = PortalRows::more(portal, row_limit, sink, &mut self.talk.out)?;
        self.talk.begin(exchange)
    }
}
