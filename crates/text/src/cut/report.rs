//! [`CutReport`]: what a cut left out, and why it kept the rest.

use super::choose::reason;
use super::kind::TextKind;

/// The lines and bytes that a cut left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CutReport {
    /// Lines of the text.
    pub lines: u64,
    /// Bytes of the text, with the marks of lines that look like a notice.
    pub bytes: u64,
    /// Lines that begin in what was left out.
    pub lines_left_out: u64,
    /// Bytes that were left out.
    pub bytes_left_out: u64,
    /// The numbers of the first and the last line that were left out, counted from 1. Kept lines may be between them.
    pub range: Option<(u64, u64)>,
    /// The offsets of the first and the last byte that were left out. Kept bytes may be between them.
    pub byte_range: Option<(u64, u64)>,
    /// Number of gaps.
    pub gaps: u64,
    /// Whether a line was left out in part.
    pub splits_line: bool,
    /// The kind of the text, if anything was left out.
    pub kind: Option<TextKind>,
    /// The size of what is kept, without marks, if anything was left out: bytes, or four for each token if they are counted.
    pub kept_size: u64,
    /// The lines that are kept, if anything was left out.
    pub kept: Vec<KeptLines>,
}

/// Lines that follow each other and are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptLines {
    /// The numbers of the first and the last line, counted from 1.
    pub lines: (u64, u64),
    pub(super) reasons: u8,
}

impl KeptLines {
    /// Describes why the lines were kept, the most important reason first: `failures, new words`.
    #[must_use]
    pub fn reasons(&self) -> String {
        let names = [
            (reason::FAILURE, "failures"),
            (reason::QUERY, "words of the query"),
            (reason::HEAD, "beginning"),
            (reason::TAIL, "end"),
            (reason::PASSAGE, "new words"),
            (reason::CONTEXT, "after a failure"),
            (reason::BETWEEN, "between others"),
            (reason::ROOM, "room was left"),
        ];
        let names = names.iter().filter(|(bit, _)| self.reasons & bit != 0);
        names.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
    }
}

impl CutReport {
    /// Returns whether anything was left out.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.bytes_left_out > 0
    }
}
