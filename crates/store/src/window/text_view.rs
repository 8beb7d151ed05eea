//! JSON as text, for lines and patterns: a string as its characters, any other value indented.
//!
//! Minified JSON is one line, in which neither a range of lines nor a pattern with context is of use. Indented, each
//! scalar has a line of its own. The first byte decides: a string begins with a quote.

use std::cell::Cell;
use std::io::{self, Write};
use std::rc::Rc;

use tamis::PrettyWriter;

use super::output::MarkMode;
use super::report::WindowFacts;
use super::stage::Stage;
use super::string_text::StringText;

/// The stage of the text view.
pub(super) struct TextViewStage<N> {
    /// Whether values other than strings are indented. Otherwise they are unchanged.
    indents: bool,
    /// How the last stage marks imitations: a string is text of the tool.
    mode: Rc<Cell<MarkMode>>,
    view: View<N>,
    /// Decoded characters on their way to the next stage.
    decoded: Vec<u8>,
}

enum View<N> {
    /// No byte has arrived.
    Undecided(N),
    Text(StringText, N),
    Indented(PrettyWriter<StageWriter<N>>),
    Passing(N),
    /// Only while the view changes.
    Changing,
}

/// The next stage, for the writer that indents.
struct StageWriter<N>(N);

impl<N: Stage> Write for StageWriter<N> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<N: Stage> TextViewStage<N> {
    pub(super) fn new(indents: bool, mode: Rc<Cell<MarkMode>>, next: N) -> Self {
        Self { indents, mode, view: View::Undecided(next), decoded: Vec::new() }
    }
}

impl<N: Stage> Stage for TextViewStage<N> {
    fn write(&mut self, mut bytes: &[u8]) {
        if let View::Undecided(_) = &self.view
            && let Some(at) = bytes.iter().position(|byte| !byte.is_ascii_whitespace())
            && let View::Undecided(next) = std::mem::replace(&mut self.view, View::Changing)
        {
            bytes = bytes.get(at..).unwrap_or_default();
            // The quote is not part of the characters.
            self.view = if let Some(literal) = bytes.strip_prefix(b"\"") {
                bytes = literal;
                self.mode.set(MarkMode::Lines);
                View::Text(StringText::default(), next)
            } else if self.indents {
                View::Indented(PrettyWriter::new(StageWriter(next)))
            } else {
                View::Passing(next)
            };
        }
        match &mut self.view {
            View::Text(text, next) => {
                text.decode(bytes, &mut self.decoded);
                next.write(&self.decoded);
                self.decoded.clear();
            }
            // The next stage does not fail.
            View::Indented(pretty) => _ = pretty.write_all(bytes),
            View::Passing(next) => next.write(bytes),
            View::Undecided(_) | View::Changing => {}
        }
    }

    fn end(&mut self, facts: &mut WindowFacts) {
        facts.is_string = matches!(self.view, View::Text(..));
        match std::mem::replace(&mut self.view, View::Changing) {
            View::Undecided(mut next) | View::Text(_, mut next) | View::Passing(mut next) => {
                next.end(facts);
            }
            View::Indented(pretty) => pretty.into_inner().0.end(facts),
            View::Changing => {}
        }
    }

    fn is_closed(&self) -> bool {
        match &self.view {
            View::Undecided(next) | View::Text(_, next) | View::Passing(next) => next.is_closed(),
            View::Indented(pretty) => pretty.get_ref().0.is_closed(),
            View::Changing => true,
        }
    }
}
