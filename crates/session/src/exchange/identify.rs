//! Asks the server which database this is, ahead of a new connection's first exchange and in the
//! same flight. Numbers of types mean something in one database of one cluster only, and another
//! cluster may answer at the same address: after a restore, a failover, or behind a balancer.
//!
//! The start time of the server tells two clusters apart where `system_identifier` of
//! `pg_control_system()` does not (copies of one data directory, a standby that was promoted), and
//! every role may read it. After a restart the types are looked up once more.

use std::sync::Arc;

use colonnade_columnar::Catalogs;
use colonnade_protocol::backend::Message;
use colonnade_protocol::{DataRows, frontend};

use super::answer::SimpleAnswer;
use super::{Context, Exchange, Step};
use crate::{Completion, Error, Sink};

const QUERY: &str = "SELECT pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time()), \
    oid FROM pg_catalog.pg_database \
    WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()";

pub(crate) struct Identify {
    catalogs: Arc<Catalogs>,
    answer: SimpleAnswer,
    identity: Vec<u8>,
}

impl Identify {
    pub(crate) fn start(catalogs: Arc<Catalogs>, out: &mut Vec<u8>) -> Result<Self, Error> {
        frontend::query(out, QUERY)?;
        Ok(Self { catalogs, answer: SimpleAnswer::default(), identity: Vec::new() })
    }
}

impl<S: Sink> Exchange<S> for Identify {
    fn message(
        &mut self,
        message: Message<'_>,
        _context: &mut Context<'_, S>,
    ) -> Result<(), Error> {
        self.answer.take(&message)
    }

    fn rows(&mut self, rows: DataRows<'_>, _context: &mut Context<'_, S>) -> Result<(), Error> {
        self.answer.check_rows()?;
        self.identity.extend_from_slice(rows.rest());
        Ok(())
    }

    /// A server that cannot tell has types of its own.
    fn is_optional(&self) -> bool {
        true
    }

    fn complete(self: Box<Self>, context: &mut Context<'_, S>) -> Result<Step<S>, Error> {
        self.answer.check_whole()?;
        if !self.identity.is_empty() {
            context.link.known.types.share(self.catalogs.of(&self.identity));
        }
        Ok(Step::Done(Completion::default()))
    }
}
