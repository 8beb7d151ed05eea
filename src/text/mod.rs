//! Text filters: operations on the lines of a text that arrives in chunks.
//!
//! Knows no JSON but the escapes of strings ([`quoted`]), no tool and no command. [`TextSpec`](crate::TextSpec) is what
//! is declared, [`TextProgram`] compiles it, [`TextRun`] runs it over a text and [`QuotedTextRun`] over the inside of a JSON
//! string; [`engine`] has the order of the operations.
//!
//! [`more`] has operations beyond those, which rules for commands declare; each is a [`stage`] on lines before the patterns, or
//! on [entries](entry) after them.
//!
//! Invariants: output and report do not depend on the chunks. What is held is one line, one more if equal ones are folded,
//! what a stage says within the limit `held`, and a short output; a line over the limit `line` is never held. Work is linear
//! in the text. What is not UTF-8 passes as it is. A line end that is missing is missing after the last line that comes out,
//! too. Counts are of lines of the text: those that came out, stand in another one, were removed or left out are all there
//! are. No run fails.

mod alike;
mod clean;
mod cut;
mod distinct;
pub(crate) mod engine;
mod entry;
mod fold;
pub(crate) mod gate;
mod group;
pub(crate) mod lines;
pub(crate) mod more;
mod patterns;
mod program;
pub(crate) mod quoted;
mod replace;
mod report;
mod sections;
mod sift;
pub(crate) mod stage;
mod weigh;
mod whole;

#[cfg(test)]
mod tests;

use std::fmt;

use crate::limits::Limits;
use crate::sink::Sink;
use engine::Engine;

#[cfg(feature = "command")]
pub(crate) use patterns::check as check_pattern;
pub use program::TextProgram;
pub use quoted::QuotedTextRun;
pub use report::TextReport;
#[cfg(feature = "command")]
pub(crate) use report::is_zero;

const CR: u8 = b'\r';

/// One run of a text filter over a text: bytes are pushed in, output goes to a [`Sink`].
///
/// Chunks may be cut anywhere and have any size. An operation is used only where it makes the text shorter; an output of up
/// to 4 KiB is held until that is certain, and if it is not shorter the text stays as it was. The text for an empty output
/// and the line that says what was left out stand in any case.
///
/// A line of the text that has the form of a notice of tamis (`[tamis …`, `... 3 lines left out`) is marked as the text's own
/// where an operation is declared: `| [tamis …`.
///
/// Memory: the open line and, with `dedup`, the one before, each up to the limit `line`
/// ([`Limits::with_line`](crate::Limits::with_line)); about 30 KiB; and what the patterns need. A longer line is removed
/// where there are patterns, unless they are certain from its beginning that it stays; else it passes.
///
/// ```
/// use tamis::{TextProgram, TextRun, TextSpec};
///
/// let program = TextProgram::compile(&TextSpec::new().strip_ansi(true).max_lines(2))?;
/// let mut run = TextRun::new(&program, Vec::new());
/// for chunk in ["\x1b[3", "2mok\x1b[0m\n 10 %\r", "100 %\nx\ny", "\nz\n"] {
///     run.write(chunk.as_bytes());
/// }
/// let (output, report) = run.end();
/// assert_eq!(output, b"ok\n100 %\nx\ny\nz\n");
/// assert_eq!((report.lines_in, report.lines_out, report.lines_left_out), (5, 5, 0));
/// # Ok::<(), tamis::Error>(())
/// ```
pub struct TextRun<S> {
    engine: Engine,
    sink: S,
}

impl<S: Sink> TextRun<S> {
    /// A run with default [`Limits`].
    pub fn new(program: &TextProgram, sink: S) -> Self {
        Self::with_limits(program, &Limits::new(), sink)
    }

    /// A run with other limits, of which it knows [`line`](Limits::with_line).
    pub fn with_limits(program: &TextProgram, limits: &Limits, sink: S) -> Self {
        Self { engine: Engine::new(program, limits), sink }
    }

    /// Takes the next bytes of the text.
    pub fn write(&mut self, chunk: &[u8]) {
        self.engine.write(chunk, &mut self.sink);
    }

    /// No text has come for a while: hands on what is held, the open line too, as far as it has come.
    ///
    /// Call it where a reader waits for the output and a second or so has passed without input: the open line may be a
    /// question. From then on a short output is no longer compared with the text, and what has been handed on is not
    /// folded or grouped with what follows. A line that a pattern may still remove waits for its end, and one that may still
    /// become a notice of tamis waits for more. Output depends on when it is called, and still not on the chunks. The
    /// commands `tamis run` and `tamis text` call it.
    ///
    /// ```
    /// use tamis::{TextProgram, TextRun, TextSpec};
    ///
    /// let program = TextProgram::compile(&TextSpec::new().strip_lines_matching("^DEBUG").dedup(true))?;
    /// let mut run = TextRun::new(&program, Vec::new());
    /// run.write(b"DEBUG x\nretrying\nretrying\nContinue? ");
    /// assert_eq!(run.sink(), b"");
    /// run.release();
    /// assert_eq!(run.sink(), b"retrying (x2)\nContinue? ");
    /// run.write(b"y\nretrying\n");
    /// assert_eq!(run.end().0, b"retrying (x2)\nContinue? y\nretrying\n");
    /// # Ok::<(), tamis::Error>(())
    /// ```
    pub fn release(&mut self) {
        self.engine.release(&mut self.sink);
    }

    /// The text is complete.
    pub fn end(mut self) -> (S, TextReport) {
        self.engine.end(&mut self.sink);
        let report = self.engine.settle(&mut self.sink);
        (self.sink, report)
    }

    /// Where the output goes.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// Where the output goes.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }
}

impl<S> fmt::Debug for TextRun<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextRun").finish_non_exhaustive()
    }
}
