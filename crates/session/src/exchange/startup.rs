//! Start-up and authentication: from the first message to the first ReadyForQuery.

use colonnade_protocol::auth::{AuthStep, Authenticator};
use colonnade_protocol::backend::Message;

use super::{Context, Exchange, Step, unexpected};
use crate::{CancelKey, Completion, Error, Event, Sink};

pub(crate) struct StartupExchange {
    /// None after AuthenticationOk: later authentication messages are out of order.
    authenticator: Option<Authenticator>,
}

impl StartupExchange {
    pub(crate) fn new(authenticator: Authenticator) -> Self {
        Self { authenticator: Some(authenticator) }
    }
}

impl<S: Sink> Exchange<S> for StartupExchange {
    fn message(&mut self, message: Message<'_>, context: &mut Context<'_, S>) -> Result<(), Error> {
        if let Some(authenticator) = self.authenticator.as_mut() {
            if matches!(message, Message::NegotiateProtocolVersion { .. }) {
                return Ok(());
            }
            match authenticator.respond(&message, context.out)? {
                AuthStep::Continue => {}
                AuthStep::Done => {
                    self.authenticator = None;
                    context.link.authenticated = true;
                }
                AuthStep::Token => {
                    let token = match message {
                        Message::AuthenticationGssContinue(token) => token.to_vec(),
                        _ => Vec::new(),
                    };
                    context.events.push_back(Event::GssToken(token));
                }
            }
            return Ok(());
        }
        match message {
            Message::BackendKeyData { process_id, secret_key }
                if context.link.cancel_key.is_none() =>
            {
                context.link.cancel_key = Some(CancelKey::new(process_id, secret_key));
                Ok(())
            }
            other => Err(unexpected(other.name())),
        }
    }

    fn complete(self: Box<Self>, _context: &mut Context<'_, S>) -> Result<Step<S>, Error> {
        if self.authenticator.is_some() {
            return Err(unexpected("ReadyForQuery"));
        }
        Ok(Step::Done(Completion::default()))
    }
}
