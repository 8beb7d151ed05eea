//! What can be done about an error of the library on the command line: which flag raises a limit.
//!
//! Must not know runs.

use std::fmt;

use tamis::{Error, ErrorKind};

/// By the name of a limit in the library's messages.
const LIMITS: [(&str, &str); 6] = [
    ("`held` and `spill`", "raise it with --held or --spill"),
    ("`depth`", "raise it with --max-depth"),
    ("`held`", "raise it with --held"),
    ("`spill`", "raise it with --spill"),
    ("`item`", "leave out one of the paths that lead to the same value"),
    ("the temporary file", "see that the folder of temporary files has room, or lower --spill"),
];

/// An error with what to do about it, where that is not said.
pub(crate) struct Remedied<'a>(pub(crate) &'a Error);

impl fmt::Display for Remedied<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)?;
        if self.0.kind() != ErrorKind::Limit {
            return Ok(());
        }
        let message = self.0.message();
        match LIMITS.iter().find(|(name, _)| message.contains(name)) {
            Some((_, remedy)) => write!(f, " ({remedy})"),
            None => Ok(()),
        }
    }
}
