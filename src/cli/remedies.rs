//! What can be done about an error of the library on the command line: which flag raises a limit.
//!
//! Must not know runs.

use std::fmt;

use tamis::{Error, ErrorKind};

/// How the library's messages name a limit, and what stands there instead.
const LIMITS: [(&str, &str); 4] = [
    ("(limits `held` and `spill`)", "(raise it with --held or --spill)"),
    ("(limit `depth`)", "(raise it with --max-depth)"),
    ("(limit `held`)", "(raise it with --held)"),
    ("(limit `item`)", "(leave out one of the paths that lead to the same value)"),
];

/// What a message contains, and what is said behind it.
const MORE: [(&str, &str); 2] = [
    ("(limit `held`; ", "; raise it with --held"),
    ("the temporary file", "; see that the folder of temporary files has room, or lower --spill"),
];

/// An error with what to do about it, where that is not said.
pub(crate) struct Remedied<'a>(pub(crate) &'a Error);

impl fmt::Display for Remedied<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = self.0.to_string();
        if self.0.kind() != ErrorKind::Limit {
            return f.write_str(&told);
        }
        if let Some((name, remedy)) = LIMITS.iter().find(|(name, _)| told.contains(name)) {
            return f.write_str(&told.replace(name, remedy));
        }
        let more = MORE.iter().find(|(said, _)| told.contains(said)).map_or("", |(_, more)| more);
        write!(f, "{told}{more}")
    }
}
