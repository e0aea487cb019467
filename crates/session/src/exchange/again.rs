//! The owner's statement, parsed and described anew after an event that outdates its description.
//!
//! Values are sent as the types of the parameters; the server would cast those of a former type.
//! And a statement on the server does not always follow: one that was parsed before another table
//! hid its own goes on with its own. So the text is parsed anew under its name. A result with other
//! columns is refused, because the owner relies on them.

use std::sync::Arc;

use colonnade_protocol::backend::Message;
use colonnade_protocol::frontend;

use super::unkept::is_same;
use super::{Context, Exchange, Keeper, Prepare, Step};
use crate::knowledge::Place;
use crate::{Error, Sink, Statement};

pub(crate) struct Again {
    before: Arc<Statement>,
    prepare: Prepare,
}

impl Again {
    pub(crate) fn start(
        before: Arc<Statement>,
        place: Place,
        out: &mut Vec<u8>,
    ) -> Result<Self, Error> {
        if !before.name.is_empty() {
            // Even if this fails: from here on the name stands for the new statement.
            before.close();
            frontend::close_statement(out, &before.name)?;
        }
        let (name, declared) = (before.name.clone(), before.declared.as_slice());
        let kept = (Keeper::Owner, before.conversions);
        let prepare = Prepare::start(name, &before.sql, (declared, place), kept, out)?;
        Ok(Self { before, prepare })
    }
}

impl<S: Sink> Exchange<S> for Again {
    fn message(&mut self, message: Message<'_>, context: &mut Context<'_, S>) -> Result<(), Error> {
        self.prepare.message(message, context)
    }

    fn complete(self: Box<Self>, context: &mut Context<'_, S>) -> Result<Step<S>, Error> {
        let Self { before, prepare } = *self;
        let described = prepare.whole()?;
        // The text of an unnamed statement is sent with each run, and its result is followed.
        if !before.name.is_empty() && !is_same(&before.columns, described.fields()) {
            return Err(Error::OtherColumns);
        }
        described.finish(context)
    }
}
