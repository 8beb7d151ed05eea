//! The library's errors in the words of the command line: a limit is raised by a flag, a field of a spec is one.
//!
//! Must not know runs.

use std::fmt;

use tamis::Error;

/// What the library says, and what is said here instead.
const WORDS: [(&str, &str); 7] = [
    ("(limits `held` and `spill`)", "(raise it with --held or --spill)"),
    ("(limit `depth`)", "(raise it with --max-depth)"),
    ("(limit `held`)", "(raise it with --held)"),
    ("(limit `item`)", "(leave out one of the paths that lead to the same value)"),
    ("(limit `item` of content)", "(name fewer of them with --extract)"),
    ("(is it one document a line?)", "(one document a line? add --ndjson)"),
    ("`duplicate_keys: reject`", "--duplicate-keys reject"),
];

/// What a message contains when the disk is full or forbidden, and what is said behind it.
const DISK: (&str, &str) = (
    "the temporary file cannot",
    "; see that the folder of temporary files has room, or lower --spill",
);

/// An error with what to do about it.
pub(crate) struct Remedied<'a>(pub(crate) &'a Error);

impl fmt::Display for Remedied<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (told, message) = (self.0.to_string(), self.0.message());
        if let Some((said, here)) = WORDS.iter().find(|(said, _)| message.contains(said)) {
            return f.write_str(&told.replace(said, here));
        }
        let (said, more) = DISK;
        write!(f, "{told}{}", if message.contains(said) { more } else { "" })
    }
}
