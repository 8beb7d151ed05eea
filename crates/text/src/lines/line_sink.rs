//! The lines of a text, and the trait of what receives them.

use super::line_end::LineEnd;

/// A complete line.
#[derive(Clone, Copy, Debug)]
pub struct TextLine<'a> {
    /// Without the line end.
    pub text: &'a [u8],
    /// How it ends.
    pub end: LineEnd,
}

/// Receives the lines of a [`LineSplitter`](super::line_splitter::LineSplitter).
pub(super) trait LineSink {
    fn line(&mut self, line: TextLine<'_>);

    /// Begins a line that exceeds the limit. Returns whether its parts are wanted. If not, the only further call for
    /// this line is [`lost`](Self::lost), unless it is overwritten.
    fn begin_long(&mut self, head: &[u8]) -> bool;

    /// Begins a line on release, before it has ended, because a reader may wait for it. Returns whether its parts are
    /// wanted. If not, the line stays held.
    fn begin_early(&mut self, head: &[u8]) -> bool;

    /// Whether more of the line is needed to decide whether it looks like a notice.
    fn is_undecided(&self, head: &[u8]) -> bool;

    /// A part of a line, including its beginning.
    fn long(&mut self, bytes: &[u8]);

    /// Text that overwrites a line of which parts were passed on; a reader sees it as a new line. `whole` is true if
    /// it is the rest of the line.
    fn resume(&mut self, text: &[u8], whole: bool);

    /// The end of a line that was passed on in parts.
    fn end_long(&mut self, end: LineEnd);

    /// The end of a line that was refused.
    fn lost(&mut self);
}
