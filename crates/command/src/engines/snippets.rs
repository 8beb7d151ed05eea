//! Diagnostics with snippets of code, as ruff prints them: of a snippet, only the line that the place names is kept.
//!
//! ```text
//! F401 [*] `os` imported but unused
//!  --> shed/boat.py:1:8                 the place: line 1
//!   |                                   margin, removed
//! 1 | import os                         kept
//!   |        ^^                         mark without a label, removed
//! 2 | import json                       context, removed
//! help: Remove unused import: `os`
//!   - import os                         removed by the fix: not kept, since the line is already there
//! 1 | import json
//! ```
//!
//! The lines that a fix adds or removes are kept, but for the line of the place.
//! Context is kept if a mark with a label is below it, and so are the lines of a span over several lines. Lines outside of
//! snippets are kept. Memory: one line.

use std::sync::LazyLock;

use regex::bytes::Regex;

use tamis_text::lines::line_stage::{EmitLine, LineStage, StageCounts};
use tamis_text::lines::{LineEnd, TextLine};

pub(super) fn make() -> Box<dyn LineStage> {
    Box::<SnippetOutput>::default()
}

#[derive(Debug, Default)]
struct SnippetOutput {
    /// The number of the line that the place names, as text, within a diagnostic.
    place: Option<Vec<u8>>,
    /// The code of that line, once it was kept.
    named: Vec<u8>,
    /// Whether the suggested fix has begun.
    in_fix: bool,
    /// The last line of context, until the next line shows whether a label belongs to it.
    context: Option<(Vec<u8>, LineEnd)>,
    lines_read: u64,
    lines_written: u64,
}

/// Maximum length of a held line of context, in bytes. Longer ones are kept.
const LONGEST: usize = 4 << 10;

static PLACE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^ *--> .*?:(\d+)(?::\d+)?$").ok());
static CODE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^ *(\d+) +\|( [/|] )?").ok());
/// The margin, with or without marks, but without a label.
static MARK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^ +\|[ ^~-]*$").ok());
/// A mark with a label.
static LABEL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^ +\| ").ok());
/// A line that a fix removes.
static REMOVED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^ *(\d+ +| )- ").ok());

fn is_match(pattern: &LazyLock<Option<Regex>>, text: &[u8]) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

impl SnippetOutput {
    fn emit(&mut self, line: TextLine<'_>, next: EmitLine<'_>) {
        self.lines_written += 1;
        next(line);
    }

    fn emit_context(&mut self, next: EmitLine<'_>) {
        if let Some((text, end)) = self.context.take() {
            self.emit(TextLine { text: &text, end }, next);
        }
    }

    /// Whether a line within a diagnostic is kept. A line of context is held.
    fn is_kept(&mut self, line: &TextLine<'_>, place: &[u8]) -> bool {
        let text = line.text;
        if is_match(&MARK, text) {
            return false;
        }
        if self.in_fix
            && let Some(removed) = REMOVED.as_ref().and_then(|removed| removed.find(text))
        {
            let code = text.get(removed.end()..).unwrap_or_default();
            return code.trim_ascii() != self.named || self.named.is_empty();
        }
        let Some(code) = CODE.as_ref().and_then(|code| code.captures(text)) else {
            self.in_fix |= text.starts_with(b"help: ");
            return true;
        };
        if self.in_fix {
            return false;
        }
        let is_named = code.get(1).is_some_and(|number| number.as_bytes() == place);
        if is_named && text.len() <= LONGEST {
            let code = text.get(code.get_match().end()..).unwrap_or_default();
            self.named.clear();
            self.named.extend_from_slice(code.trim_ascii());
        }
        if is_named || code.get(2).is_some() || text.len() > LONGEST {
            return true;
        }
        self.context = Some((text.to_vec(), line.end));
        false
    }
}

impl LineStage for SnippetOutput {
    fn line(&mut self, line: TextLine<'_>, next: EmitLine<'_>) {
        self.lines_read += 1;
        if let Some(found) = PLACE.as_ref().and_then(|place| place.captures(line.text)) {
            self.place = found.get(1).map(|number| number.as_bytes().to_vec());
            self.in_fix = false;
            self.named.clear();
            self.context = None;
            return self.emit(line, next);
        }
        let Some(place) = self.place.take() else {
            return self.emit(line, next);
        };
        // An empty line ends the diagnostic.
        if line.text.is_empty() {
            self.context = None;
            return;
        }
        let has_label = is_match(&LABEL, line.text) && !is_match(&MARK, line.text);
        if has_label {
            self.emit_context(next);
        }
        self.context = None;
        if self.is_kept(&line, &place) {
            self.emit(line, next);
        }
        self.place = Some(place);
    }

    fn long(&mut self, _: &[u8], next: EmitLine<'_>) -> bool {
        self.flush(next);
        self.lines_read += 1;
        self.lines_written += 1;
        true
    }

    /// Drops held context, because no label follows.
    fn flush(&mut self, _: EmitLine<'_>) {
        self.context = None;
    }

    fn release(&mut self, next: EmitLine<'_>) {
        self.emit_context(next);
    }

    fn tally(&self) -> StageCounts {
        StageCounts {
            removed: self.lines_read.saturating_sub(self.lines_written),
            ..StageCounts::default()
        }
    }
}
