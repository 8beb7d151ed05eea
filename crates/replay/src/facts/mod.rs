//! Facts: the parts of a text that a model can only know from it.
//!
//! `scan` and `phrases` find them in a text, `table` follows them through a session: which result had a fact first, and who used it next. The
//! guide, `docs/src/replay.md`, has the definition and what it does not see.

mod phrases;
mod scan;
mod table;

use serde::Serialize;

pub(crate) use table::{Found, Owner, Plain, Shown, Table};

/// The kind of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FactKind {
    /// An address with a scheme.
    Url,
    /// A path of a file, or the name of a file.
    Path,
    /// A version, such as `1.4.2`.
    Version,
    /// A number with at least four digits.
    Number,
    /// A name with an underscore, a digit or a capital inside, and a hash.
    Identifier,
    /// A line that a later text repeats.
    Line,
    /// Five words in a row.
    Phrase,
    /// A line that an edit replaces.
    Edit,
}

impl FactKind {
    /// All kinds, in the order in which they are listed.
    pub const ALL: [Self; 8] = [
        Self::Url,
        Self::Path,
        Self::Version,
        Self::Number,
        Self::Identifier,
        Self::Line,
        Self::Phrase,
        Self::Edit,
    ];

    /// Returns the name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Url => "url",
            Self::Path => "path",
            Self::Version => "version",
            Self::Number => "number",
            Self::Identifier => "identifier",
            Self::Line => "line",
            Self::Phrase => "phrase",
            Self::Edit => "edit",
        }
    }
}

/// A fact in a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fact<'a> {
    pub(crate) kind: FactKind,
    pub(crate) text: &'a str,
    /// The hash of the fact. It does not depend on the text around it.
    pub(crate) hash: u64,
    /// The number of the line, of a fact that is a line or a phrase.
    pub(crate) line: usize,
}

impl<'a> Fact<'a> {
    fn new(kind: FactKind, text: &'a str, line: usize) -> Self {
        Self { kind, text, hash: hash(text.as_bytes()), line }
    }
}

/// Calls `found` with each fact of a text, and with a line before its phrases.
pub(crate) fn each(text: &str, found: &mut dyn FnMut(Fact<'_>)) {
    scan::scan(text, &mut |kind, text| found(Fact::new(kind, text, 0)));
    for (line, text) in scan::lines(text).enumerate() {
        if scan::is_line(text) {
            found(Fact::new(FactKind::Line, text, line));
        }
        phrases::phrases(text, &mut |text, hash| {
            found(Fact { kind: FactKind::Phrase, text, hash, line })
        });
    }
}

/// Calls `found` with each line of an edit that is a fact.
pub(crate) fn each_edited_line(text: &str, found: &mut dyn FnMut(Fact<'_>)) {
    for (line, text) in scan::lines(text).enumerate() {
        if scan::is_line(text) {
            found(Fact::new(FactKind::Edit, text, line));
        }
    }
}

/// Returns the hash of a text. It is the same in every run.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        state = (state ^ u64::from_le_bytes(*word)).wrapping_mul(MULTIPLIER);
        state ^= state >> 29;
    }
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    state = (state ^ u64::from_le_bytes(last)).wrapping_mul(MULTIPLIER);
    state ^= state >> 32;
    state = state.wrapping_mul(0xd6e8_feb8_6659_fd93);
    state ^ state >> 32
}
