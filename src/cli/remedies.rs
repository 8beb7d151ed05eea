//! The library's errors in the words of the command line: a limit is raised by a flag, a field of a spec is one.
//!
//! Must not know runs.

use std::fmt;

use tamis::{Error, ErrorKind};

/// What the library says of more than one document.
const DOCUMENTS: &str = "(is it one document a line?)";

/// What the library says of a path, and what is said here instead, if the path is in a flag.
const PAIRS: (&str, &str) = (
    "`retain` (one JSON Pointer each: /items/labels/name, /items/labels/color)",
    "--retain /items/labels/name,/items/labels/color",
);
/// What an error of a flag begins with; one of a manifest begins with its place there.
const RULES: [&str; 5] = ["select: ", "exclude: ", "retain: ", "root: ", "extract: "];

/// What the library says, and what is said here instead.
const WORDS: [(&str, &str); 7] = [
    ("(limits `held` and `spill`)", "(raise it with --held or --spill)"),
    ("(limit `depth`)", "(raise it with --max-depth)"),
    ("(limit `held`)", "(raise it with --held)"),
    ("(limit `item`)", "(leave out one of the paths that lead to the same value)"),
    ("(limit `item` of content)", "(name fewer of them with --extract)"),
    (
        DOCUMENTS,
        "(one document a line? add --ndjson; else `jq -c .` puts each on a line of its own)",
    ),
    ("`duplicate_keys: reject`", "--duplicate-keys reject"),
];

/// What a message contains when the disk is full or forbidden, and what is said behind it.
const DISK: (&str, &str) = (
    " the temporary file: ",
    "; see that the folder of temporary files has room, or lower --spill",
);

/// An error with what to do about it.
pub(crate) struct Remedied<'a>(pub(crate) &'a Error);

impl fmt::Display for Remedied<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (told, message) = (self.0.to_string(), self.0.message());
        let (pairs, flag) = PAIRS;
        if RULES.iter().any(|rule| message.starts_with(rule)) && message.contains(pairs) {
            return f.write_str(&told.replace(pairs, flag));
        }
        if let Some((said, here)) = WORDS.iter().find(|(said, _)| message.contains(said)) {
            return f.write_str(&told.replace(said, here));
        }
        let (said, more) = DISK;
        write!(f, "{told}{}", if message.contains(said) { more } else { "" })
    }
}

/// Displays an error in a line of `--ndjson` input, with advice.
pub(crate) struct InLine<'a>(pub(crate) u64, pub(crate) &'a Error);

impl fmt::Display for InLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(line, error) = *self;
        write!(f, "line {line}: ")?;
        if error.message().contains(DOCUMENTS) {
            let here = "(a line has one document; `jq -c .` puts each on a line of its own)";
            return f.write_str(&error.to_string().replace(DOCUMENTS, here));
        }
        write!(f, "{}", Remedied(error))?;
        // A document over several lines begins with one that ends too early.
        if line == 1 && error.kind() == ErrorKind::UnexpectedEnd {
            f.write_str(" (a document over several lines? `jq -c .` puts it on one)")?;
        }
        Ok(())
    }
}
