//! Rewrites errors of the library in terms of the command line: names the flag that raises a limit or sets a rule.
//!
//! This module must not depend on runs.

use std::fmt;

use tamis::{Error, ErrorKind};

/// The hint of the library if more than one document follows.
const DOCUMENTS: &str = "(newline-delimited JSON?)";

/// A hint of the library about a path, and its replacement if the path is the value of a flag. Found by its text, as
/// [`WORDS`].
const PAIRS: (&str, &str) = (
    "`retain` (one JSON Pointer each: /items/labels/name, /items/labels/color)",
    "--retain /items/labels/name,/items/labels/color",
);
/// How an error of a flag begins. An error of a manifest begins with its place in the file.
const RULES: [&str; 8] = [
    "select: ",
    "exclude: ",
    "omit: ",
    "requires: ",
    "redact: ",
    "retain: ",
    "root: ",
    "extract: ",
];

/// Text of the library, and its replacement on the command line. Errors carry no data about these, so they are found by
/// their text.
const WORDS: [(&str, &str); 6] = [
    (DOCUMENTS, "(more than one document? try --ndjson for one per line, or --docs)"),
    ("`duplicate_keys: reject`", "--duplicate-keys reject"),
    ("(JSON has no comments)", "(JSON has no comments; try --lenient)"),
    ("(a comma before `]`?)", "(a comma before `]`? try --lenient)"),
    ("(a comma before `}`?)", "(a comma before `}`? try --lenient)"),
    ("(a JSON text sequence, RFC 7464?)", "(a JSON text sequence, RFC 7464? try --docs)"),
];

/// Returns the advice for reached limits, which is printed in place of their names.
fn advice(limits: &[&str]) -> Option<&'static str> {
    match limits {
        ["depth"] => Some("raise it with --max-depth"),
        ["held"] => Some("raise it with --held"),
        ["held", "spill"] => Some("raise it with --held or --spill"),
        ["item"] => Some("raise it with --item, or select less"),
        _ => None,
    }
}

/// The advice for a temporary file that cannot be written or read.
const DISK: &str = "; see that the folder of temporary files has room, or lower --spill";

/// Displays an error with advice.
pub(crate) struct Remedied<'a>(pub(crate) &'a Error);

impl fmt::Display for Remedied<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, message) = (self.0.to_string(), self.0.message());
        let (pairs, flag) = PAIRS;
        if RULES.iter().any(|rule| message.starts_with(rule)) && message.contains(pairs) {
            return f.write_str(&text.replace(pairs, flag));
        }
        if let Some(advice) = advice(self.0.limits()) {
            return write!(f, "{:#} ({advice})", self.0);
        }
        if let Some((said, here)) = WORDS.iter().find(|(said, _)| message.contains(said)) {
            return f.write_str(&text.replace(said, here));
        }
        let more = if self.0.kind() == ErrorKind::Spill { DISK } else { "" };
        write!(f, "{text}{more}")
    }
}

/// Returns an error with advice in place of the hint that it ends with: of two, the one about the whole input is meant.
pub(crate) fn advised(error: impl fmt::Display, advice: &str) -> String {
    let text = error.to_string();
    let hint = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
    let hint = hint.filter(|(_, hint)| !hint.contains(')'));
    format!("{} ({advice})", hint.map_or(text.as_str(), |(said, _)| said))
}

/// Displays an error of a command that does not read several documents as `tamis filter` does.
pub(crate) struct Hinted<'a> {
    pub(crate) error: &'a Error,
    /// The advice if more than one document follows.
    pub(crate) documents: &'static str,
    /// The command has the flags that raise limits.
    pub(crate) has_limits: bool,
}

impl fmt::Display for Hinted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.error.message().contains(DOCUMENTS) {
            return f.write_str(&self.error.to_string().replace(DOCUMENTS, self.documents));
        }
        if WORDS.iter().any(|(said, _)| self.error.message().contains(said)) {
            return write!(f, "{}", self.error);
        }
        match self.has_limits {
            true => write!(f, "{}", Remedied(self.error)),
            false => write!(f, "{:#}", self.error),
        }
    }
}

/// Displays an error in a line of `--ndjson` input, with advice.
pub(crate) struct InLine<'a>(pub(crate) u64, pub(crate) &'a Error);

impl fmt::Display for InLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(line, error) = *self;
        write!(f, "line {line}: ")?;
        if error.message().contains(DOCUMENTS) {
            let here = "(a line has one document; --docs reads several)";
            return f.write_str(&error.to_string().replace(DOCUMENTS, here));
        }
        write!(f, "{}", Remedied(error))?;
        // If a document spans several lines, the first line ends too early.
        if line == 1 && error.kind() == ErrorKind::UnexpectedEnd {
            f.write_str(" (a document over several lines? try --docs)")?;
        }
        Ok(())
    }
}

/// Displays an error in an event of `--events` input, with advice.
pub(crate) struct InEvent<'a>(pub(crate) u64, pub(crate) &'a Error);

impl fmt::Display for InEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {}: {}", self.0, Remedied(self.1))
    }
}

/// Displays an error in a document of `--docs` input, with advice.
pub(crate) struct InDocument<'a>(pub(crate) u64, pub(crate) &'a Error);

impl fmt::Display for InDocument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "document {}: {}", self.0, Remedied(self.1))
    }
}
