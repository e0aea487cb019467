//! How far the server has come with one execution. Its messages have one order, and what comes in
//! another is not believed: a result that has no end is not a whole one.

use super::unexpected;
use crate::Error;

/// Bind and Execute, as the server has answered them so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Stage {
    /// Nothing of it is answered.
    #[default]
    Asked,
    /// The arguments are bound: rows may come, and the end must.
    Bound,
    /// The result has ended.
    Ended,
}

impl Stage {
    /// BindComplete, of the first execution or of the next one.
    pub(super) fn bind(&mut self) -> Result<(), Error> {
        if *self == Self::Bound {
            return Err(unexpected("BindComplete"));
        }
        *self = Self::Bound;
        Ok(())
    }

    /// Something that comes between BindComplete and the end, such as rows.
    pub(super) fn check_bound(self, message: &'static str) -> Result<(), Error> {
        if self == Self::Bound { Ok(()) } else { Err(unexpected(message)) }
    }

    /// Something that comes ahead of BindComplete, such as a description.
    pub(super) fn check_unbound(self, message: &'static str) -> Result<(), Error> {
        if self == Self::Bound { Err(unexpected(message)) } else { Ok(()) }
    }

    /// What a result ends with.
    pub(super) fn end(&mut self, message: &'static str) -> Result<(), Error> {
        self.check_bound(message)?;
        *self = Self::Ended;
        Ok(())
    }

    /// ReadyForQuery, behind one execution.
    pub(super) fn check_ended(self) -> Result<(), Error> {
        if self == Self::Ended { Ok(()) } else { Err(unexpected("ReadyForQuery")) }
    }
}
